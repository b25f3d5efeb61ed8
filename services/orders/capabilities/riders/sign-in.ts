import { hash, randomBytes } from 'node:crypto'
import { bearerToken, isTenantId, readTenant, unauthenticated } from '@courier/shared/access/authenticate.ts'
import type { Staff } from '@courier/shared/access/staff.ts'
import { refusal } from '@courier/shared/edge/addresses.ts'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { ErrorBody, errorResponses, httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { textPattern } from '@courier/shared/lists/filters.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { hashToken, revokeToken } from '@courier/shared/postgres/tokens.ts'
import { orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { sql } from 'kysely'
import { generate } from 'lean-qr'
import { readRoles, type StaffRow } from '../../core/access/queries.ts'
import { LoggedInStaff } from '../../core/access/staff-routes.ts'
import { createToken } from '../../core/access/tokens.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { ActOptions } from './acts.ts'
import { runActs } from './run-acts.ts'
import { ActOutcome, Acts, maxActBytes } from './schema.ts'

// Signs phones in by a link that the console shows as a code (docs/staff/riders.md#sign-in).

const linkMinutes = 10
const phoneDays = 30

const RiderParams = Type.Object({ rider_id: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) })
const Link = Type.Object(
  {
    url: Type.String({ examples: ['https://courier.example/rider/#/in/demo/abc'] }),
    qr: Type.Array(Type.String(), { description: 'The rows of the QR code; 1 is dark.', examples: [['101']] }),
    expires_at: Type.String(),
  },
  { title: 'SignInLink' },
)
const Phone = Type.Object(
  {
    id: Type.String({ examples: ['tok_0123456789ab'] }),
    device: orNull(Type.String(), { description: 'null: it signed in with a password.', examples: ['Android'] }),
    signed_in_at: Type.String(),
    last_used_at: orNull(Type.String()),
    expires_at: orNull(Type.String()),
  },
  { title: 'SignedInPhone' },
)

const findPersonById = async (tx: Tx, tenant: string, id: string): Promise<StaffRow | undefined> =>
  (await tx.rows<StaffRow>('select * from staff where tenant_id = $1 and staff_id = $2::bigint', [tenant, id]))[0]

/** Refuses a link by which its maker would get more rights than they have. */
const refuseLink = (person: StaffRow, { roles }: Staff): void => {
  const held = readRoles(person)
  if (!person.is_active || !held.includes('rider'))
    throw invalid({ rider_id: [`${person.name} is not active with the role rider.`] })
  const more = held.filter(role => role !== 'rider' && !roles.includes(role) && !roles.includes('admin'))
  if (more.length > 0)
    throw httpError('role_forbidden', `${person.name} is also ${more.join(' and ')}, which you are not.`)
}

/** Lets dispatchers show sign-in links, and see and end what came of them. */
export const signInLinkRoutes: FastifyPluginAsyncTypebox<ActOptions> = async (app, { pool }) => {
  acceptJson(app)
  const making = {
    operationId: 'makeSignInLink',
    summary: "Make a link that signs a rider's phone in",
    description: `The link works once, within ${linkMinutes} minutes; the phone stays signed in for ${phoneDays} days.`,
    params: RiderParams,
    response: { 200: Type.Object({ data: Link }), ...errorResponses(404, 422) },
  }
  app.post('/riders/:rider_id/sign-in', { ...refusesKeys, schema: making }, async request => {
    const { staff, params, publicUrl } = request
    const { tenant, actor } = staff
    const code = randomBytes(32).toString('base64url')
    const expires_at = await inTenant(pool, tenant, async (tx: Tx) => {
      const person = await findPersonById(tx, tenant, params.rider_id)
      if (!person) throw notFound('rider')
      refuseLink(person, staff)
      await audit(tx, tenant, actor, 'sign_in.offered', `staff ${params.rider_id}`)
      const values = [tenant, hash('sha256', code, 'buffer'), params.rider_id, staff.name]
      return (await tx.rows<{ at: string }>(insertLinkSql, values))[0]?.at ?? ''
    })
    const url = `${publicUrl.replace(/\/$/, '')}/rider/#/in/${tenant}/${code}`
    return { data: { url, qr: drawQr(url), expires_at } }
  })
  const listing = {
    operationId: 'listSignIns',
    summary: 'List where a rider is signed in',
    params: RiderParams,
    response: { 200: Type.Object({ data: Type.Array(Phone) }), ...errorResponses(422) },
  }
  app.get('/riders/:rider_id/sign-ins', { schema: listing }, async ({ staff: { tenant }, params }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => tx.rows(phonesSql, [tenant, params.rider_id])),
  }))
  const ending = {
    operationId: 'endSignIn',
    summary: 'Sign a phone of a rider out',
    description: 'Within five seconds every process refuses it.',
    params: Type.Object({
      ...RiderParams.properties,
      token_id: Type.String({ maxLength: 40, pattern: '^tok_[\\w-]{12}$', must: 'be the id of a sign-in' }),
    }),
    response: { 200: Type.Object({ message: Type.Literal('success') }), ...errorResponses(404, 422) },
  }
  app.post('/riders/:rider_id/sign-ins/:token_id/end', { ...refusesKeys, schema: ending }, async request => {
    const { tenant, actor } = request.staff
    const { rider_id, token_id } = request.params
    await inTenant(pool, tenant, async (tx: Tx) => {
      const phones = await tx.rows<{ id: string }>(phonesSql, [tenant, rider_id])
      if (!phones.some(({ id }) => id === token_id)) throw notFound('sign-in')
      await revokeToken(tx, tenant, token_id)
      await audit(tx, tenant, actor, 'sign_in.ended', token_id)
    })
    return { message: 'success' as const }
  })
}

