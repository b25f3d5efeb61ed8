import { type Static, Type } from '@sinclair/typebox'
import type { FastifyBaseLogger, FastifyRequest } from 'fastify'
import { createRing } from '../basics/ring.ts'
import { type CallName, callNames } from '../trouble/trouble.ts'

/** A call to the messaging API and how it went, as the control calls show it. No tokens, no pins. */
export const CallView = Type.Object(
  {
    at: Type.String(),
    method: Type.String(),
    path: Type.String(),
    to: Type.Union([Type.String(), Type.Null()], { description: 'The recipient of a send, as it came.' }),
    biz_opaque_callback_data: Type.Union([Type.String(), Type.Null()]),
    http_status: Type.Union([Type.Integer(), Type.Null()], { description: 'Null when the connection was cut.' }),
    code: Type.Union([Type.Integer(), Type.Null()], { description: 'See docs/messaging-api.md#error-table.' }),
    details: Type.Union([Type.String(), Type.Null()]),
    trouble: Type.Union([Type.String(), Type.Null()], { description: 'The kind of trouble that it met.' }),
  },
  { title: 'Call' },
)
export type CallView = Static<typeof CallView>

export interface CallFacts {
  httpStatus: number | null
  code?: number
  details?: string
  trouble?: string
}

/** The last calls, and how many of each answer there were. */
export interface CallLog {
  add(at: number, request: FastifyRequest, facts: CallFacts): void
  /** Newest first. */
  list(): Generator<CallView>
  /** By error code, `ok`, or the kind of trouble that cut the answer. */
  counts(): Record<string, number>
}

export const createCallLog = (capacity: number, logger: FastifyBaseLogger): CallLog => {
  const ring = createRing<CallView>(capacity)
  const counts: Record<string, number> = {}
  return {
    add(at, request, { httpStatus, code, details, trouble }) {
      const outcome = String(code ?? (httpStatus === 200 ? 'ok' : (trouble ?? httpStatus)))
      counts[outcome] = (counts[outcome] ?? 0) + 1
      logger.debug({ call: callNameOf(request.url), status: httpStatus, code, trouble }, 'call.answered')
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

/** Which call a path is: its last word, else the number itself. */
export const callNameOf = (url: string): CallName => {
  const word = (url.split('?')[0] ?? '').replace(/\/$/, '').split('/').at(-1) as CallName
  return callNames.includes(word) ? word : 'phone_number'
}
