import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { httpError } from '../errors/errors.ts'
import { createSlices } from '../work-slices.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Holds the bytes of a JSON body, as received; `acceptJson` sets them. */
    rawBody: Buffer
  }
}

type ParsedJson = { kind: 'json'; value: unknown } | { kind: 'malformed'; message: string }

/** Parses the JSON of a body, in UTF-8 with or without a byte order mark. Refuses a key that is twice in one object. */
export const parseJson = (bytes: Buffer): ParsedJson => {
  if (!isUtf8(bytes)) return { kind: 'malformed', message: 'The body is not valid UTF-8.' }
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  try {
    const value: unknown = JSON.parse(text)
    const keys = countKeys(value)
    if (keys === countColons(text) || keys === countColonsOutsideTexts(bytes)) return { kind: 'json', value }
    const name = findRepeatedKey(text)
    const which = name !== undefined && /^[a-z_]\w{0,62}$/i.test(name) ? `the field ${name}` : 'a field'
    return { kind: 'malformed', message: `The body has ${which} twice in one object.` }
  } catch (error) {
    return { kind: 'malformed', message: `The body is not valid JSON${jsonProblem(error)}.` }
  }
}

/**
 * Says where a text stops being JSON, if JSON.parse does. The message of JSON.parse quotes the text, which no caller
 * and no log may see.
 */
const jsonProblem = (error: unknown): string => {
  const [position] = /at position \d+ \(line \d+ column \d+\)$|end of JSON input$/.exec(String(error)) ?? []
  return position === undefined ? '' : `: ${position.replace('end of JSON input', 'it ends too early')}`
}

/** Counts the keys that JSON.parse kept: the last of those with one name. */
const countKeys = (value: unknown): number => {
  const waiting = typeof value === 'object' ? [value] : []
  let count = 0
  while (waiting.length > 0) {
    const each = waiting.pop() ?? []
    const values = Array.isArray(each) ? each : Object.values(each)
    if (values !== each) count += values.length
    for (const value of values) if (typeof value === 'object') waiting.push(value)
  }
  return count
}

/** Counts all colons: as many as keys if no text has one. Takes a tenth of the time of the exact count. */
const countColons = (text: string): number => {
  let count = 0
  for (let at = text.indexOf(':'); at >= 0; at = text.indexOf(':', at + 1)) count++
  return count
}

/** Counts the keys of valid JSON: outside texts, each has one colon. */
const countColonsOutsideTexts = (bytes: Buffer): number => {
  let [count, isText] = [0, false]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) isText = !isText
    else if (isText) at += Number(byte === backslash)
    else if (byte === colon) count++
  }
  return count
}

/** Finds the first key of valid JSON that its object has already. */
const findRepeatedKey = (text: string): string | undefined => {
  const open: Set<string>[] = []
  let [start, last] = [-1, '']
  for (let at = 0; at < text.length; at++) {
    const sign = text[at]
    if (start >= 0) {
      if (sign === '\\') at++
      else if (sign === '"') [start, last] = [-1, text.slice(start, at + 1)]
    } else if (sign === '"') start = at
    else if (sign === '{') open.push(new Set())
    else if (sign === '}') open.pop()
    else if (sign === ':') {
      const name: string = JSON.parse(last)
      if (open.at(-1)?.has(name)) return name
      open.at(-1)?.add(name)
    }
  }
  return undefined
}

/** Up to this size a body costs little to parse, whatever is in it. */
const largeBytes = 524_288
/** Parsing this many values takes up to fifty milliseconds, and our longest list needs fewer. */
const manyValues = 100_000
const [quote, backslash, comma, openBrace, openBracket, colon] = Buffer.from('"\\,{[:')

/** Returns true if JSON is large and has more values than `most`. The content of texts does not count. */
export const isCostlyJson = (bytes: Buffer, most: number): boolean => {
  if (bytes.length <= largeBytes) return false
  let values = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) isText = !isText
    else if (isText) at += Number(byte === backslash)
    else if ((byte === comma || byte === openBrace || byte === openBracket) && ++values > most) return true
  }
  return false
}

/** Up to this size reading and checking a body takes a millisecond or two. */
const smallBytes = 16_384
const nextSlice = createSlices()

type Done = (error: Error | null, body?: unknown) => void

/**
 * Makes the routes of `app` accept JSON bodies and no other. Each round of the event loop reads and checks one of the
 * bodies above `smallBytes`.
 */
export const acceptJson = (app: FastifyInstance): void => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer
    request.rawBody = bytes
    if (bytes.length <= smallBytes) parseBody(request, bytes, done)
    else void nextSlice().then(() => parseBody(request, bytes, done))
  })
}

const parseBody = (request: FastifyRequest, bytes: Buffer, done: Done): void => {
  // Portals send the JSON content type on every request, even without a body.
  if (bytes.length === 0) return done(null, undefined)
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity')
    return done(httpError('unsupported_media_type', 'Send the body without content-encoding.'))
  // The getter routeOptions costs more than parsing a small body.
  const limit = bytes.length > largeBytes ? request.routeOptions.bodyLimit : undefined
  const most = Math.max(manyValues, Math.floor((limit ?? 0) / 50))
  if (isCostlyJson(bytes, most))
    return done(httpError('payload_too_large', `The body has more than ${most} values. Send it in smaller parts.`))
  const parsed = parseJson(bytes)
  if (parsed.kind === 'json') done(null, parsed.value)
  else done(httpError('malformed_request', parsed.message))
}
