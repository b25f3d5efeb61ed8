import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { createRing } from '../basics/ring.ts'
import { type RequestName, requestNames } from '../trouble/trouble.ts'

interface RequestOutcome {
  /** null: the connection was cut. */
  httpStatus: number | null
  /** See docs/contributors/messaging-api.md#error-table. */
  code?: number
  details?: string
  trouble?: string
}

/** Keeps the last requests to the messaging API with their outcomes, but without tokens and PINs. */
export const createRequestLog = (capacity: number, logger: FastifyBaseLogger) => {
  const ring = createRing<ReturnType<typeof show>>(capacity)
  const counts: Record<string, number> = {}
  return {
    add(request: FastifyRequest, outcome: RequestOutcome): void {
      const { httpStatus, code, trouble } = outcome
      const name = String(code ?? (httpStatus === 200 ? 'ok' : (trouble ?? httpStatus)))
      counts[name] = (counts[name] ?? 0) + 1
      logger.debug({ request: nameRequest(request.url), status: httpStatus, code, trouble }, 'request.done')
      ring.push(show(request, outcome))
    },
    newestFirst: ring.newestFirst,
    /** Counts requests by error code, `ok`, or the trouble that they met. */
    counts: () => ({ ...counts }),
  }
}

const show = (request: FastifyRequest, { httpStatus, code, details, trouble }: RequestOutcome) => {
  const body = (request.body ?? {}) as Record<string, unknown>
  return {
    at: new Date().toISOString(),
    method: request.method,
    path: request.url.split('?')[0] ?? '',
    to: readText(body.to),
    biz_opaque_callback_data: readText(body.biz_opaque_callback_data),
    http_status: httpStatus,
    code: code ?? null,
    details: details ?? null,
    trouble: trouble ?? null,
  }
}

const readText = (value: unknown): string | null => (typeof value === 'string' ? value.slice(0, 512) : null)

/** Returns the name of a request: the last word of its path, or else `phone_number`. */
export const nameRequest = (url: string): RequestName => {
  const word = (url.split('?')[0] ?? '').replace(/\/$/, '').split('/').at(-1) as RequestName
  return requestNames.includes(word) ? word : 'phone_number'
}
