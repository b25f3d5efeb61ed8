import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'

/** Holds the keys of a setting: the newest key seals, older keys only open. */
export interface Keyring {
  /** Holds the name of the setting. */
  readonly setting: string
  readonly newest: string
  /** Maps key ids to keys. A KeyObject shows nothing of its key when it is printed. */
  readonly keys: ReadonlyMap<string, KeyObject>
}

export interface Sealed {
  readonly keyId: string
  /** Holds 12 bytes of IV, 16 of tag, then the ciphertext. */
  readonly sealed: Buffer
}

/** `message` shows neither a secret nor a key. */
export class VaultError extends Error {
  override name = 'VaultError'
}

const algorithm = 'aes-256-gcm'
const keyBytes = 32
const ivBytes = 12
const tagBytes = 16

/**
 * Reads the keys of a setting: `id:key` pairs separated by commas, the newest first, each key 32 bytes in base64.
 * Throws a VaultError that says which pairs are wrong and how, one per line.
 */
export const readKeys = (setting: string, text: string): Keyring => {
  const keys = new Map<string, KeyObject>()
  const problems: string[] = []
  for (const [index, pair] of text.split(',').entries()) {
    const [id = '', key] = pair.trim().split(/:(.*)/s)
    const problem = findProblem(id, key) ?? (keys.has(id) ? 'has the id of an earlier key' : undefined)
    // Names a pair by its position: the text before the colon may be a key too, written in place of its id.
    if (problem !== undefined) problems.push(`key ${index + 1} of ${setting} ${problem}`)
    else keys.set(id, createSecretKey(key ?? '', 'base64'))
  }
  if (problems.length > 0) throw new VaultError(problems.join('\n'))
  const [newest = ''] = keys.keys()
  return { setting, newest, keys }
}

/** Says what is wrong with the keys of a setting, without showing any of them. */
export const keysProblem = (setting: string, text: string): string | undefined => {
  try {
    readKeys(setting, text)
    return undefined
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    return error.message
  }
}

const findProblem = (id: string, key: string | undefined): string | undefined => {
  if (key === undefined) return id === '' ? 'is empty' : 'has no id: write id:key'
  if (!/^[A-Za-z0-9_.-]{1,32}$/.test(id))
    return 'has a wrong id: 1 to 32 letters, digits, dots, hyphens and underscores'
  const bytes = Buffer.from(key, 'base64')
  const text = key
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/={1,2}$/, '')
  // Buffer.from skips what is not base64: a key is valid only when encoding it again gives the same text.
  if (bytes.toString('base64url') !== text) return 'is not base64'
  return bytes.length === keyBytes ? undefined : `has ${bytes.length} bytes instead of ${keyBytes}`
}

/** Names the kind and the owner of a secret: the secret opens only with the same reference. */
type Reference = readonly string[]

/** Seals with the newest key under a random IV: two seals of one text differ. */
export const sealAs = (keyring: Keyring, reference: Reference, text: string): Sealed => {
  const { newest, keys } = keyring
  const key = keys.get(newest)
  if (!key) throw unknownKey(keyring, newest)
  const iv = randomBytes(ivBytes)
  const cipher = createCipheriv(algorithm, key, iv, { authTagLength: tagBytes })
  cipher.setAAD(bind(reference, newest))
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return { keyId: newest, sealed: Buffer.concat([iv, cipher.getAuthTag(), ciphertext]) }
}

/** Throws VaultError when the keyring lacks the key, and when the secret was altered or belongs elsewhere. */
export const openAs = (keyring: Keyring, reference: Reference, { keyId, sealed }: Sealed): string => {
  const key = keyring.keys.get(keyId)
  if (!key) throw unknownKey(keyring, keyId)
  if (sealed.length < ivBytes + tagBytes) throw notOpened()
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, ivBytes), { authTagLength: tagBytes })
  decipher.setAAD(bind(reference, keyId))
  decipher.setAuthTag(sealed.subarray(ivBytes, ivBytes + tagBytes))
  const text = decipher.update(sealed.subarray(ivBytes + tagBytes))
  try {
    return Buffer.concat([text, decipher.final()]).toString('utf8')
  } catch {
    throw notOpened()
  }
}

/** Writes the associated data. JSON keeps the parts apart: ("a", "bc") and ("ab", "c") differ. */
const bind = (reference: Reference, keyId: string): Buffer => Buffer.from(JSON.stringify([...reference, keyId]))

const unknownKey = ({ setting }: Keyring, keyId: string): VaultError =>
  new VaultError(`${setting} has no key ${keyId}: add it again to read what it sealed`)

const notOpened = (): VaultError =>
  new VaultError('a sealed secret was altered, or belongs to another owner, purpose or key')

/** Returns undefined if `open` throws VaultError. */
export const tryOpen = <Text>(open: () => Text): Text | undefined => {
  try {
    return open()
  } catch (error) {
    if (error instanceof VaultError) return undefined
    throw error
  }
}
