import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { httpError } from '../errors/errors.ts'
import { jsonErrorPosition } from '../errors/json-position.ts'
import { createSlices } from '../slices.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes of a JSON body, as received; set by `acceptJson`. */
    rawBody: Buffer
  }
}

type ParsedJson = { kind: 'json'; value: unknown } | { kind: 'malformed'; message: string }

/** The JSON of a body, in UTF-8 with or without a byte order mark. */
export const parseJson = (bytes: Buffer): ParsedJson => {
  if (!isUtf8(bytes)) return { kind: 'malformed', message: 'The body is not valid UTF-8.' }
  const text = bytes.toString('utf8').replace(/^\uFEFF/, '')
  try {
    return { kind: 'json', value: JSON.parse(text) }
  } catch (error) {
    // JSON.parse quotes the body in its message: only the position may reach the caller or a log.
    return { kind: 'malformed', message: `The body is not valid JSON: ${jsonErrorPosition(text, error)}.` }
  }
}

/** Up to this size a body costs little to parse, whatever is in it. */
const largeBytes = 524_288
/** Parsing so many values takes some ten milliseconds, and no list of ours needs more. */
const manyValues = 200_000
/** No body of ours is nested deeper than a dozen levels. */
const mostLevels = 64
/** An object of very many keys is costly to parse. */
const mostKeys = 1_000
const [quote, backslash, comma, openBrace, openBracket, closeBrace, closeBracket] = Buffer.from('"\\,{[}]')

/** Returns true if JSON has more values than `most`, or more levels or keys of one object than any body of ours. Texts do not count. */
export const isTooComplex = (bytes: Buffer, most: number): boolean => {
  let [values, levels] = [0, 0]
  let isText = false
  /** By level: the commas of the object that is open there; of a list none are counted. */
  const commas = new Float64Array(mostLevels + 1)
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === quote) isText = !isText
    else if (isText) at += Number(byte === backslash)
    else if (byte === openBrace || byte === openBracket) {
      if (++values > most || ++levels > mostLevels) return true
      commas[levels] = byte === openBrace ? 0 : Number.NaN
    } else if (byte === closeBrace || byte === closeBracket) levels--
    else if (byte === comma) {
      commas[levels] = (commas[levels] ?? 0) + 1
      if (++values > most || (commas[levels] ?? 0) > mostKeys) return true
    }
  }
  return false
}

/** Returns true if JSON costs more to parse than any body of ours. */
export const isCostlyJson = (bytes: Buffer, most: number): boolean =>
  bytes.length > largeBytes && isTooComplex(bytes, most)

/** Up to this size reading and checking a body takes a millisecond or two. */
const smallBytes = 16_384
const nextSlice = createSlices()

type Done = (error: Error | null, body?: unknown) => void

/** Makes the routes of `app` accept JSON bodies and no other. Of those above `smallBytes` one is read and checked in each round of the event loop. */
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
  const most = Math.max(manyValues, Math.floor((limit ?? 0) / 25))
  if (isCostlyJson(bytes, most))
    return done(
      httpError(
        'payload_too_large',
        `The body has more than ${most} values, ${mostLevels} levels, or ${mostKeys} keys in an object. Send it in smaller parts.`,
      ),
    )
  const parsed = parseJson(bytes)
  if (parsed.kind === 'json') done(null, parsed.value)
  else done(httpError('malformed_request', parsed.message))
}
