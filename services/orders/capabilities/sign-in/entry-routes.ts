import { isTenantId, readTenant } from '@courier/shared/access/authenticate.ts'
import { readAddress, refusal } from '@courier/shared/edge/addresses.ts'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { closed, component, orNull } from '@courier/shared/schemas.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { checkPassword, type Logins, startSession } from '../../core/access/login.ts'
import { loginFields } from '../../core/access/login-routes.ts'
import { hashPassword } from '../../core/access/passwords.ts'
import { nameActor, type StaffRow } from '../../core/access/queries.ts'
import { staffAccounts } from '../../core/access/staff-routes.ts'
import { revokeLogins } from '../../core/access/tokens.ts'
import type { Tx } from '../../core/database/tables.ts'
import { readRules } from './company.ts'
import { findInvitation, type Invitation } from './invitations.ts'
import { setUpFactor } from './second-factor.ts'

/** Lists the two sides that sign in, each with its own addresses. */
export const sides = [
  { kind: 'staff', prefix: '/api/staff', tag: 'staff', suffix: 'Staff' },
  { kind: 'merchant', prefix: '/api/public/merchant', tag: 'merchant', suffix: 'Merchant' },
] as const
export type Side = (typeof sides)[number]

export const tenantHeader = Type.Object({ 'x-tenant': Type.String({ description: 'The tenant.', examples: ['demo'] }) })
export const openErrors = errorResponses(400, 405, 413, 415, 422, 429, 503)

const NewPassword = Type.String({ minLength: 8, maxLength: 255, must: 'be 8 to 255 characters long' })
const PasswordByLink = closed(
  {
    code: Type.String({ maxLength: 64, pattern: '^[\\w-]{43}$', must: 'be the code of a link' }),
    password: Type.Optional(NewPassword),
  },
  { title: 'PasswordByLink', examples: [{ code: 'a'.repeat(43), password: 'a-long-password' }] },
)
const LinkUsed = component('LinkUsed', {
  message: Type.Literal('success'),
  token: orNull(Type.String(), { description: "A token, for the operator's recovery link; otherwise log in." }),
})
const useless = 'This link does not work any more. Ask for a new one.'

interface EntryOptions {
  readonly pool: pg.Pool
  readonly logins: Logins
  readonly keyring: Keyring | undefined
  readonly listProviders: (tenant: string, side: Side) => ProviderName[]
}

interface Owner {
  readonly name: string
  readonly merchant_id?: string
}

const findOwner = async (tx: Tx, tenant: string, { staff_id, person_id }: Invitation): Promise<Owner | undefined> => {
  const text = staff_id
    ? 'select name from staff where tenant_id = $1 and staff_id = $2::bigint and is_active for update'
    : `select name, merchant_id::text from merchant_people
      where tenant_id = $1 and person_id = $2::bigint and is_active for update`
  return (await tx.rows<Owner>(text, [tenant, staff_id ?? person_id]))[0]
}

/** Sets the password of a link, once. Returns the token that a recovery link gives; undefined: the link is no use. */
const useLink = async (
  { pool, logins }: EntryOptions,
  { kind }: Side,
  { tenant, code, password, requestId }: { tenant: string; code: string; password?: string; requestId: string },
): Promise<{ token: string | null } | undefined> => {
  const [seen, rules] = await inTenant(pool, tenant, (tx: Tx) =>
    Promise.all([findInvitation(tx, tenant, code, false), readRules(tx, tenant)]),
  )
  if (!seen || (kind === 'staff') !== (seen.staff_id !== null)) return undefined
  const isAllowed = rules.allowsPassword[kind]
  if (!isAllowed && !seen.is_recovery) throw invalid({ code: ['Your company signs in with its provider.'] })
  if (password === undefined && !seen.is_recovery) throw invalid({ password: ['The password field is required.'] })
  const passwordHash = password === undefined || !isAllowed ? undefined : await hashPassword(password)
  return inTenant(pool, tenant, async (tx: Tx) => {
    const owner = await findOwner(tx, tenant, seen)
    if (!owner || !(await findInvitation(tx, tenant, code, true))) return undefined
    const column = seen.staff_id ? 'staff_id' : 'person_id'
    const id = (seen.staff_id ?? seen.person_id) as string
    const merchantName = nameActor(owner.merchant_id ?? '', { id, name: owner.name, email: '', role: 'clerk' })
    const by = { kind, name: kind === 'staff' ? owner.name : merchantName, requestId } as const
    if (passwordHash !== undefined) {
      const table = seen.staff_id ? 'staff' : 'merchant_people'
      const text = `update ${table} set password_hash = $3 where tenant_id = $1 and ${column} = $2::bigint`
      await tx.client.query(text, [tenant, id, passwordHash])
      const action = seen.staff_id ? 'staff.password_changed' : 'person.changed'
      await audit(tx, tenant, by, action, seen.staff_id ? owner.name : [owner.name, 'password'])
      await revokeLogins(tx, tenant, column, [id], by)
    }
    if (!seen.is_recovery) return { token: null }
    const holder = { staff_name: owner.name, staff_id: id }
    return startSession(tx, tenant, logins.tokenSeconds.staff, holder, { ...by, kind: 'staff' })
  })
}

