import { httpErrors } from '@fastify/sensible'
import { type Static, Type } from '@sinclair/typebox'
import { component } from '../schemas.ts'
import { ErrorList } from './field-errors.ts'

/**
 * Lists every code of an error response, with its status (docs/merchants/errors.md). A code never changes its meaning.
 */
export const errorStatuses = {
  malformed_request: 400,
  tenant_required: 400,
  unauthenticated: 401,
  forbidden: 403,
  role_forbidden: 403,
  not_found: 404,
  unknown_tenant: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  idempotency_key_running: 409,
  already_decided: 409,
  cursor_expired: 410,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  validation_failed: 422,
  idempotency_key_reused: 422,
  rate_limited: 429,
  headers_too_large: 431,
  internal_error: 500,
  unavailable: 503,
  outcome_unknown: 503,
} as const

export type ErrorCode = keyof typeof errorStatuses

export const ErrorBody = component('Error', {
  message: Type.String(),
  code: Type.String({
    description: 'A stable name of the error (docs/merchants/errors.md); `message` may change its wording.',
  }),
  errors: Type.Optional(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'Each key is a field path; its value lists what is wrong there.',
    }),
  ),
  suggestions: Type.Optional(
    Type.Record(
      Type.String(),
      Type.Array(Type.Object({ id: Type.Integer(), name: Type.String(), state: Type.String() })),
      { description: 'The nearest names, at most three, for a name that was not found, under the same path.' },
    ),
  ),
  more_errors: Type.Optional(
    Type.Integer({
      description: 'The number of sentences that `errors` leaves out after the first 1,000; counted up to 4,000.',
    }),
  ),
})
export type ErrorBody = Static<typeof ErrorBody>

/** Is shown to the caller: holds no internal text and no secrets. */
interface ErrorDetails extends Pick<ErrorBody, 'errors' | 'suggestions' | 'more_errors'> {
  retryAfterSeconds?: number
  headers?: Record<string, string>
}

/** Extends an error of @fastify/sensible with what its response needs. */
export type HttpError = ReturnType<typeof httpErrors.getHttpError> & {
  readonly code: ErrorCode
  readonly details: ErrorDetails
}

/** Creates the error that a route throws. The response shows `message` and `details`. */
export const httpError = (code: ErrorCode, message: string, details: ErrorDetails = {}): HttpError =>
  Object.assign(httpErrors.getHttpError(errorStatuses[code], message), { code, details })

/** Creates a 404: the address has no route, or the caller has nothing of that kind with that id. */
export const notFound = (kind?: string): HttpError =>
  httpError(
    'not_found',
    kind ? `The requested ${kind} does not exist in the system` : 'There is nothing at this address.',
  )

/** Accepts any value, because anything may be thrown. */
export const isHttpError = (error: unknown): error is HttpError => isPlainHttpError(error) && 'details' in error

/** Returns true for all errors of @fastify/sensible, even without a code of ours, as from `reply.notFound()`. */
export const isPlainHttpError = (error: unknown): error is ReturnType<typeof httpErrors.getHttpError> =>
  error instanceof Error && 'expose' in error

export const findCode = (status: number): ErrorCode | undefined =>
  (Object.keys(errorStatuses) as ErrorCode[]).find(code => errorStatuses[code] === status)

export const toBody = ({ message, code, details: { errors, suggestions, more_errors } }: HttpError): ErrorBody => ({
  message,
  code,
  ...(errors && { errors }),
  ...(suggestions && { suggestions }),
  ...(more_errors !== undefined && { more_errors }),
})

/** Maps field paths to sentences (docs/merchants/contract.md#error-body). */
export type FieldErrors = NonNullable<ErrorBody['errors']>

interface InvalidDetails {
  message?: string
  suggestions?: ErrorBody['suggestions']
}

/** Creates a validation failure (docs/merchants/contract.md#errors). The response shows the first 1,000 sentences. */
export const invalid = (
  errors: FieldErrors | ErrorList,
  { message = 'The given data was invalid.', suggestions }: InvalidDetails = {},
): HttpError => {
  const { errors: shown, more } = errors instanceof ErrorList ? errors : toList(errors)
  return httpError('validation_failed', message, {
    errors: shown,
    ...(suggestions && { suggestions }),
    ...(more > 0 && { more_errors: more }),
  })
}

const toList = (errors: FieldErrors): ErrorList => {
  const list = new ErrorList()
  list.addAll(errors)
  return list
}

/** Creates a 413 for a body above its limit. */
export const bodyTooLarge = () => httpError('payload_too_large', bodyTooLargeMessage)
const bodyTooLargeMessage = 'The body is too large. Send it in smaller parts.'

/** Holds the meaning of each error status, and the message of an example, for the documentation. */
const documented: Record<number, readonly [meaning: string, message: string]> = {
  400: ['The X-tenant header is missing, or the body is not JSON.', 'The body is not valid JSON.'],
  401: [
    'The token is unknown, expired or revoked, or belongs to another tenant. Message: "Unauthenticated."',
    'Unauthenticated.',
  ],
  403: ['The verify token is unknown, or the mode is not `subscribe`.', 'Forbidden.'],
  404: ['The requested object does not exist.', 'There is nothing at this address.'],
  405: [
    'The path does not support the method: the Allow header lists the methods that it supports.',
    'The GET method is not supported here; use POST.',
  ],
  408: ['The request arrived too slowly.', 'Request Timeout.'],
  409: [
    'A request with the same Idempotency-Key is running: repeat yours after Retry-After seconds for its response.',
    'A request with this Idempotency-Key is running. Repeat this one for its response.',
  ],
  410: [
    'The entries after the cursor are no longer kept: start again without a cursor.',
    'What follows this cursor is no longer kept.',
  ],
  412: [
    'The order no longer has the ETag of If-Match: the response carries the current ETag.',
    'The order has changed since you read it. Read it again.',
  ],
  413: ['The body is too large, or its JSON has too many values.', bodyTooLargeMessage],
  415: ['The body must be application/json.', 'Send the body as application/json.'],
  422: [
    'The given data was invalid: `errors` lists every error, and nothing was created.',
    'The given data was invalid.',
  ],
  429: ['Too many requests: repeat the request after Retry-After seconds.', 'Too Many Attempts.'],
  431: ['The head of the request is larger than 16 KiB.', 'Request Header Fields Too Large.'],
  503: [
    'The service is temporarily unavailable. With Retry-After nothing was changed; without it the outcome is unknown.',
    'The service is unavailable for a moment. Nothing was changed; repeat the request.',
  ],
}

const cityPath = 'order_data.0.destination_city_name'
const cityErrors = {
  errors: { [cityPath]: ['The selected destination city name is invalid.'] },
  suggestions: { [cityPath]: [{ id: 2100, name: 'Galle', state: 'Galle' }] },
}

/** Returns the `response` schemas of a route for its error statuses. */
export const errorResponses = (...statuses: number[]): Record<number, typeof ErrorBody> =>
  Object.fromEntries(statuses.map(status => [status, errorResponse(status)]))

const errorResponse = (status: number): typeof ErrorBody => {
  const [description, message] = documented[status] ?? ['', '']
  const example = { message, code: findCode(status), ...(status === 422 && cityErrors) }
  return { ...ErrorBody, description, examples: [example] }
}
