import { randomBytes } from 'node:crypto'
import type { Staff } from '@courier/shared/access/staff.ts'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, httpError, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { hashToken, revokeToken } from '@courier/shared/postgres/tokens.ts'
import { orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { drawQr } from '../../core/access/qr.ts'
import { readRoles, type StaffRow } from '../../core/access/queries.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { ActOptions } from './acts.ts'

// Makes links that sign phones in, and ends sign-ins (docs/staff/riders.md#sign-in).

const linkMinutes = 10
export const phoneDays = 30

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
      const values = [tenant, hashToken(code), params.rider_id, staff.name]
      return (await tx.rows<{ at: Date }>(insertLinkSql, values))[0]?.at.toISOString() ?? ''
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
  values ($1, $2, $3::bigint, $4, now() + interval '${linkMinutes} minutes') returning expires_at as at`

const phonesSql = `
  select tokens.token_id as id, device, ${isoTime('created_at')} as signed_in_at,
    ${isoTime('last_used_at')} as last_used_at, ${isoTime('tokens.expires_at')} as expires_at
  from tokens left join sign_in_links link on link.tenant_id = tokens.tenant_id and link.token_id = tokens.token_id
  where tokens.tenant_id = $1 and tokens.staff_id = $2::bigint and from_login and revoked_at is null
    and tokens.expires_at > now()
  order by created_at desc limit 100`