/** Serves people who are not yet signed in, by links and codes. */
export const entryRoutes: FastifyPluginAsyncTypebox<EntryOptions> = async (app, options) => {
  const { pool, logins, keyring, listProviders } = options
  acceptJson(app)
  for (const side of sides) {
    const common = { tags: [side.tag], headers: tenantHeader }
    const methods = {
      ...common,
      operationId: `listSignInMethods${side.suffix}`,
      summary: 'List how people sign in',
      response: { 200: Type.Object({ data: Methods }), ...openErrors },
    }
    app.get(`${side.prefix}/sign-in/methods`, { schema: methods }, async request => {
      const tenant = readTenant(request)
      const isKnown = isTenantId.test(tenant)
      const rules = isKnown ? await inTenant(pool, tenant, (tx: Tx) => readRules(tx, tenant)) : undefined
      const providers = isKnown ? listProviders(tenant, side) : []
      return { data: { password: rules?.allowsPassword[side.kind] ?? true, providers } }
    })
    const schema = {
      ...common,
      operationId: `setPassword${side.suffix}`,
      summary: 'Set a password by a link',
      description: 'The link works once. Sessions of the person end.',
      body: PasswordByLink,
      response: { 200: LinkUsed, ...openErrors },
    }
    app.post(`${side.prefix}/sign-in/password`, { ...refusesKeys, schema }, async request => {
      const tenant = readTenant(request)
      const used = isTenantId.test(tenant)
        ? await useLink(options, side, { tenant, requestId: request.id, ...request.body })
        : undefined
      if (!used) throw refusal(request, invalid({ code: [useless] }, { message: useless }))
      request.log.info({ tenant }, 'invitation.used')
      return { message: 'success' as const, token: used.token }
    })
  }
  const settingUp = {
    tags: ['staff'],
    headers: tenantHeader,
    operationId: 'setUpSecondFactor',
    summary: 'Set up a second factor',
    description: 'Shows the secret and ten recovery codes once; the first login with a code confirms them.',
    body: Type.Object(loginFields, {
      title: 'SecondFactorLogin',
      examples: [{ email: 'admin@courier.example', password: 'a-long-password' }],
    }),
    response: { 200: Type.Object({ data: SecondFactor }), ...openErrors },
  }
  app.post('/api/staff/sign-in/second-factor', { ...refusesKeys, schema: settingUp }, async request => {
    const tenant = readTenant(request)
    const login = { tenant: isTenantId.test(tenant) ? tenant : '-', network: readAddress(request), ...request.body }
    // The password alone decides here: it is throttled with all others.
    const alone = { ...logins, checkLogin: async () => undefined }
    const row: StaffRow = await checkPassword(alone, staffAccounts, login)
    return { data: await inTenant(pool, tenant, (tx: Tx) => setUpFactor(tx, keyring, tenant, row, request.id)) }
  })
}

export interface ProviderName {
  readonly id: string
  readonly name: string
}
const Methods = component('SignInMethods', {
  password: Type.Boolean({ description: 'False: only the providers.' }),
  providers: Type.Array(Type.Object({ id: Type.String(), name: Type.String() }), {
    examples: [[{ id: 'google', name: 'Google' }]],
  }),
})
const SecondFactor = component('SecondFactor', {
  secret: Type.String({ description: 'To type into an app that cannot scan.' }),
  url: Type.String({ description: 'The otpauth URL.' }),
  qr: Type.Array(Type.String(), { description: 'The rows of the QR code; 1 is dark.', examples: [['101']] }),
  recovery_codes: Type.Array(Type.String(), { description: 'Each signs in once in place of a code.' }),
})
