import { isTenantId, readTenant } from '@courier/shared/access/authenticate.ts'
import { readAddress, refusal } from '@courier/shared/edge/addresses.ts'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { Limit, limitRequests } from '@courier/shared/edge/limits.ts'
import { httpError, invalid } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import { hashToken } from '@courier/shared/postgres/tokens.ts'
import { closed, component } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import * as oidc from 'openid-client'
import type pg from 'pg'
import { type Logins, startSession } from '../../core/access/login.ts'
import type { Tx } from '../../core/database/tables.ts'
import { openErrors, tenantHeader } from './entry-routes.ts'
import { findSubject } from './find-subject.ts'
import { endInvitations, findPage, newCode, type Pages } from './invitations.ts'
import { describeError, type ProviderClient, SignInError } from './provider-client.ts'
import { findPerson, type Side, sides, toActor, toHolder } from './sides.ts'

const minutes = 10
/** Admits an office whose people begin their day at once. */
const requestsPerMinute = 2_400
const callbackPath = '/api/public/sign-in/callback'

interface ProviderOptions extends Pages {
  readonly pool: pg.Pool
  readonly logins: Logins
  /** Is ORDERS_PUBLIC_URL: the address to which providers send people back never comes from a request. */
  readonly publicUrl?: string | undefined
  readonly providers: ReadonlyMap<string, ProviderClient>
}

interface Begun {
  readonly provider: string
  readonly browser_hash: Buffer
  readonly verifier: string
  readonly nonce: string
  readonly page: string
}

const Code = Type.String({ maxLength: 64, pattern: '^[\\w-]{43}$', must: 'be a code' })
const Start = closed(
  {
    provider: Type.String({ maxLength: 32 }),
    rider: Type.Optional(Type.Boolean({ description: "For riders' page." })),
  },
  { title: 'ProviderStart', examples: [{ provider: 'google' }] },
)
const Finish = closed(
  { code: Code, browser: Code },
  { title: 'ProviderFinish', examples: [{ code: 'a'.repeat(43), browser: 'b'.repeat(43) }] },
)
const Started = component('ProviderStarted', {
  url: Type.String({ description: 'The address of the provider, for the browser.' }),
  browser: Type.String({ description: 'To keep in the browser until the sign-in ends.' }),
})
const Signed = component('SignedIn', {
  message: Type.Literal('success'),
  token: Type.String(),
  expires_at: Type.String(),
})

/** Signs people in by the providers of their company (docs/operators/sign-in.md#providers). */
export const providerRoutes: FastifyPluginAsyncTypebox<ProviderOptions> = async (app, options) => {
  acceptJson(app)
  app.addHook('onRequest', limitRequests(new Limit('sign-in', requestsPerMinute), readAddress))
  for (const side of Object.values(sides)) {
    const common = { tags: [side.kind], headers: tenantHeader }
    const starting = {
      ...common,
      operationId: `startSignIn${side.suffix}`,
      summary: 'Begin to sign in by a provider',
      body: Start,
      response: { 200: Type.Object({ data: Started }), ...openErrors },
    }
    app.post(`${side.prefix}/sign-in/start`, { ...refusesKeys, schema: starting }, async request => ({
      data: await start(options, side, request, request.body),
    }))
    const finishing = {
      ...common,
      operationId: `finishSignIn${side.suffix}`,
      summary: 'End a sign-in by a provider',
      description: 'Only the browser that began ends it, once.',
      body: Finish,
      response: { 200: Signed, ...openErrors },
    }
    app.post(`${side.prefix}/sign-in/finish`, { ...refusesKeys, schema: finishing }, async request => {
      const session = await finish(options, side, request, request.body)
      if (!session) throw refusal(request, invalid({ code: ['This sign-in has ended. Sign in again.'] }))
      return { message: 'success' as const, token: session.token, expires_at: session.expiresAt.toISOString() }
    })
  }
  app.get(callbackPath, { schema: { hide: true } as object }, async (request, reply) => {
    reply.header('cache-control', 'no-store')
    const { state = '' } = request.query as Record<string, string>
    const [tenant = '', secret = ''] = String(state).split('.')
    const begun = isTenantId.test(tenant) && secret.length === 43 ? await claim(options, tenant, secret) : undefined
    if (!begun)
      return reply.code(400).type('text/plain').send('This sign-in has ended. Open the page and sign in again.')
    const end = await comeBack(options, request, tenant, String(state), begun)
    return reply.redirect(`${begun.page}#/${end}`)
  })
}

