import { type Static, Type } from '@sinclair/typebox'

/** Every code that the domain may throw, with the HTTP status it is answered with. */
const statusOf = {
  malformed: 400,
  unauthenticated: 401,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  too_large: 413,
  unsupported_media_type: 415,
  invalid: 422,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,
} as const

export type ErrorCode = keyof typeof statusOf

export const ErrorBody = Type.Object(
  {
    message: Type.String(),
    errors: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'Keys are field paths, each value lists what is wrong there.',
      }),
    ),
    suggestions: Type.Optional(
      Type.Record(
        Type.String(),
        Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), state: Type.String() })),
        { description: 'For a name that was not found: up to three nearest names, under the same path.' },
      ),
    ),
  },
  { title: 'Error' },
)
export type ErrorBody = Static<typeof ErrorBody>

export type ErrorDetails = Omit<ErrorBody, 'message'> & { retryAfterSeconds?: number; headers?: Record<string, string> }

/** An answer other than success. `message` and `details` are shown to the caller: no inner text, no secret. */
export class DomainError extends Error {
  override name = 'DomainError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message)
    this.code = code
    this.details = details
  }

  get status(): number {
    return statusOf[this.code]
  }

  get body(): ErrorBody {
    const { errors, suggestions } = this.details
    return { message: this.message, ...(errors && { errors }), ...(suggestions && { suggestions }) }
  }
}

/** Field path to sentences, the shape of `errors` (spec.md 2.5). */
export type Faults = Record<string, string[]>

/** A validation failure (spec.md 7). */
export const invalid = (errors: Faults, suggestions?: ErrorBody['suggestions']): DomainError =>
  new DomainError('invalid', 'The given data was invalid.', { errors, ...(suggestions && { suggestions }) })

/** What an error status means to the caller, for the documentation. */
const meanings: Record<number, string> = {
  400: 'The X-tenant header is missing, or the body is not JSON.',
  401: 'The token is unknown, expired or revoked, or belongs to another tenant. Message: "Unauthenticated."',
  404: 'There is no such thing.',
  405: 'Another method is needed: the Allow header names it.',
  409: 'A call with the same Idempotency-Key is running: repeat after Retry-After seconds for its answer.',
  413: 'The body is too large.',
  415: 'The body must come as application/json.',
  422: 'The given data was invalid: `errors` says everything that is wrong, and nothing was made.',
  429: 'Too many calls: repeat after Retry-After seconds.',
  503: 'The service is unavailable for a moment. With Retry-After nothing was done; without it that is not known.',
}

const examples: Record<number, ErrorBody> = {
  400: { message: 'The X-tenant header is required.' },
  401: { message: 'Unauthenticated.' },
  404: { message: 'There is nothing at this address.' },
  405: { message: 'The GET method is not supported here; use POST.' },
  409: { message: 'A call with this Idempotency-Key is running. Repeat it for its answer.' },
  413: { message: 'The body is too large. Send it in smaller parts.' },
  415: { message: 'Send the body as application/json.' },
  429: { message: 'Too Many Attempts.' },
  503: { message: 'The service is unavailable for a moment. Nothing was changed; repeat the call.' },
  422: {
    message: 'The given data was invalid.',
    errors: { 'order_data.0.destination_city_name': ['The selected destination city name is invalid.'] },
    suggestions: { 'order_data.0.destination_city_name': [{ id: 2100, name: 'Galle', state: 'Galle' }] },
  },
}

/** The `response` part of a route's schema for every error that the route may answer. */
export const errorAnswers = (...statuses: number[]): Record<number, typeof ErrorBody> =>
  Object.fromEntries(
    statuses.map(status => {
      const example = examples[status] ?? { message: meanings[status] ?? '' }
      return [status, { ...ErrorBody, description: meanings[status] ?? '', examples: [example] }]
    }),
  )
