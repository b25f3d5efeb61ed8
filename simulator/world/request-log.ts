import { type Static, Type } from '@sinclair/typebox'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { createRing } from '../basics/ring.ts'
import { type RequestName, requestNames } from '../trouble/trouble.ts'

/** A request to the messaging API and its outcome, as control shows it. No tokens, no pins. */
export const RequestView = Type.Object(
  {
    at: Type.String(),
    method: Type.String(),
    path: Type.String(),
    to: Type.Union([Type.String(), Type.Null()], { description: 'The recipient of a send, as it came.' }),
    biz_opaque_callback_data: Type.Union([Type.String(), Type.Null()]),
    http_status: Type.Union([Type.Integer(), Type.Null()], { description: 'Null when the connection was cut.' }),
    code: Type.Union([Type.Integer(), Type.Null()], {
      description: 'See docs/contributors/messaging-api.md#error-table.',
    }),
    details: Type.Union([Type.String(), Type.Null()]),
    trouble: Type.Union([Type.String(), Type.Null()], { description: 'The kind of trouble that it met.' }),
  },
  { title: 'Request' },
)
export type RequestView = Static<typeof RequestView>

interface RequestOutcome {
  httpStatus: number | null
  code?: number
  details?: string
  trouble?: string
}

/** The last requests, and how many had each outcome. */
export interface RequestLog {
  add(at: number, request: FastifyRequest, outcome: RequestOutcome): void
  /** Newest first. */
  list(): Generator<RequestView>
  /** Counts by error code, `ok`, or the kind of trouble that cut the response. */
  counts(): Record<string, number>
}

export const createRequestLog = (capacity: number, logger: FastifyBaseLogger): RequestLog => {
  const ring = createRing<RequestView>(capacity)
  const counts: Record<string, number> = {}
  return {
    add(at, request, { httpStatus, code, details, trouble }) {
      const name = String(code ?? (httpStatus === 200 ? 'ok' : (trouble ?? httpStatus)))
      counts[name] = (counts[name] ?? 0) + 1
      logger.debug({ request: requestNameOf(request.url), status: httpStatus, code, trouble }, 'request.done')
      const body = (request.body ?? {}) as Record<string, unknown>
      ring.push({
        at: new Date(at).toISOString(),
        method: request.method,
        path: request.url.split('?')[0] ?? '',
        to: textOf(body.to),
        biz_opaque_callback_data: textOf(body.biz_opaque_callback_data),
        http_status: httpStatus,
        code: code ?? null,
        details: details ?? null,
        trouble: trouble ?? null,
      })
    },
    list: () => ring.newestFirst(),
    counts: () => ({ ...counts }),
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value.slice(0, 512) : null)

/** Returns which request a path names: its last word, or else the number itself. */
export const requestNameOf = (url: string): RequestName => {
  const word = (url.split('?')[0] ?? '').replace(/\/$/, '').split('/').at(-1) as RequestName
  return requestNames.includes(word) ? word : 'phone_number'
}
