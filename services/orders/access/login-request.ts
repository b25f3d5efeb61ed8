import { isTenantId, tenantOf } from '@courier/shared/access/authenticate.ts'
import { addressOf } from '@courier/shared/edge/addresses.ts'
import { rateLimited } from '@courier/shared/edge/limits.ts'
import { type HttpError, httpError } from '@courier/shared/errors/errors.ts'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type { Account, Accounts } from './accounts.ts'
import { type LoggedIn, type LoginDependencies, logIn } from './login.ts'

/** Of an e-mail address. Postgres refuses null characters and lone surrogates. */
const character = '([^\\s@\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])'

export const loginFields = {
  email: Type.String({
    maxLength: 255,
    pattern: `^\\s*${character}+@${character}+\\s*$`,
    must: 'be a valid email address',
  }),
  password: Type.String({ minLength: 1, maxLength: 255 }),
}

export const LoginHeaders = Type.Object({
  'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }),
})

type LoginRequest = FastifyRequest<{ Body: { email: string; password: string } }>

/** Logs in at one of the accounts. Throws the error response of a login that is refused. */
export const logInAt = async <Row extends Account>(
  accounts: Accounts<Row>,
  dependencies: LoginDependencies,
  request: LoginRequest,
) => {
  const tenant = tenantOf(request)
  const from = { tenant, network: addressOf(request), requestId: request.id }
  // An impossible tenant id gets the response of an unknown tenant, and no throttle counts it.
  const result: LoggedIn<Row> = isTenantId.test(tenant)
    ? await logIn(dependencies, accounts, { ...from, ...request.body })
    : { kind: 'invalid_credentials' }
  if (result.kind !== 'logged_in') throw refusalOf(result)
  const { token, expiresAt, account } = result
  return { tenant, account, success: { message: 'success' as const, token, expires_at: expiresAt.toISOString() } }
}

const wrongCredentials = 'These credentials do not match our records.'

const refusalOf = (refused: Exclude<LoggedIn<never>, { kind: 'logged_in' }>): HttpError => {
  switch (refused.kind) {
    case 'invalid_credentials':
      return httpError('validation_failed', wrongCredentials, { errors: { email: [wrongCredentials] } })
    case 'too_many':
      return rateLimited(refused.retryAfterSeconds)
    case 'busy':
      return httpError('unavailable', 'Too many logins at once. Repeat the call.', { retryAfterSeconds: 1 })
  }
}