const insertLinkSql = `
  insert into sign_in_links (tenant_id, hash, staff_id, made_by, expires_at)
  values ($1, $2, $3::bigint, $4, now() + interval '${linkMinutes} minutes') returning ${isoTime('expires_at')} as at`

const phonesSql = `
  select tokens.token_id as id, device, ${isoTime('created_at')} as signed_in_at,
    ${isoTime('last_used_at')} as last_used_at, ${isoTime('tokens.expires_at')} as expires_at
  from tokens left join sign_in_links link on link.tenant_id = tokens.tenant_id and link.token_id = tokens.token_id
  where tokens.tenant_id = $1 and tokens.staff_id = $2::bigint and from_login and revoked_at is null
    and tokens.expires_at > now()
  order by created_at desc limit 100`

const drawQr = (text: string): string[] => {
  const code = generate(text)
  const line = (y: number) => Array.from({ length: code.size }, (_, x) => Number(code.get(x, y))).join('')
  return Array.from({ length: code.size }, (_, y) => line(y))
}

const SignIn = Type.Object(
  {
    code: Type.String({ maxLength: 64, pattern: '^[\\w-]{43}$', must: 'be the code of a link' }),
    device: Type.Optional(Type.String({ maxLength: 100, pattern: textPattern, must: 'be text' })),
  },
  { title: 'SignIn', additionalProperties: false, examples: [{ code: 'a'.repeat(43), device: 'Android, Chrome' }] },
)
const useless = 'This link does not work any more. Ask dispatch for a new one.'

/** Serves phones without a token that works. */
export const phoneRoutes: FastifyPluginAsyncTypebox<ActOptions> = async (app, options) => {
  acceptJson(app)
  const { pool } = options
  const headers = Type.Object({ 'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }) })
  const errors = errorResponses(400, 405, 413, 415, 422, 429, 503)
  const schema = {
    tags: ['staff'],
    operationId: 'signInByLink',
    summary: "Sign a rider's phone in by a link",
    headers,
    body: SignIn,
    response: { 200: LoggedInStaff, ...errors },
  }
  app.post('/api/staff/sign-in', { ...refusesKeys, schema }, async request => {
    const tenant = readTenant(request)
    const { code, device = null } = request.body
    if (!isTenantId.test(tenant)) throw invalid({ code: [useless] })
    const { token, expiresAt, person } = await inTenant(pool, tenant, async (tx: Tx) => {
      const digest = hash('sha256', code, 'buffer')
      const [person] = await tx.rows<StaffRow>(claimLinkSql, [tenant, digest])
      if (!person) throw refusal(request, invalid({ code: [useless] }))
      const holder = { staff_name: person.name, staff_id: person.staff_id, from_login: true }
      const end = sql<Date>`now() + make_interval(days => ${phoneDays})`
      const created = await createToken(tx, tenant, holder, end)
      await tx.client.query(useLinkSql, [tenant, digest, created.id, device])
      const by = { kind: 'staff' as const, name: person.name, tokenId: created.id, requestId: request.id }
      await audit(tx, tenant, by, 'sign_in.used', created.id)
      return { ...created, person }
    })
    const { name, email } = person
    const roles = [...readRoles(person)]
    return {
      message: 'success' as const,
      token,
      expires_at: expiresAt.toISOString(),
      staff: { name, email, role: roles[0] ?? 'rider', roles },
    }
  })
  const leaving = {
    tags: ['staff'],
    operationId: 'leaveActs',
    summary: 'Leave what you did, after your account was deactivated',
    description:
      'Keeps the acts for the decision of the office; does nothing else. Needs a token that the account had.',
    headers,
    body: Acts,
    response: {
      200: Type.Object({ data: Type.Array(ActOutcome) }),
      401: ErrorBody,
      ...errors,
    },
  }
  app.post('/api/public/rider/acts', { ...refusesKeys, bodyLimit: maxActBytes, schema: leaving }, async request => {
    const tenant = readTenant(request)
    const token = isTenantId.test(tenant) ? bearerToken(request.headers.authorization) : undefined
    const [rider] = token
      ? await inTenant(pool, tenant, (tx: Tx) => tx.rows<Ended>(endedSql, [tenant, hashToken(token)]))
      : []
    if (!rider) throw refusal(request, unauthenticated())
    const by = { kind: 'staff' as const, name: rider.name, tokenId: rider.token_id, requestId: request.id }
    return { data: await runActs(options, { tenant, rider, by, linkKeys: [], isEnded: true }, request.body.acts) }
  })
}

const claimLinkSql = `
  select staff.* from sign_in_links link join staff
    on staff.tenant_id = link.tenant_id and staff.staff_id = link.staff_id and staff.is_active
  where link.tenant_id = $1 and hash = $2 and token_id is null and expires_at > now() for update of link`
const useLinkSql = 'update sign_in_links set token_id = $3, device = $4 where tenant_id = $1 and hash = $2'

interface Ended {
  readonly id: string
  readonly name: string
  readonly token_id: string
}
const endedSql = `
  select staff.staff_id::text as id, staff.name, token_id from tokens join staff
    on staff.tenant_id = tokens.tenant_id and staff.staff_id = tokens.staff_id and not staff.is_active
  where tokens.tenant_id = $1 and hash = $2`
