import { isTenantId, readTenant } from '@courier/shared/access/authenticate.ts'
import { readAddress, refusal } from '@courier/shared/edge/addresses.ts'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { closed, component, orNull } from '@courier/shared/schemas.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type pg from 'pg'
import { checkPassword, type Logins, startSession } from '../../core/access/login.ts'
import { loginFields } from '../../core/access/login-routes.ts'
import { hashPassword } from '../../core/access/passwords.ts'
import { merchantAccounts } from '../../core/access/routes.ts'
import { staffAccounts } from '../../core/access/staff-routes.ts'
import { revokeLogins } from '../../core/access/tokens.ts'
import type { Tx } from '../../core/database/tables.ts'
import { readRules } from './company.ts'
import { findInvitation } from './invitations.ts'
import { setUpFactor } from './second-factor.ts'
import { findPerson, type Person, type Side, sides, toActor, toHolder } from './sides.ts'

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
const FactorLogin = Type.Object(loginFields, {
  title: 'SecondFactorLogin',
  examples: [{ email: 'admin@courier.example', password: 'a-long-password' }],
})
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

/** Sets the password of a link, once. Returns the token that a recovery link gives; undefined: the link is no use. */
const useLink = async (
  { pool, logins }: EntryOptions,
  side: Side,
  { tenant, code, password, requestId }: { tenant: string; code: string; password?: string; requestId: string },
): Promise<{ token: string | null } | undefined> => {
  const [seen, rules] = await inTenant(pool, tenant, (tx: Tx) =>
    Promise.all([findInvitation(tx, tenant, code, false), readRules(tx, tenant)]),
  )
  const id = seen?.[side.column]
  if (!seen || !id) return undefined
  const isAllowed = rules[side.for].password
  if (!isAllowed && !seen.is_recovery) throw invalid({ password: ['Your company signs in with its provider.'] })
  if (password === undefined && !seen.is_recovery) throw invalid({ password: ['The password field is required.'] })
  const passwordHash = password === undefined || !isAllowed ? undefined : await hashPassword(password)
  return inTenant(pool, tenant, async (tx: Tx) => {
    const person = await findPerson(tx, tenant, side, id, 'for update')
    if (!person || !(await findInvitation(tx, tenant, code, true))) return undefined
    const by = toActor(person, requestId)
    if (passwordHash !== undefined) await setPassword(tx, tenant, side, person, passwordHash, by)
    if (!seen.is_recovery) return { token: null }
    return startSession(tx, tenant, logins.tokenSeconds[side.kind], toHolder(person), by)
  })
}

const setPassword = async (tx: Tx, tenant: string, side: Side, { id, name }: Person, hash: string, by: Actor) => {
  const { table, column, kind } = side
  const text = `update ${table} set password_hash = $3 where tenant_id = $1 and ${column} = $2::bigint`
  await tx.client.query(text, [tenant, id, hash])
  if (kind === 'staff') await audit(tx, tenant, by, 'staff.password_changed', name)
  else await audit(tx, tenant, by, 'person.changed', [name, 'password'])
  await revokeLogins(tx, tenant, column, [id], by)
}

/** Serves people who are not yet signed in, by links and codes. */
export const entryRoutes: FastifyPluginAsyncTypebox<EntryOptions> = async (app, options) => {
  const { pool, logins, keyring, listProviders } = options
  acceptJson(app)
  for (const side of Object.values(sides)) {
    const common = { tags: [side.kind], headers: tenantHeader }
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
      return { data: { password: rules?.[side.for].password ?? true, providers } }
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
    const settingUp = {
      ...common,
      operationId: `setUpSecondFactor${side.suffix}`,
      summary: 'Set up a second factor',
      description: 'Shows the secret and ten recovery codes once; the first login with a code confirms them.',
      body: FactorLogin,
      response: { 200: Type.Object({ data: SecondFactor }), ...openErrors },
    }
    app.post(`${side.prefix}/sign-in/second-factor`, { ...refusesKeys, schema: settingUp }, async request => {
      const tenant = readTenant(request)
      const login = { tenant: isTenantId.test(tenant) ? tenant : '-', network: readAddress(request), ...request.body }
      const id = await findByPassword(logins, side, login)
      return { data: await inTenant(pool, tenant, (tx: Tx) => setUpFactor(tx, keyring, tenant, side, id, request.id)) }
    })
  }
}

/** Returns the id of the person with that password, throttled with all logins; undefined: a merchant's account. */
const findByPassword = async (logins: Logins, { kind }: Side, login: Parameters<typeof checkPassword>[2]) => {
  // The password alone decides here.
  const alone = { ...logins, checkLogin: async () => undefined }
  if (kind === 'staff') return (await checkPassword(alone, staffAccounts, login)).staff_id
  return (await checkPassword(alone, merchantAccounts, login)).person?.id
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
