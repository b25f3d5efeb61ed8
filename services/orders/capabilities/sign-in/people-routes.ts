import { staffRoles } from '@courier/shared/contract/staff-roles.ts'
import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { errorResponses, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { closed, component, oneOf, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TObject, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import type pg from 'pg'
import { loginFields } from '../../core/access/login-routes.ts'
import { type Merchant, refuseRoles } from '../../core/access/merchant.ts'
import { OneLineName } from '../../core/access/program-token-routes.ts'
import { readRoles, type StaffRow } from '../../core/access/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findPage, type Mailer, makeInvitation, type Pages } from './invitations.ts'
import { addMember, changeMember, findStaff, listStaff } from './people.ts'
import { resetSignIn } from './second-factor.ts'
import { findPerson, type Person, type Side, sides } from './sides.ts'

export type PeopleOptions = Pages & { readonly pool: pg.Pool; readonly mailer: Mailer }

const Roles = Type.Array(oneOf(staffRoles), { minItems: 1, maxItems: staffRoles.length, uniqueItems: true })
const StaffPerson = component('StaffPerson', {
  id: Type.String({ examples: ['7'] }),
  name: Type.String({ examples: ['Nimali Silva'] }),
  email: Type.String({ examples: ['nimali@courier.example'] }),
  roles: Roles,
  is_active: Type.Boolean(),
  last_in_at: orNull(Type.String(), { description: 'null: not within the last week, or never.' }),
  invited_until: orNull(Type.String(), { description: 'Until when a link that nobody used works.' }),
  has_second_factor: Type.Boolean(),
  has_provider: Type.Boolean({ description: "True: they signed in with the company's provider before." }),
})
export const InvitationLink = component('InvitationLink', {
  url: orNull(Type.String(), {
    description: 'Shown only this once; null: it was mailed.',
    examples: ['https://portal.courier.example/portal/#/password/demo/abc'],
  }),
  expires_at: Type.String(),
})
export const StaffParams = Type.Object({ staff_id: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) })
const NewStaffPerson = closed(
  { name: OneLineName, email: loginFields.email, roles: Roles },
  {
    title: 'NewStaffPerson',
    examples: [{ name: 'Nimali Silva', email: 'nimali@courier.example', roles: ['dispatcher'] }],
  },
)
const StaffPersonChange = closed(
  { roles: Type.Optional(Roles), is_active: Type.Optional(Type.Boolean()) },
  { title: 'StaffPersonChange', minProperties: 1, examples: [{ roles: ['dispatcher', 'messenger'] }] },
)
/** Lets an admin have the link shown where it would be mailed. */
export const InvitationBody = closed(
  { show: Type.Optional(Type.Boolean({ description: 'True shows the link instead of mailing it.' })) },
  { title: 'InvitationRequest', examples: [{ show: true }] },
)
const describeReset = <Params extends TObject>(operationId: string, params: Params) => ({
  operationId,
  summary: "Forget a person's second factor and their account at the provider",
  description: 'They set both up again at the next sign-in. Their sessions end.',
  params,
  response: { 200: Type.Object({ message: Type.Literal('success') }), ...errorResponses(404, 422) },
})

interface Inviting {
  readonly tenant: string
  readonly by: Actor
  readonly side: Side
  readonly person: Pick<Person, 'id' | 'name' | 'email'>
  readonly face?: 'rider' | Side['face']
}

/** Makes an invitation; `send` mails its link, unless `data` shows it. */
const invite = async (
  tx: Tx,
  { mailer, ...core }: PeopleOptions,
  request: FastifyRequest,
  { tenant, by, side, person, face = side.face }: Inviting,
  isShown = false,
) => {
  await audit(tx, tenant, by, side.kind === 'staff' ? 'staff.invited' : 'person.invited', person.name)
  const { code, expires_at } = await makeInvitation(tx, tenant, side, person.id, by)
  const url = `${findPage(core, request.publicUrl, face)}#/password/${tenant}/${code}`
  if (!mailer || isShown) return { data: { url, expires_at }, send: () => {} }
  const [company] = await tx.rows<{ name: string }>('select name from tenants where tenant_id = $1', [tenant])
  const send = () => mailer.mail({ to: person.email, company: company?.name ?? tenant, url }, request.log)
  return { data: { url: null, expires_at }, send }
}

/** Lets admins keep the members of staff (docs/operators/sign-in.md#people). */
export const staffPeopleRoutes: FastifyPluginAsyncTypebox<PeopleOptions> = async (app, options) => {
  const { pool } = options
  acceptJson(app)
  const inviteStaff = async (tx: Tx, request: FastifyRequest, row: StaffRow, isShown = false) => {
    const { tenant, actor: by } = request.staff
    if (!row.is_active) throw invalid({ staff_id: [`${row.name} is deactivated: reactivate them first.`] })
    const face = readRoles(row).every(role => role === 'rider') ? 'rider' : 'console'
    const person = { ...row, id: row.staff_id }
    return invite(tx, options, request, { tenant, by, side: sides.staff, person, face }, isShown)
  }
  const listing = {
    operationId: 'listStaffPeople',
    summary: 'List the members of staff',
    response: { 200: Type.Object({ data: Type.Array(StaffPerson) }) },
  }
  app.get('/people', { schema: listing }, async ({ staff: { tenant } }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => listStaff(tx, tenant)),
  }))
  const adding = {
    operationId: 'addStaffPerson',
    summary: 'Add a member of staff, and invite them',
    description: 'The link works once, within 72 hours: the person sets a password with it.',
    body: NewStaffPerson,
    response: { 201: Type.Object({ data: StaffPerson, invitation: InvitationLink }), ...errorResponses(422) },
  }
  app.post('/people', { ...refusesKeys, schema: adding }, async (request, reply) => {
    const { tenant } = request.staff
    const { data, invitation } = await inTenant(pool, tenant, async (tx: Tx) => {
      const row = await addMember(tx, request.staff, request.body)
      const invitation = await inviteStaff(tx, request, row)
      const [data] = await listStaff(tx, tenant, row.staff_id)
      if (!data) throw notFound('member of staff')
      return { data, invitation }
    })
    invitation.send()
    reply.code(201)
    return { data, invitation: invitation.data }
  })
  const changing = {
    operationId: 'changeStaffPerson',
    summary: 'Change the roles of a member of staff, deactivate or reactivate them',
    description: 'Applies within five seconds. The only active admin stays one.',
    params: StaffParams,
    body: StaffPersonChange,
    response: { 200: Type.Object({ data: StaffPerson }), ...errorResponses(404, 422) },
  }
  app.patch('/people/:staff_id', { schema: changing }, async ({ staff, params: { staff_id }, body }) => {
    const data = await inTenant(pool, staff.tenant, async (tx: Tx) => {
      await changeMember(tx, staff, staff_id, body)
      return (await listStaff(tx, staff.tenant, staff_id))[0]
    })
    if (!data) throw notFound('member of staff')
    return { data }
  })
  const inviting = {
    operationId: 'inviteStaffPerson',
    summary: 'Make a link that sets a new password',
    description: 'Serves an invitation and a forgotten password. Earlier links of the person end; sessions stay.',
    params: StaffParams,
    body: InvitationBody,
    response: { 200: Type.Object({ data: InvitationLink }), ...errorResponses(404, 422) },
  }
  app.post('/people/:staff_id/invite', { ...refusesKeys, schema: inviting }, async request => {
    const { staff, params, body } = request
    const { data, send } = await inTenant(pool, staff.tenant, async (tx: Tx) =>
      inviteStaff(tx, request, await findStaff(tx, staff.tenant, params.staff_id), body.show),
    )
    send()
    return { data }
  })
  const resetting = describeReset('resetStaffSignIn', StaffParams)
  app.post('/people/:staff_id/reset', { ...refusesKeys, schema: resetting }, async ({ staff, params }) => {
    await inTenant(pool, staff.tenant, async (tx: Tx) => {
      const { staff_id: id, name } = await findStaff(tx, staff.tenant, params.staff_id)
      await resetSignIn(tx, staff.tenant, sides.staff, { id, name }, staff.actor)
    })
    return { message: 'success' as const }
  })
}

