import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { type Keyring, VaultError } from '@courier/shared/vault.ts'
import t, { type Test } from 'tap'
import { last4, open, readKeyring, type SecretRef, seal, secretKinds } from './vault.ts'

const newKey = (bytes = 32): string => randomBytes(bytes).toString('base64')
const keyring = readKeyring(`k1:${newKey()}`)
const ref: SecretRef = { tenant: 'demo', phoneNumberId: '106540352242922', kind: 'access_token' }
const token = 'EAAG-a-secret-token-of-some-length'

const refuses = (t: Test, message: RegExp, action: () => unknown): VaultError => {
  try {
    action()
  } catch (error) {
    if (!(error instanceof VaultError)) throw error
    t.match(error.message, message)
    return error
  }
  t.fail('nothing was thrown')
  throw new Error('unreachable')
}

t.test('a sealed secret opens again for its reference, whatever characters it has', async t => {
  for (const text of [token, '123456', '', 'ключ 🔑', 'x'.repeat(5_000)]) {
    const { keyId, sealed } = seal(keyring, ref, text)
    t.equal(keyId, 'k1')
    t.equal(open(keyring, ref, keyId, sealed), text)
  }
})

t.test('the sealed form does not contain the text, and two seals of it have nothing in common', async t => {
  const [first, second] = [seal(keyring, ref, token).sealed, seal(keyring, ref, token).sealed]
  t.notOk(first.includes(token))
  t.notSame(first, second)
  t.notSame(first.subarray(0, 12), second.subarray(0, 12))
  t.notSame(first.subarray(28), second.subarray(28))
})

t.test('a thousand seals have a thousand IVs', async t => {
  const ivs = Array.from({ length: 1000 }, () => seal(keyring, ref, token).sealed.subarray(0, 12).toString('hex'))
  t.equal(new Set(ivs).size, 1000)
})

t.test('a secret that was moved to another tenant, channel or kind does not open', async t => {
  const { keyId, sealed } = seal(keyring, ref, token)
  const elsewhere: Partial<SecretRef>[] = [
    { tenant: 'other' },
    { phoneNumberId: '106540352242923' },
    ...secretKinds.filter(kind => kind !== ref.kind).map(kind => ({ kind })),
    { tenant: 'demo1', phoneNumberId: '06540352242922' },
    { tenant: 'demo","106540352242922', phoneNumberId: '' },
  ]
  for (const other of elsewhere) {
    const error = refuses(t, /^a sealed secret was altered/, () => open(keyring, { ...ref, ...other }, keyId, sealed))
    t.notMatch(inspect(error), 'EAAG')
  }
})

t.test('a secret does not open under another key id, not even one with the same key', async t => {
  const key = newKey()
  const twins = readKeyring(`a:${key},b:${key}`)
  const { sealed } = seal(twins, ref, token)
  t.equal(open(twins, ref, 'a', sealed), token)
  refuses(t, /^a sealed secret was altered/, () => open(twins, ref, 'b', sealed))
})

t.test('detects one flipped bit anywhere, and a lost or added byte', async t => {
  const { keyId, sealed } = seal(keyring, ref, token)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const flipped = Buffer.from(sealed)
    flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
    refuses(t, /^a sealed secret was altered/, () => open(keyring, ref, keyId, flipped))
  }
  for (const length of [0, 11, 12, 27, 28, sealed.length - 1])
    refuses(t, /^a sealed secret was altered/, () => open(keyring, ref, keyId, sealed.subarray(0, length)))
  refuses(t, /^a sealed secret was altered/, () => open(keyring, ref, keyId, Buffer.concat([sealed, Buffer.of(0)])))
})

t.test('a rotated keyring opens old secrets and seals with the newest key; key ids tell them apart', async t => {
  const oldKey = newKey()
  const old = readKeyring(`2025:${oldKey}`)
  const { keyId, sealed } = seal(old, ref, token)
  const rotated = readKeyring(` 2026:${newKey()} , 2025:${oldKey} `)
  t.equal(open(rotated, ref, keyId, sealed), token)
  t.not(keyId, rotated.newest)
  const again = seal(rotated, ref, token)
  t.equal(again.keyId, '2026')
  t.equal(again.keyId, rotated.newest)
})

