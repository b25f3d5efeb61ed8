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

/** Parses the JSON of a body, in UTF-8 with or without a byte order mark. */
export const parseJson = (bytes: Buffer): ParsedJson => {
  if (!isUtf8(bytes)) return { kind: 'malformed', message: 'The body is not valid UTF-8.' }
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  try {
    return { kind: 'json', value: JSON.parse(text) }
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

/** Up to this size a body costs little to parse, whatever is in it. */
const largeBytes = 524_288
/** Parsing this many values takes up to fifty milliseconds, and our longest list needs fewer. */
const manyValues = 100_000
const [quote, backslash, comma, openBrace, openBracket] = Buffer.from('"\\,{[')

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
