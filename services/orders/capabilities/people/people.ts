import { invalid } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { lockTenant, query } from '@courier/shared/postgres/database.ts'
import { type Selectable, sql } from 'kysely'
import type { Merchant } from '../../core/access/merchant.ts'
import { findMerchantLogin, type PersonRole } from '../../core/access/queries.ts'
import { type OnDeactivated, revokeAgents, revokeLogins } from '../../core/access/tokens.ts'
import type { Tables, Tx } from '../../core/database/tables.ts'

/** Limits the people that a merchant may have, including deactivated ones. */
const maxPeople = 100
const columns = sql.raw('person_id, email, name, role, is_active, created_at')
export type PersonRow = Omit<Selectable<Tables['merchant_people']>, 'tenant_id' | 'merchant_id' | 'password_hash'>

/** Lists the people of a merchant, the oldest first, without its account. */
export const listPeople = (tx: Tx, { tenant, merchantId }: Merchant): Promise<PersonRow[]> =>
  query<PersonRow>(tx)`
    select ${columns} from merchant_people where tenant_id = ${tenant} and merchant_id = ${merchantId}
      order by person_id`

type NewPerson = Pick<PersonRow, 'email' | 'name' | 'role'> & { readonly passwordHash: string }

/**
 * Adds a person, whose e-mail address is in lower case. Throws a validation error if a merchant or an active person of
 * the tenant has the address, or if the merchant already has `maxPeople` people.
 */
export const addPerson = async (tx: Tx, merchant: Merchant, person: NewPerson): Promise<PersonRow> => {
  const { tenant, merchantId, actor } = merchant
  const { email, name, role, passwordHash } = person
  await lockTenant(tx, tenant)
  await refuseTaken(tx, tenant, email)
  const people = await listPeople(tx, merchant)
  if (people.length >= maxPeople)
    throw invalid({ email: [`There are already ${maxPeople} people: activate one who was deactivated.`] })
  const [added] = await query<PersonRow>(tx)`
    insert into merchant_people (tenant_id, merchant_id, email, name, role, password_hash)
    values (${tenant}, ${merchantId}, ${email}, ${name}, ${role}, ${passwordHash}) returning ${columns}`
  await audit(tx, tenant, actor, 'person.added', [name, role])
  return added as PersonRow
}

const taken =
  'The email has already been taken: each person logs in with an address of their own. Use another one, or deactivate the person who has it.'

/** Throws if a merchant or an active person has the address. The caller locks the tenant: nobody takes it meanwhile. */
const refuseTaken = async (tx: Tx, tenant: string, email: string): Promise<void> => {
  if (await findMerchantLogin(tx, tenant, email, false)) throw invalid({ email: [taken] })
}

type PersonChange = { role?: PersonRole; is_active?: boolean; password_hash?: string }

/**
 * Changes a person; a new password or a deactivation ends the sessions, and agents end with an owner's role or account.
 * undefined: the merchant has no such person.
 */
export const changePerson = async (
  tx: Tx,
  merchant: Merchant,
  id: string,
  change: PersonChange,
  onDeactivated: OnDeactivated,
) => {
  const { tenant, actor } = merchant
  // Nobody may deactivate the person, and give the address to another, between the read and the update.
  if (change.is_active) await lockTenant(tx, tenant)
  const before = (await listPeople(tx, merchant)).find(row => row.person_id === id)
  if (!before) return undefined
  if (change.is_active && !before.is_active) await refuseTaken(tx, tenant, before.email)
  const { role, is_active, password_hash } = change
  const [changed] = (await query<PersonRow>(tx)`
    update merchant_people set role = coalesce(${role}, role), is_active = coalesce(${is_active}, is_active),
      password_hash = coalesce(${password_hash}, password_hash)
    where tenant_id = ${tenant} and person_id = ${id} returning ${columns}`) as [PersonRow]
  await audit(tx, tenant, actor, 'person.changed', [
    before.name,
    ...Object.keys(change).map(field => nameChange(field, changed)),
  ])
  if (!changed.is_active || password_hash !== undefined) await revokeLogins(tx, tenant, 'person_id', [id], actor)
  if (!changed.is_active || role === 'clerk') await revokeAgents(tx, tenant, id, actor)
  if (!changed.is_active) await onDeactivated(tx, tenant, 'person_id', id)
  return changed
}

const nameChange = (field: string, { role, is_active }: PersonRow): string => {
  if (field === 'role') return role
  return field === 'is_active' ? (is_active ? 'active' : 'deactivated') : 'password'
}
