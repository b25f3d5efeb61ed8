import { isCostlyJson } from '@courier/shared/edge/json-body.ts'
import { normaliseCategory, parse } from '../messaging-api/read-json.ts'

/** Matches only a key: inside a text its quotes would have backslashes. */
const templateId = /("message_template_id"[ \t\r\n]{0,8}:[ \t\r\n]{0,8})([0-9]{1,20})(?=[ \t\r\n]{0,8}[,}])/g

/** A request of the API has at most 1,000 updates, of some forty values each. */
const maxValues = 80_000

/** Parses a JSON document, or returns undefined. Numbers that name templates become text: they are near 2^53. */
export const parseJson = (bytes: Buffer): unknown =>
  isCostlyJson(bytes, maxValues) ? undefined : parse(bytes.toString('utf8').replace(templateId, '$1"$2"'))

/** Returns text that Postgres can store, at most `maxLength` long; undefined for anything else. */
export const readText = (value: unknown, maxLength: number): string | undefined => {
  if (typeof value !== 'string' || value === '' || value.length > maxLength) return undefined
  return value.includes('\0') || !value.isWellFormed() ? undefined : value
}

/**
 * Returns a text that people read, cut after `maxLength`, with a sign in place of what Postgres cannot store; undefined
 * if it is empty or no text.
 */
export const readContent = (value: unknown, maxLength: number): string | undefined => {
  if (typeof value !== 'string' || value === '') return undefined
  const cut = value.length > maxLength ? value.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '') : value
  return cut.toWellFormed().replaceAll('\0', '\ufffd')
}

/** Returns an id, which some senders write as a number. */
export const readId = (value: unknown): string | undefined =>
  readText(typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value, 512)

/** Returns a word such as UTILITY or authentication-international in lower case, with underscores for hyphens. */
export const readWord = (value: unknown): string | undefined => {
  const known = readText(value, 40)
  return known && /^[a-z][a-z_-]*$/i.test(known) ? normaliseCategory(known) : undefined
}

/** Reads Unix seconds, as text or number; returns `now` for invalid and for future times. */
export const readTime = (value: unknown, now: Date): Date => {
  const seconds = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value
  const isPast = typeof seconds === 'number' && seconds > 0 && seconds * 1000 <= now.getTime()
  return isPast ? new Date(Math.floor(seconds) * 1000) : now
}
