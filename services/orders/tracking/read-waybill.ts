import type { IncomingMessage } from 'node:http'
import { parseJson } from '@courier/shared/edge/json-body.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { isBlank, required } from '@courier/shared/errors/field-errors.ts'

const path = 'waybill_number'

/** The largest body that names a waybill. */
export const maxWaybillBodyBytes = 16_384

type ReadWaybill =
  | { kind: 'read'; waybill: string }
  | { kind: 'malformed'; message: string }
  | { kind: 'refused'; errors: FieldErrors }

/** The waybill number in a request's query, else in its JSON body. */
export const readWaybill = (query: unknown, body: Buffer | undefined): ReadWaybill => {
  const inQuery = (query as Record<string, unknown>)[path]
  if (!isBlank(inQuery) || !body?.length) return toWaybill(inQuery)
  const parsed = parseJson(body)
  return parsed.kind === 'malformed' ? parsed : toWaybill((parsed.value as Record<string, unknown> | null)?.[path])
}

/** undefined: none is given. */
export const trackingCodeIn = (body: Buffer | undefined): string | undefined => {
  const parsed = body?.length ? parseJson(body) : undefined
  const given = parsed?.kind === 'malformed' ? undefined : (parsed?.value as { tracking_code?: unknown } | null)
  return typeof given?.tracking_code === 'string' ? given.tracking_code : undefined
}

const toWaybill = (value: unknown): ReadWaybill => {
  if (isBlank(value)) return refused(required(path))
  if (typeof value !== 'string' && typeof value !== 'number')
    return refused('The waybill number field must be a string.')
  return { kind: 'read', waybill: String(value).trim() }
}

const refused = (sentence: string): ReadWaybill => ({ kind: 'refused', errors: { [path]: [sentence] } })

/**
 * The body of a GET, which the framework leaves unread; undefined when it is larger than allowed, with the rest unread.
 * The server's request timeout bounds the wait.
 */
export const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = []
  let length = 0
  // Destroying the request would close the connection before the response.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > maxWaybillBodyBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
