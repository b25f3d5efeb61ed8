import { refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { Limit, limitRequests } from '@courier/shared/edge/limits.ts'
import { refuseUnknownFields } from '@courier/shared/edge/validator.ts'
import { notFound } from '@courier/shared/errors/errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { component, oneOf, orNull, Time } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { loginFields } from '../../core/access/login-routes.ts'
import { type Merchant, merchantIn, refuseRoles } from '../../core/access/merchant.ts'
import { hashPassword, matchNoPassword } from '../../core/access/passwords.ts'
import { OneLineName } from '../../core/access/program-token-routes.ts'
import { personRoles, selectMerchants } from '../../core/access/queries.ts'
import type { OnDeactivated } from '../../core/access/tokens.ts'
import type { Tx } from '../../core/database/tables.ts'
import { addPerson, changePerson, listPeople, type PersonRow } from './people.ts'

/** Each new password is hashed, which takes 19 MiB and a thread. */
const requestsPerMinute = 30

const Role = oneOf(personRoles, {
  must: `be ${personRoles.join(' or ')}`,
  description: 'A clerk manages no people, tokens, webhooks or invoices.',
})
const Password = Type.String({
  minLength: 8,
  maxLength: 255,
  must: 'be 8 to 255 characters long',
  examples: ['a-long-password'],
})
const Person = component('Person', {
  id: orNull(Type.Integer(), {
    description: "null: the merchant's account, which the company set up.",
  }),
  name: Type.String(),
  email: Type.String(),
  role: Role,
  is_active: Type.Boolean(),
  created_at: orNull(Time()),
})
const NewPerson = Type.Object(
  { name: OneLineName, email: loginFields.email, role: Role, password: Type.Optional(Password) },
  { title: 'NewPerson', additionalProperties: false },
)
const PersonChange = Type.Object(
  { role: Type.Optional(Role), is_active: Type.Optional(Type.Boolean()), password: Type.Optional(Password) },
  { title: 'PersonChange', additionalProperties: false, minProperties: 1, examples: [{ is_active: false }] },
)

const added = 'Person Added Successfully'
const changed = 'Person Updated Successfully'

/** Serves the people of a merchant (docs/merchants/merchant-calls.md#people). */
interface PersonOptions {
  readonly pool: pg.Pool
  readonly onDeactivated: OnDeactivated
}

export const personRoutes: FastifyPluginAsyncTypebox<PersonOptions> = async (app, { pool, onDeactivated }) => {
  refuseRoles(app, 'clerk', 'program')
  acceptJson(app)
  refuseUnknownFields(app)
  app.addHook('onRequest', limitRequests(new Limit('people', requestsPerMinute), merchantIn))
  const listPeopleSchema = {
    operationId: 'listPeople',
    summary: 'List the people who log in for the merchant',
    description: "Lists the merchant's account first, then the people, the oldest first.",
    response: { 200: Type.Object({ data: Type.Array(Person) }) },
  }
  app.get('/person', { schema: listPeopleSchema }, async ({ merchant }) => ({
    data: await inTenant(pool, merchant.tenant, (tx: Tx) => readPeople(tx, merchant)),
  }))

  const addPersonSchema = {
    operationId: 'addPerson',
    summary: 'Add a person',
    description:
      'The person logs in with the e-mail address and the password, which you hand over. Without one, invite the person.',
    body: NewPerson,
    response: { 201: Type.Object({ message: Type.String({ examples: [added] }), data: Person }) },
  }
  app.post('/person', { ...refusesKeys, schema: addPersonSchema }, async ({ merchant, body, log }, reply) => {
    const { role, password } = body
    const [name, email] = [body.name.trim(), body.email.trim().toLowerCase()]
    const person = {
      name,
      email,
      role,
      passwordHash: password === undefined ? matchNoPassword() : await hashPassword(password),
    }
    const row = await inTenant(pool, merchant.tenant, (tx: Tx) => addPerson(tx, merchant, person))
    log.info({ person_id: row.person_id }, 'person.added')
    reply.code(201)
    return { message: added, data: toView(row) }
  })

  const changePersonSchema = {
    operationId: 'changePerson',
    summary: "Change a person's role or password, or deactivate or activate the person",
    description: "A new password or a deactivation ends the person's sessions within five seconds.",
    params: Type.Object({ id: Type.String({ maxLength: 18, pattern: '^[0-9]+$', must: 'be an id' }) }),
    body: PersonChange,
    response: { 200: Type.Object({ message: Type.String({ examples: [changed] }), data: Person }) },
  }
  app.patch('/person/:id', { schema: changePersonSchema }, async ({ merchant, params: { id }, body, log }) => {
    const { password, ...change } = body
    const all = { ...change, ...(password !== undefined && { password_hash: await hashPassword(password) }) }
    const row = await inTenant(pool, merchant.tenant, (tx: Tx) => changePerson(tx, merchant, id, all, onDeactivated))
    if (!row) throw notFound('person')
    log.info({ person_id: id }, 'person.changed')
    return { message: changed, data: toView(row) }
  })
}

const readPeople = async (tx: Tx, merchant: Merchant): Promise<Static<typeof Person>[]> => {
  const { tenant, merchantId } = merchant
  const { name, email, is_active } = await selectMerchants(tx, tenant)
    .where('merchant_id', '=', merchantId)
    .executeTakeFirstOrThrow()
  const account = { id: null, name, email, role: 'owner' as const, is_active, created_at: null }
  return [account, ...(await listPeople(tx, merchant)).map(toView)]
}

const toView = ({ person_id, ...person }: PersonRow): Static<typeof Person> => ({ id: Number(person_id), ...person })