const start = async (
  { pool, providers, publicUrl, ...pages }: ProviderOptions,
  side: Side,
  request: FastifyRequest,
  { provider: id, rider = false }: { provider: string; rider?: boolean },
) => {
  const tenant = readTenant(request)
  const client = providers.get(id)
  const isServed = client?.provider.tenants.includes(tenant) && client.provider.for === side.for
  if (!client || !isServed || publicUrl === undefined) throw invalid({ provider: ['There is no such provider.'] })
  const [secret, browser] = [newCode(), newCode()]
  const flow = { state: `${tenant}.${secret}`, nonce: newCode(), verifier: oidc.randomPKCECodeVerifier() }
  const url = await client.authorize(findCallback(publicUrl), flow).catch(error => {
    request.log.warn({ tenant, provider: id, ...describeError(error) }, 'provider.unreachable')
    const remedy = 'Try again later, or sign in with your password if you have one.'
    throw httpError('unavailable', `${client.provider.name} does not respond. ${remedy}`)
  })
  const face = rider && side.kind === 'staff' ? 'rider' : side.face
  const page = findPage(pages, publicUrl, face, request.headers.origin)
  await inTenant(pool, tenant, (tx: Tx) =>
    tx.client.query(beginSql, [tenant, hashToken(secret), id, hashToken(browser), flow.verifier, flow.nonce, page]),
  )
  return { url, browser }
}

const findCallback = (publicUrl: string): string => `${publicUrl.replace(/\/$/, '')}${callbackPath}`

const beginSql = `
  insert into provider_sign_ins (tenant_id, hash, provider, browser_hash, verifier, nonce, page, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, now() + interval '${minutes} minutes')`

/** Takes what a state began, once. */
const claim = async ({ pool }: ProviderOptions, tenant: string, secret: string): Promise<Begun | undefined> =>
  (await inTenant(pool, tenant, (tx: Tx) => tx.rows<Begun>(claimSql, [tenant, hashToken(secret)])))[0]

const claimSql = `
  delete from provider_sign_ins
  where tenant_id = $1 and hash = $2 and staff_id is null and person_id is null and expires_at > now()
  returning provider, browser_hash, verifier, nonce, page`

/** Finds who came back; returns the end of the page's address: a code to redeem, or why there is none. */
const comeBack = async (
  { pool, providers, publicUrl = '' }: ProviderOptions,
  request: FastifyRequest,
  tenant: string,
  state: string,
  begun: Begun,
): Promise<string> => {
  const client = providers.get(begun.provider)
  try {
    if (!client?.provider.tenants.includes(tenant)) throw new SignInError('failed')
    const url = new URL(findCallback(publicUrl) + request.url.slice(request.url.indexOf('?')))
    const identity = await client.redeem(url, { ...begun, state })
    const code = newCode()
    await inTenant(pool, tenant, async (tx: Tx) => {
      const id = await findSubject(tx, tenant, client.provider, identity)
      const ids = client.provider.for === 'staff' ? [id, null] : [null, id]
      const { provider, browser_hash, page } = begun
      await tx.client.query(foundSql, [tenant, hashToken(code), provider, browser_hash, page, ...ids])
    })
    return `provider/${tenant}/${code}`
  } catch (error) {
    const isDenied = (error as { error?: unknown }).error === 'access_denied'
    const reason = error instanceof SignInError ? error.reason : isDenied ? 'denied' : 'failed'
    request.log.warn({ tenant, provider: begun.provider, reason, ...describeError(error) }, 'sign_in.refused')
    return `refused/${tenant}/${reason}`
  }
}

const foundSql = `
  insert into provider_sign_ins (tenant_id, hash, provider, browser_hash, verifier, nonce, page, staff_id, person_id,
    expires_at)
  values ($1, $2, $3, $4, '', '', $5, $6::bigint, $7::bigint, now() + interval '2 minutes')`

/**
 * Begins the session of who came back, if the same browser redeems the code and the person is still active. Ends the
 * person's invitations: they are in.
 */
const finish = (
  { pool, logins }: ProviderOptions,
  side: Side,
  request: FastifyRequest,
  { code, browser }: { code: string; browser: string },
) => {
  const tenant = readTenant(request)
  if (!isTenantId.test(tenant)) return undefined
  return inTenant(pool, tenant, async (tx: Tx) => {
    const text = `
      delete from provider_sign_ins where tenant_id = $1 and hash = $2 and browser_hash = $3
        and ${side.column} is not null and expires_at > now() returning ${side.column}::text as id`
    const [found] = await tx.rows<{ id: string }>(text, [tenant, hashToken(code), hashToken(browser)])
    const person = found && (await findPerson(tx, tenant, side, found.id, 'for share'))
    if (!person) return undefined
    await endInvitations(tx, tenant, side, person.id)
    return startSession(tx, tenant, logins.tokenSeconds[side.kind], toHolder(person), toActor(person, request.id))
  })
}

export const deleteOldSignIns = deleteWhere('provider_sign_ins', 'expires_at < now()')
