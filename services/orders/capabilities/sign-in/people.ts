import type { Staff } from '@courier/shared/access/staff.ts'
import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import { invalid, notFound } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { lockTenant } from '@courier/shared/postgres/database.ts'
import { matchNoPassword } from '../../core/access/passwords.ts'
import { readRoles, type StaffRow } from '../../core/access/queries.ts'
import { insertStaff } from '../../core/access/staff-commands.ts'
import { revokeLogins } from '../../core/access/tokens.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { endInvitations } from './invitations.ts'
import { sides } from './sides.ts'

export interface PersonView {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly roles: StaffRole[]
  readonly is_active: boolean
  readonly last_in_at: string | null
  readonly invited_until: string | null
  readonly has_second_factor: boolean
  readonly has_provider: boolean
}

/** Lists the members of staff, or the one with that id. */
export const listStaff = (tx: Tx, tenant: string, id: string | null = null): Promise<PersonView[]> =>
  tx.rows<PersonView>(staffSql, [tenant, id])

const staffSql = `
  select staff.staff_id::text as id, name, email, coalesce(roles, array[role]) as roles, is_active,
    ${isoTime('seen_at')} as last_in_at, ${isoTime('invited_until')} as invited_until,
    factor.confirmed_at is not null as has_second_factor, subject.staff_id is not null as has_provider
  from staff
    left join (select staff_id, max(coalesce(last_used_at, created_at)) as seen_at from tokens
      where tenant_id = $1 and from_login group by staff_id) seen on seen.staff_id = staff.staff_id
    left join (select staff_id, max(expires_at) as invited_until from invitations
      where tenant_id = $1 and used_at is null and expires_at > now() group by staff_id) invited
      on invited.staff_id = staff.staff_id
    left join second_factors factor
      on factor.tenant_id = $1 and factor.kind = 'staff' and factor.holder_id = staff.staff_id
    left join (select distinct staff_id from provider_subjects where tenant_id = $1) subject
      on subject.staff_id = staff.staff_id
  where staff.tenant_id = $1 and ($2::bigint is null or staff.staff_id = $2::bigint) order by name limit 1000`

/** Finds one member of staff, to change them. Throws a 404. */
export const findStaff = async (tx: Tx, tenant: string, id: string): Promise<StaffRow> => {
  const text = 'select * from staff where tenant_id = $1 and staff_id = $2::bigint for update'
  const [found] = await tx.rows<StaffRow>(text, [tenant, id])
  if (!found) throw notFound('member of staff')
  return found
}

interface NewMember {
  readonly name: string
  readonly email: string
  readonly roles: readonly StaffRole[]
}

/** Adds a member of staff without a password. Throws a validation error if somebody has the address or the name. */
export const addMember = async (tx: Tx, { tenant, actor }: Staff, given: NewMember): Promise<StaffRow> => {
  const [email, name] = [given.email.trim().toLowerCase(), given.name.trim()]
  const known = await tx.rows('select from staff where tenant_id = $1 and email = $2', [tenant, email])
  const taken = 'Somebody has this address already. Reactivate or invite them.'
  if (known.length > 0) throw invalid({ email: [taken] })
  const member = { email, name, roles: given.roles, password_hash: matchNoPassword() }
  const added = await insertStaff(tx, tenant, member, actor)
  if ('sentence' in added)
    throw invalid({ [added.field]: [added.field === 'email' ? taken : 'Another member of staff has this name.'] })
  return added
}

interface Change {
  readonly roles?: readonly StaffRole[]
  readonly is_active?: boolean
}

/** Changes roles, deactivates or reactivates; a deactivation ends sessions and invitations. */
export const changeMember = async (tx: Tx, { tenant, actor }: Staff, id: string, change: Change): Promise<void> => {
  // Two admins who deactivate each other at once would leave none.
  await lockTenant(tx, tenant)
  const before = await findStaff(tx, tenant, id)
  await keepAnAdmin(tx, tenant, before, change)
  const { roles = null, is_active = null } = change
  await tx.client.query(changeSql, [tenant, id, roles, roles?.[0], is_active])
  if (roles) await audit(tx, tenant, actor, 'staff.role_changed', [before.name, ...roles])
  if (is_active === true && !before.is_active) await audit(tx, tenant, actor, 'staff.reactivated', before.name)
  if (is_active !== false || !before.is_active) return
  await audit(tx, tenant, actor, 'staff.deactivated', before.name)
  await revokeLogins(tx, tenant, 'staff_id', [id], actor)
  await endInvitations(tx, tenant, sides.staff, id)
}

const changeSql = `
  update staff set roles = coalesce($3::text[], roles), role = coalesce($4, role), is_active = coalesce($5, is_active)
  where tenant_id = $1 and staff_id = $2::bigint`

const keepAnAdmin = async (tx: Tx, tenant: string, before: StaffRow, { roles, is_active }: Change): Promise<void> => {
  const stays = is_active !== false && (roles ?? ['admin']).includes('admin')
  if (stays || !before.is_active || !readRoles(before).includes('admin')) return
  const others = await tx.rows(adminsSql, [tenant, before.staff_id])
  const field = is_active === false ? 'is_active' : 'roles'
  if (others.length === 0) throw invalid({ [field]: [`${before.name} is the only active admin.`] })
}

const adminsSql = `
  select from staff where tenant_id = $1 and staff_id <> $2::bigint and is_active
    and 'admin' = any(coalesce(roles, array[role])) limit 1`
