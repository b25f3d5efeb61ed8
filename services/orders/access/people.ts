import { invalid } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { lockTenant } from '@courier/shared/postgres/database.ts'
import { type Selectable, sql } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'
import type { Merchant } from './merchant.ts'
import type { PersonRole } from './queries.ts'
import { revokeLogins } from './tokens.ts'

/** The people that a merchant may have, deactivated ones too. */
const maxPeople = 100
const columns = ['person_id', 'email', 'name', 'role', 'is_active', 'created_at'] as const
export type PersonRow = Selectable<Pick<Tables['merchant_people'], (typeof columns)[number]>>

/** Lists the people of a merchant, the oldest first, without its account. */
export const listPeople = (tx: Tx, { tenant, merchantId }: Merchant): Promise<PersonRow[]> =>
  tx
    .selectFrom('merchant_people')
    .select(columns)
    .where('tenant_id', '=', tenant)
    .where('merchant_id', '=', merchantId)
    .orderBy('person_id')
    .execute()

interface NewPerson {
  /** In lower case. */
  readonly email: string
  readonly name: string
  readonly role: PersonRole
  readonly passwordHash: string
}

/** Adds a person. Throws a validation failure for an e-mail address that somebody of the tenant has. */
export const addPerson = async (tx: Tx, merchant: Merchant, person: NewPerson): Promise<PersonRow> => {
  const { tenant, merchantId, actor } = merchant
  const { email, name, role, passwordHash: password_hash } = person
  await refuseTaken(tx, tenant, email)
  const people = await listPeople(tx, merchant)
  if (people.length >= maxPeople)
    throw invalid({ email: [`There are already ${maxPeople} people: activate one who was deactivated.`] })
  const added = await tx
    .insertInto('merchant_people')
    .values({ tenant_id: tenant, merchant_id: merchantId, email, name, role, password_hash })
    .returning(columns)
    .executeTakeFirstOrThrow()
  await audit(tx, tenant, actor, 'person.added', [name, role])
  return added
}

const taken =
  'The email has already been taken: each person logs in with an address of their own. Use another one, or deactivate who has it.'

/** The lock keeps company files and other people from taking the address meanwhile. */
const refuseTaken = async (tx: Tx, tenant: string, email: string): Promise<void> => {
  await lockTenant(tx, tenant)
  const { rows } = await sql`
    select from merchants where tenant_id = ${tenant} and email = ${email} union all
    select from merchant_people where tenant_id = ${tenant} and email = ${email} and is_active`.execute(tx)
  if (rows.length > 0) throw invalid({ email: [taken] })
}

export interface PersonChange {
  readonly role?: PersonRole | undefined
  readonly is_active?: boolean | undefined
  readonly password_hash?: string | undefined
}

/** Changes a person; a new password and a deactivation end the sessions. undefined: the merchant has no such person. */
export const changePerson = async (tx: Tx, merchant: Merchant, id: string, change: PersonChange) => {
  const { tenant, actor } = merchant
  const before = (await listPeople(tx, merchant)).find(row => row.person_id === id)
  if (!before) return undefined
  if (change.is_active && !before.is_active) await refuseTaken(tx, tenant, before.email)
  const changed = await tx
    .updateTable('merchant_people')
    .set(change)
    .where('tenant_id', '=', tenant)
    .where('person_id', '=', id)
    .returning(columns)
    .executeTakeFirstOrThrow()
  await audit(tx, tenant, actor, 'person.changed', [
    before.name,
    ...Object.keys(change).map(field => nameChange(field, changed)),
  ])
  if (changed.is_active && change.password_hash === undefined) return changed
  const ended = await revokeLogins(tx, tenant, 'person_id', [id])
  await audit(
    tx,
    tenant,
    actor,
    'token.revoked',
    ended.map(({ token_id }) => token_id),
  )
  return changed
}

const nameChange = (field: string, { role, is_active }: PersonRow): string => {
  if (field === 'role') return role
  return field === 'is_active' ? (is_active ? 'active' : 'deactivated') : 'password'
}
