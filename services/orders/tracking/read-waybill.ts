import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { DomainError, invalid } from '@courier/shared/http/errors.ts'
import { isBlank, required } from '@courier/shared/http/faults.ts'

const path = 'waybill_number'

/** A body that names a waybill is not longer. */
export const maxWaybillBodyBytes = 16_384

/**
 * The waybill number that a call names: in its query, else in its JSON body. Throws 422 when it names none, 400 for a
 * body that is not JSON.
 */
export const readWaybill = (query: unknown, body: Buffer | undefined): string => {
  const inQuery = (query as Record<string, unknown>)[path]
  const value = isBlank(inQuery) && body?.length ? fieldOf(body) : inQuery
  if (isBlank(value)) throw invalid({ [path]: [required(path)] })
  if (typeof value !== 'string' && typeof value !== 'number')
    throw invalid({ [path]: ['The waybill number field must be a string.'] })
  return String(value).trim()
}

const fieldOf = (bytes: Buffer): unknown => {
  try {
    if (!isUtf8(bytes)) throw new Error('not UTF-8')
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''))?.[path]
  } catch {
    throw new DomainError('malformed', 'The body is not valid JSON.')
  }
}

/**
 * The body of a GET, which the framework leaves unread. The server's time-out for requests bounds the wait. A longer body
 * than is allowed ends the connection with the answer: the rest stays unread.
 */
export const readBody = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let length = 0
  // Destroyed it would take the answer's connection along.
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    length += chunk.length
    if (length > maxWaybillBodyBytes)
      throw new DomainError('too_large', 'The body is too large. It holds one waybill number.', {
        headers: { connection: 'close' },
      })
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
