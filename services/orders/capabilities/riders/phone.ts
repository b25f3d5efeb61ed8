import { bearerToken, isTenantId, readTenant, unauthenticated } from '@courier/shared/access/authenticate.ts'
import { refusal } from '@courier/shared/edge/addresses.ts'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { ErrorBody, errorResponses, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { textPattern } from '@courier/shared/lists/filters.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { hashToken } from '@courier/shared/postgres/tokens.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { sql } from 'kysely'
import { readRoles, type StaffRow } from '../../core/access/queries.ts'
import { LoggedInStaff } from '../../core/access/staff-routes.ts'
import { createToken } from '../../core/access/tokens.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { ActOptions } from './acts.ts'
import { appendPart, decodeBase64 } from './proofs.ts'
import { runActs } from './run-acts.ts'
import { ActOutcome, Acts, maxActBytes, maxPartBytes, ProofPart } from './schema.ts'
import { phoneDays } from './sign-in.ts'

// Serves phones that have no token yet, and those whose rider was deactivated (docs/staff/riders.md#sign-in).

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
  /** Finds who had or, if `orActive`, has a token: a deactivated rider may only leave what was done before. */
  const findSender = async (request: FastifyRequest, orActive: boolean) => {
    const tenant = readTenant(request)
    const token = isTenantId.test(tenant) ? bearerToken(request.headers.authorization) : undefined
    const [rider] = token
      ? await inTenant(pool, tenant, (tx: Tx) => tx.rows<Sender>(senderSql, [tenant, hashToken(token), orActive]))
      : []
    if (!rider) throw refusal(request, unauthenticated())
    return {
      tenant,
      rider,
      by: { kind: 'staff' as const, name: rider.name, tokenId: rider.token_id, requestId: request.id },
    }
  }
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
      const digest = hashToken(code)
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
    const { tenant, rider, by } = await findSender(request, false)
    return { data: await runActs(options, { tenant, rider, by, linkKeys: [], isEnded: true }, request.body.acts) }
  })
  const sending = {
    tags: ['staff'],
    operationId: 'sendProofPart',
    summary: 'Send a part of an image that follows its act',
    description:
      'The image is a proof once it is whole. Works with a token of a rider, also after the account was deactivated.',
    headers,
    body: ProofPart,
    response: {
      200: Type.Object({
        data: Type.Object({
          received: Type.Integer({ description: 'Send the bytes from here next.', examples: [16_000] }),
          is_complete: Type.Boolean(),
        }),
      }),
      401: ErrorBody,
      404: ErrorBody,
      ...errors,
    },
  }
  const limits = { ...refusesKeys, bodyLimit: maxPartBytes }
  app.post('/api/public/rider/proof-part', { ...limits, schema: sending }, async request => {
    const { tenant, rider } = await findSender(request, true)
    const { bytes: text, ...part } = request.body
    const bytes = decodeBase64(text)
    if (!bytes) throw invalid({ bytes: ['The bytes must be base64.'] })
    const received = await inTenant(pool, tenant, (tx: Tx) => appendPart(tx, tenant, rider, { ...part, bytes }))
    if (received === 'unknown') throw notFound('proof')
    if (received === 'too long') throw invalid({ bytes: ['These are more bytes than the act announced.'] })
    return { data: received }
  })
}

const claimLinkSql = `
  select staff.* from sign_in_links link join staff
    on staff.tenant_id = link.tenant_id and staff.staff_id = link.staff_id and staff.is_active
  where link.tenant_id = $1 and hash = $2 and token_id is null and expires_at > now() for update of link`
const useLinkSql = 'update sign_in_links set token_id = $3, device = $4 where tenant_id = $1 and hash = $2'

interface Sender {
  readonly id: string
  readonly name: string
  readonly token_id: string
}
const senderSql = `
  select staff.staff_id::text as id, staff.name, token_id from tokens join staff
    on staff.tenant_id = tokens.tenant_id and staff.staff_id = tokens.staff_id
  where tokens.tenant_id = $1 and hash = $2 and (
    not is_active or $3::boolean and revoked_at is null and expires_at > now())`