t.test('names a key that was removed from the keyring', async t => {
  const { keyId, sealed } = seal(keyring, ref, token)
  refuses(t, /^CREDENTIALS_KEYS has no key k1/, () => open(readKeyring(`k2:${newKey()}`), ref, keyId, sealed))
})

t.test('another keyring with the same key id does not open the secret', async t => {
  const { keyId, sealed } = seal(keyring, ref, token)
  refuses(t, /^a sealed secret was altered/, () => open(readKeyring(`k1:${newKey()}`), ref, keyId, sealed))
})

t.test('the error of a wrong setting names the wrong keys and their problems, and shows no key', async t => {
  const key = newKey()
  const wrong: [string, string][] = [
    ['', 'key 1 of CREDENTIALS_KEYS is empty'],
    [`k1:${key},`, 'key 2 of CREDENTIALS_KEYS is empty'],
    [key, 'key 1 of CREDENTIALS_KEYS has no id: write id:key'],
    [`:${key}`, 'key 1 of CREDENTIALS_KEYS has a wrong id'],
    [`${key}:k1`, 'key 1 of CREDENTIALS_KEYS has a wrong id'],
    [`k1:${newKey(16)}`, 'key 1 of CREDENTIALS_KEYS has 16 bytes instead of 32'],
    [`k1:${key},k2:`, 'key 2 of CREDENTIALS_KEYS has 0 bytes instead of 32'],
    [`k1:${key},k1:${newKey()}`, 'key 2 of CREDENTIALS_KEYS has the id of an earlier key'],
    [`k1:${key.slice(0, -1)}!`, 'key 1 of CREDENTIALS_KEYS is not base64'],
    [`k1:${key} ${key}`, 'key 1 of CREDENTIALS_KEYS is not base64'],
    [
      `${key},k1:${key},,k1:${key}`,
      'key 1 of CREDENTIALS_KEYS has no id: write id:key\n' +
        'key 3 of CREDENTIALS_KEYS is empty\nkey 4 of CREDENTIALS_KEYS has the id of an earlier key',
    ],
  ]
  for (const [setting, sentence] of wrong) {
    const { message, stack } = refuses(t, /^key \d of CREDENTIALS_KEYS /, () => readKeyring(setting))
    t.ok(message.startsWith(sentence), message)
    t.notOk(`${message}${stack}`.includes(key.slice(0, 12)))
  }
})

t.test('accepts keys in base64url and without padding', async t => {
  const bytes = Buffer.alloc(32, 0xfb)
  const rings = [bytes.toString('base64'), bytes.toString('base64url')].map(key => readKeyring(`k:${key}`))
  const [first, second] = rings as [Keyring, Keyring]
  const { keyId, sealed } = seal(first, ref, token)
  t.equal(open(second, ref, keyId, sealed), token)
})

t.test('a printed keyring shows no key', async t => {
  const key = newKey()
  const ring = readKeyring(`k1:${key}`)
  const shown = inspect(ring, { depth: 9, showHidden: true }) + JSON.stringify(ring)
  t.notOk(shown.includes(key.slice(0, 8)))
  t.notOk(shown.includes(Buffer.from(key, 'base64').toString('hex').slice(0, 8)))
})

t.test('the last four characters identify a token, and reveal nothing of a PIN', async t => {
  t.equal(last4(token), 'ngth')
  t.equal(last4('123456'), '')
  t.equal(last4(''), '')
})

t.test('opens secrets sealed by earlier versions', async t => {
  const key = readKeyring(`k1:${Buffer.alloc(32, 7).toString('base64')}`)
  const stored = 'nhNDdm5XWJjeUuFXmwXlxd3dgZIFyMJ16+sH8IYNeVP08gdU1aXOXRKQ55JPcDC3u1r9l17f4wtXn1OgeGg='
  t.equal(open(key, ref, 'k1', Buffer.from(stored, 'base64')), token)
})