const findOwn = async (tx: Tx, { tenant, merchantId }: Merchant, id: string): Promise<Person> => {
  const person = await findPerson(tx, tenant, sides.merchants, id, 'for update')
  if (person?.merchant_id !== merchantId) throw notFound('person')
  return person
}

/** Lets owners invite the people of a merchant, and reset how they sign in. */
export const merchantPeopleRoutes: FastifyPluginAsyncTypebox<PeopleOptions> = async (app, options) => {
  refuseRoles(app, 'clerk', 'program')
  acceptJson(app)
  const params = Type.Object({ id: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) })
  const inviting = {
    operationId: 'invitePerson',
    summary: 'Make a link by which a person sets a new password',
    description: 'It works once, within 72 hours. Earlier links of the person end.',
    params,
    body: InvitationBody,
    response: { 200: Type.Object({ data: InvitationLink }), ...errorResponses(404, 422) },
  }
  app.post('/person/:id/invite', { ...refusesKeys, schema: inviting }, async request => {
    const { merchant, params, body } = request
    const { tenant, actor: by } = merchant
    const { data, send } = await inTenant(options.pool, tenant, async (tx: Tx) => {
      const person = await findOwn(tx, merchant, params.id)
      return invite(tx, options, request, { tenant, by, side: sides.merchants, person }, body.show)
    })
    send()
    return { data }
  })
  const resetting = describeReset('resetPersonSignIn', params)
  app.post('/person/:id/reset', { ...refusesKeys, schema: resetting }, async ({ merchant, params }) => {
    const { tenant, actor } = merchant
    await inTenant(options.pool, tenant, async (tx: Tx) =>
      resetSignIn(tx, tenant, sides.merchants, await findOwn(tx, merchant, params.id), actor),
    )
    return { message: 'success' as const }
  })
}
