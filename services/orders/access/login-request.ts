import { isTenantId, tenantOf } from '@courier/shared/access/authenticate.ts'
import { addressOf } from '@courier/shared/edge/addresses.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { rateLimited } from '@courier/shared/edge/limits.ts'
import { errorResponses, type HttpError, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest, FastifySchema } from 'fastify'
import type { Account, Accounts } from './accounts.ts'
import { type LoggedIn, type LoginDependencies, logIn } from './login.ts'

/** Matches one character of an e-mail address. Postgres refuses null characters and lone surrogates. */
const character = '([^\\s@\\u0000\\ud800-\\udfff]|[\\ud800-\\udbff][\\udc00-\\udfff])'

export const loginFields = {
  email: Type.String({
    maxLength: 255,
    pattern: `^\\s*${character}+@${character}+\\s*$`,
    must: 'be a valid email address',
  }),
  password: Type.String({ minLength: 1, maxLength: 255 }),
}

const headers = Type.Object({ 'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }) })

type LoginRequest = FastifyRequest<{ Body: { email: string; password: string } }>

interface LoginRoute<Row extends Account> {
  readonly accounts: Accounts<Row>
  readonly dependencies: LoginDependencies
  /** Documents the route, with the schemas of its body and of a successful response. */
  readonly schema: FastifySchema & { readonly success: TSchema }
  /** Returns the fields of the account that the response has. */
  readonly describe: (account: Row) => object
}

/** Adds `POST /login`, the one request of merchants and of staff without a token. */
export const addLogin = <Row extends Account>(app: FastifyInstance, route: LoginRoute<Row>): void => {
  const { success, ...schema } = route.schema
  acceptJson(app)
  app.addHook('onRequest', async request => void tenantOf(request))
  const response = { 200: success, ...errorResponses(400, 405, 413, 415, 422, 429, 503) }
  app.post('/login', { schema: { summary: 'Log in', ...schema, headers, response } }, async request => {
    const { token, expiresAt, account } = await logInAt(route, request as LoginRequest)
    return { message: 'success', token, expires_at: expiresAt.toISOString(), ...route.describe(account) }
  })
}

/** Throws the error response of a login that is refused. */
const logInAt = async <Row extends Account>({ accounts, dependencies }: LoginRoute<Row>, request: LoginRequest) => {
  const tenant = tenantOf(request)
  const from = { tenant, network: addressOf(request), requestId: request.id }
  // An impossible tenant id gets the response of an unknown tenant, and no throttle counts it.
  const result: LoggedIn<Row> = isTenantId.test(tenant)
    ? await logIn(dependencies, accounts, { ...from, ...request.body })
    : { kind: 'invalid_credentials' }
  if (result.kind !== 'logged_in') throw refusalOf(result)
  const { kind, toHolder } = accounts
  const holder = toHolder(result.account)
  const id = 'merchantId' in holder ? { merchant_id: holder.merchantId } : { staff_id: holder.staffId }
  request.log.info({ tenant, ...id }, `${kind}.logged_in`)
  return result
}

const wrongCredentials = 'These credentials do not match our records.'

const refusalOf = (refused: Exclude<LoggedIn<never>, { kind: 'logged_in' }>): HttpError => {
  switch (refused.kind) {
    case 'invalid_credentials':
      return invalid({ email: [wrongCredentials] }, { message: wrongCredentials })
    case 'too_many':
      return rateLimited(refused.retryAfterSeconds)
    case 'busy':
      return httpError('unavailable', 'Too many logins at once. Repeat the call.', { retryAfterSeconds: 1 })
  }
}
