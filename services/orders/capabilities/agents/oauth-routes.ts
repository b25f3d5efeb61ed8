import { isTenantId } from '@courier/shared/access/authenticate.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { notFound } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { admitMerchants, type TokenReader } from '../../core/access/merchant.ts'
import type { Tx } from '../../core/database/tables.ts'
import { mayReturn, OAuthError, readClient, toOAuthError, types } from './clients.ts'
import { agentRoutes } from './routes.ts'
import { createSeals, type Sealed } from './seals.ts'
import { createWebTokens } from './web-tokens.ts'

const scopes = ['parcels.read', 'parcels.book']
const hidden = { schema: { hide: true } }

export interface WebOptions {
  readonly pool: pg.Pool
  readonly serviceToken: string
  readonly findCaller: TokenReader
  readonly requestsPerMinute: number
}

const readTenant = ({ params }: FastifyRequest): string => (params as { tenant: string }).tenant
/** Returns the address of a tenant's tools, which is also the issuer of their tokens. */
export const findResource = ({ publicUrl }: FastifyRequest, tenant: string): string => `${publicUrl}/mcp/${tenant}`

/** Serves agents on the web: the tools at an address that names the tenant, and the way to a token (OAuth 2.1). */
export const oauthRoutes: FastifyPluginAsync<WebOptions> = async (app, core) => {
  app.addHook('onRequest', async (request, reply) => {
    const tenant = readTenant(request)
    if (!isTenantId.test(tenant)) throw notFound()
    request.headers['x-tenant'] = tenant
    reply.header('cache-control', 'no-store')
  })
  const wellKnown = '/.well-known/oauth-protected-resource/mcp'
  app.get(`${wellKnown}/:tenant`, hidden, async request => {
    const resource = findResource(request, readTenant(request))
    return { resource, authorization_servers: [resource], scopes_supported: scopes }
  })
  app.get('/.well-known/oauth-authorization-server/mcp/:tenant', hidden, async request =>
    describeServer(findResource(request, readTenant(request))),
  )
  await app.register(tokenRoutes, core)
  await app.register(async tools => {
    tools.addHook('onSend', async (request, reply) => {
      if (reply.statusCode !== 401) return
      const metadata = `${request.publicUrl}${wellKnown}/${readTenant(request)}`
      reply.header('www-authenticate', `Bearer resource_metadata="${metadata}"`)
    })
    admitMerchants(tools, core.findCaller, core.requestsPerMinute)
    await tools.register(agentRoutes, { ...core, path: '/mcp/:tenant' })
  })
}

/** Describes the authorization server of a tenant (RFC 8414). */
const describeServer = (issuer: string) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  revocation_endpoint: `${issuer}/revoke`,
  scopes_supported: scopes,
  response_types_supported: ['code'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  token_endpoint_auth_methods_supported: ['none'],
  revocation_endpoint_auth_methods_supported: ['none'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
})

