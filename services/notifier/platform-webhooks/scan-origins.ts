import type { Origins } from './envelope.ts'

/** Enough to find the signer: one app signs a whole request. */
const maxOrigins = 32
/** The API sends at most 1,000 updates per request, each with one number in one entry. */
const maxValues = 2_000

const quote = 0x22
const backslash = 0x5c
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d
const accountKey = Buffer.from('"id"')
const numberKey = Buffer.from('"phone_number_id"')

/** How deep these keys lie: {entry: [{id, changes: [{value: {metadata: {phone_number_id}}}]}]}. */
const accountDepth = 3
const numberDepth = 7

/**
 * Whom a body that nobody has verified yet claims to be about: its first numbers, and the accounts of entries that name
 * none. Goes through the bytes once and keeps nothing but what it finds: the body need not be JSON.
 */
export const scanOrigins = (bytes: Buffer): Origins => {
  const phoneNumberIds = new Set<string>()
  const wabaIds = new Set<string>()
  let [depth, values] = [0, 0]
  let account: string | undefined
  let hasNumber = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === openBrace || byte === openBracket) depth++
    else if (byte === closeBrace || byte === closeBracket) {
      if (depth-- !== accountDepth) continue
      if (account !== undefined && !hasNumber) wabaIds.add(account)
      account = undefined
      hasNumber = false
    } else if (byte === quote) {
      const start = at
      at = endOfString(bytes, start)
      const key = depth === accountDepth ? accountKey : depth === numberDepth ? numberKey : undefined
      if (at === bytes.length) break
      if (key === undefined || at + 1 - start !== key.length || !startsWith(bytes, start, key)) continue
      const value = valueAfter(bytes, at + 1)
      if (depth === accountDepth) account = value
      else if (value !== undefined) {
        phoneNumberIds.add(value)
        hasNumber = true
      }
      if (++values === maxValues) break
    }
    if (phoneNumberIds.size + wabaIds.size === maxOrigins) break
  }
  return { phoneNumberIds: [...phoneNumberIds], wabaIds: [...wabaIds] }
}

const endOfString = (bytes: Buffer, start: number): number => {
  for (let at = start + 1; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) return at
    if (byte === backslash) at++
  }
  return bytes.length
}

const startsWith = (bytes: Buffer, start: number, key: Buffer): boolean => {
  for (let place = 0; place < key.length; place++) if (bytes[start + place] !== key[place]) return false
  return true
}

/** The id behind a key, which some senders write as a number. */
const valueAfter = (bytes: Buffer, at: number): string | undefined =>
  /^[ \t\r\n]{0,8}:[ \t\r\n]{0,8}"?([\w.-]{1,64})/.exec(bytes.toString('latin1', at, at + 96))?.[1]
