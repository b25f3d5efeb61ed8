import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, notFound } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { closed, component, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type pg from 'pg'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findStaff } from './people.ts'
import { StaffParams } from './people-routes.ts'

// Lists and ends sessions: the tokens of logins (docs/operators/sign-in.md#sessions).

const Session = component('Session', {
  id: Type.String({ examples: ['tok_0123456789ab'] }),
  signed_in_at: Type.String(),
  last_used_at: orNull(Type.String(), { description: 'Accurate to a minute.' }),
  expires_at: orNull(Type.String()),
  is_current: Type.Boolean({ description: 'True for the session of the request.' }),
})
const Ending = closed(
  { id: Type.Optional(Type.String({ maxLength: 40, pattern: '^tok_[\\w-]{12}$', must: 'be the id of a session' })) },
  { title: 'SessionsToEnd', examples: [{ id: 'tok_0123456789ab' }] },
)
const Ended = Type.Object({ message: Type.Literal('success'), data: Type.Object({ ended: Type.Integer() }) })

/** Names whose sessions: those of the member of staff `staffId`, or else of the holder of the token `tokenId`. */
interface Whose {
  readonly tenant: string
  readonly tokenId: string
  readonly staffId?: string
}

const listSessions = (tx: Tx, { tenant, tokenId, staffId }: Whose) =>
  tx.rows<Static<typeof Session>>(sessionsSql, [tenant, tokenId, staffId ?? null])

const sessionsSql = `
  select token.token_id as id, ${isoTime('token.created_at')} as signed_in_at,
    ${isoTime('token.last_used_at')} as last_used_at, ${isoTime('token.expires_at')} as expires_at,
    token.token_id = $2 as is_current
  from tokens token join tokens mine on mine.tenant_id = $1 and mine.token_id = $2
  where token.tenant_id = $1 and token.from_login and token.revoked_at is null and token.expires_at > now()
    and case when $3::bigint is not null then token.staff_id = $3::bigint
      else mine.from_login and (token.staff_id, token.merchant_id, token.person_id)
        is not distinct from (mine.staff_id, mine.merchant_id, mine.person_id) end
  order by token.created_at desc limit 200`

/** Ends one session, or without `id` all but that of the request. Returns how many. */
const endSessions = async (tx: Tx, whose: Whose, id: string | undefined, by: Actor): Promise<number> => {
  const found = await listSessions(tx, whose)
  const ids = found.filter(each => (id === undefined ? !each.is_current : each.id === id)).map(each => each.id)
  if (id !== undefined && ids.length === 0) throw notFound('session')
  await tx.client.query(endSql, [whose.tenant, ids])
  await audit(tx, whose.tenant, by, 'token.revoked', ids)
  return ids.length
}
const endSql = 'update tokens set revoked_at = now() where tenant_id = $1 and token_id = any($2) and revoked_at is null'

const listed = { 200: Type.Object({ data: Type.Array(Session) }) }
const ending = {
  description: 'Without `id` ends all but that of the request. Applies within five seconds.',
  body: Ending,
  response: { 200: Ended, ...errorResponses(404, 422) },
}

/** Adds the routes for one's own sessions. */
const addOwn = (
  app: FastifyInstance,
  pool: pg.Pool,
  names: readonly [list: string, end: string],
  readWhose: (request: FastifyRequest) => Whose & { actor: Actor },
): void => {
  acceptJson(app)
  const listing = { operationId: names[0], summary: 'List your sessions', response: listed }
  app.get('/sessions', { schema: listing }, async request => {
    const whose = readWhose(request)
    return { data: await inTenant(pool, whose.tenant, (tx: Tx) => listSessions(tx, whose)) }
  })
  const schema = { operationId: names[1], summary: 'End your sessions', ...ending }
  app.post('/sessions/end', { ...refusesKeys, schema }, async request => {
    const whose = readWhose(request)
    const { id } = request.body as Static<typeof Ending>
    const ended = await inTenant(pool, whose.tenant, (tx: Tx) => endSessions(tx, whose, id, whose.actor))
    return { message: 'success' as const, data: { ended } }
  })
}

export const merchantSessionRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) =>
  addOwn(app, pool, ['listSessions', 'endSessions'], ({ merchant }) => merchant)

export const staffSessionRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  addOwn(app, pool, ['listMySessions', 'endMySessions'], ({ staff }) => staff)
  const listing = {
    operationId: 'listStaffSessions',
    summary: 'List the sessions of a member of staff',
    params: StaffParams,
    response: { ...listed, ...errorResponses(422) },
  }
  app.get('/people/:staff_id/sessions', { schema: listing }, async ({ staff, params }) => ({
    data: await inTenant(pool, staff.tenant, (tx: Tx) => listSessions(tx, { ...staff, staffId: params.staff_id })),
  }))
  const operationId = 'endStaffSessions'
  const schema = { operationId, summary: 'End the sessions of a member of staff', params: StaffParams, ...ending }
  app.post('/people/:staff_id/sessions/end', { ...refusesKeys, schema }, async ({ staff, params, body }) => {
    const whose = { ...staff, staffId: params.staff_id }
    const ended = await inTenant(pool, staff.tenant, async (tx: Tx) => {
      await findStaff(tx, staff.tenant, params.staff_id)
      return endSessions(tx, whose, body.id, staff.actor)
    })
    return { message: 'success' as const, data: { ended } }
  })
}