const tokenRoutes: FastifyPluginAsync<WebOptions> = async (app, { pool, serviceToken }) => {
  const seals = createSeals(serviceToken)
  const tokens = createWebTokens(seals)
  acceptJson(app)
  const asText = { parseAs: 'string' } as const
  app.addContentTypeParser('application/x-www-form-urlencoded', asText, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: Error, _request, reply) => {
    const { code, message, status } = toOAuthError(error)
    return reply.code(status).send({ error: code, error_description: message })
  })

  app.post('/mcp/:tenant/register', hidden, async (request, reply) => {
    const { name: client_name, redirect_uris } = readClient(request.body)
    const client_id = seals.seal('client', readTenant(request), { name: client_name, redirect_uris })
    return reply.code(201).send({ client_id, client_name, redirect_uris, token_endpoint_auth_method: 'none' })
  })

  app.get('/mcp/:tenant/authorize', hidden, async (request, reply) => {
    const tenant = readTenant(request)
    const query = request.query as Record<string, string>
    const client = seals.open('client', tenant, query.client_id)
    const isKnown = client && mayReturn(client, query.redirect_uri)
    const error = isKnown
      ? findProblem(query, findResource(request, tenant))
      : 'its client or redirect URI is not registered'
    // Nobody has signed in yet: a redirect would lead wherever a stranger registered (RFC 9700, 4.11.2).
    if (!client || error)
      return reply.code(400).type('text/plain').send(`This link is not valid: ${error}. Connect the agent again.`)
    const asked = seals.seal('request', tenant, readRequest(client.name, query))
    return reply.redirect(`${request.publicUrl}/desk/#/agent/${asked}`)
  })

  const readForm = (request: FastifyRequest) => {
    const { body = '' } = request
    if (typeof body !== 'string') throw new OAuthError('invalid_request', types)
    const fields = [...new URLSearchParams(body)]
    const form: Record<string, string> = Object.fromEntries(fields)
    if (fields.length > Object.keys(form).length) throw new OAuthError('invalid_request', 'Send each parameter once.')
    const resource = findResource(request, readTenant(request))
    if (!seals.open('client', readTenant(request), form.client_id))
      throw new OAuthError('invalid_client', 'This client is not registered here. Register it again.', 401)
    if ((form.resource ?? resource) !== resource) throw new OAuthError('invalid_target', `The resource is ${resource}.`)
    return form
  }

  const redeemers = new Map(Object.entries({ authorization_code: tokens.redeemCode, refresh_token: tokens.refresh }))
  app.post('/mcp/:tenant/token', hidden, async request => {
    const form = readForm(request)
    const redeem = redeemers.get(form.grant_type ?? '')
    if (!redeem) throw new OAuthError('unsupported_grant_type', 'Send an authorization_code or a refresh_token.')
    const tenant = readTenant(request)
    const made = await inTenant(pool, tenant, (tx: Tx) => redeem(tx, tenant, form))
    if (!made) throw new OAuthError('invalid_grant', 'This code or token was used or ended. Connect the agent again.')
    const { token: access_token, seconds: expires_in, refresh_token, may_book } = made
    const scope = may_book ? scopes.join(' ') : scopes[0]
    return { access_token, token_type: 'Bearer', expires_in, refresh_token, scope }
  })

  app.post('/mcp/:tenant/revoke', hidden, async request => {
    const form = readForm(request)
    const tenant = readTenant(request)
    await inTenant(pool, tenant, (tx: Tx) => tokens.revoke(tx, tenant, form))
    return {}
  })
}

const readRequest = (name: string, { scope = scopes.join(' '), ...query }: Result): Sealed['request'] => ({
  ...{ name, client_id: query.client_id ?? '', redirect_uri: query.redirect_uri ?? '' },
  ...{ challenge: query.code_challenge ?? '', state: query.state, may_book: scope.includes('parcels.book') },
  ends_at: Date.now() + 600_000,
})

/** Finds the error of a request whose client and redirect URI are right. A parameter that was sent twice is a list. */
const findProblem = (query: Record<string, unknown>, resource: string): string | undefined => {
  const { response_type, scope = '', state = '', code_challenge, code_challenge_method } = query
  if (response_type !== 'code') return 'unsupported_response_type'
  if ((query.resource ?? resource) !== resource) return 'invalid_target'
  if (
    !String(scope)
      .split(' ')
      .every(each => each === '' || scopes.includes(each))
  )
    return 'invalid_scope'
  const isChallenged = code_challenge_method === 'S256' && /^[\w-]{43}$/.test(String(code_challenge))
  return isChallenged && typeof state === 'string' && state.length <= 2_000 ? undefined : 'invalid_request'
}

type Result = Readonly<Record<string, string>>
/** Returns the address where the browser comes back to the agent, with the issuer (RFC 9207). */
export const findReturn = ({ redirect_uri, state }: Sealed['request'], iss: string, result: Result): string => {
  const url = new URL(redirect_uri)
  for (const [name, value] of Object.entries({ ...result, iss, ...(state && { state }) }))
    url.searchParams.set(name, value)
  return url.href
}
