import { UsageError } from '@courier/shared/cli/command-line.ts'
import * as commands from '@courier/shared/cli/token-commands.ts'
import { type StaffRole, staffRoles } from '@courier/shared/contract/staff-roles.ts'
import { isBadText } from '@courier/shared/errors/field-errors.ts'
import { type Action, type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { hashPassword } from './passwords.ts'
import { readRoles, type StaffRow } from './queries.ts'
import { type OnDeactivated, revokeLogins } from './tokens.ts'

export interface StaffRequest {
  tenant: string
  email: string
}

export interface NewStaff extends StaffRequest {
  name: string
  role: string
}

const maxNameLength = 100

/** Reads one role, or several separated by commas. */
const readRoleColumns = (text: string): { role: StaffRole; roles: StaffRole[] } => {
  const roles = [...new Set(text.split(',').map(name => findRole(name.trim())))]
  return { role: roles[0] as StaffRole, roles }
}

const findRole = (text: string): StaffRole => {
  const role = staffRoles.find(each => each === text)
  if (!role) throw new UsageError(`--role must be one or more of ${staffRoles.join(', ')}, not ${text || 'nothing'}`)
  return role
}

const refusePassword = (password: string): void => {
  if (password.length < 8 || password.length > 255)
    throw new UsageError('the password must be 8 to 255 characters long')
}

const readEmail = (text: string): string => {
  const email = text.trim().toLowerCase()
  const [name, domain, ...rest] = email.split('@')
  if (!name || !domain || rest.length > 0 || email.length > 255 || /\s/.test(email) || isBadText(email))
    throw new UsageError(`--email must be an e-mail address, not ${text}`)
  return email
}

/** Returns the name of a member of staff, trimmed. Throws UsageError. */
export const readName = (text: string, option = '--name'): string => {
  const name = text.trim()
  if (!name || name.length > maxNameLength || isBadText(name) || /\p{Cc}/u.test(name))
    throw new UsageError(`${option} must be 1 to ${maxNameLength} characters on one line`)
  return name
}

/**
 * Creates a member of staff, or reactivates a deactivated one. Throws UsageError for an invalid field, an unknown
 * tenant, an active account, or the name of another member of staff: orders' timelines and the audit show the name.
 */
export const addStaff = async (pool: pg.Pool, request: NewStaff, password: string) => {
  const { tenant } = request
  const [email, name, held] = [readEmail(request.email), readName(request.name), readRoleColumns(request.role)]
  refusePassword(password)
  await commands.requireTenant(pool, tenant)
  const password_hash = await hashPassword(password)
  return inTenant(pool, tenant, async (tx: Tx) => {
    const added = await insertStaff(tx, tenant, { email, name, roles: held.roles, password_hash }, operator())
    if ('sentence' in added) throw new UsageError(added.sentence)
    return toView(tenant, added)
  })
}

interface StaffMember {
  readonly email: string
  readonly name: string
  readonly roles: readonly StaffRole[]
  readonly password_hash: string
}

/** Does the same in a transaction; returns the field that another member of staff has, and a sentence about it. */
export const insertStaff = async (
  tx: Tx,
  tenant: string,
  { email, name, roles, password_hash }: StaffMember,
  by: Actor,
): Promise<StaffRow | { field: 'name' | 'email'; sentence: string }> => {
  const [other] = await query<{ email: string }>(tx)`
    select email from staff where tenant_id = ${tenant} and name = ${name} and email <> ${email}`
  if (other) return { field: 'name', sentence: `${other.email} of tenant ${tenant} already has the name ${name}` }
  const [added] = await query<StaffRow>(tx)`
    insert into staff (tenant_id, email, name, role, roles, password_hash)
    values (${tenant}, ${email}, ${name}, ${roles[0]}, ${roles}, ${password_hash})
    on conflict (tenant_id, email) do update set name = excluded.name, role = excluded.role, roles = excluded.roles,
      password_hash = excluded.password_hash, is_active = true where not staff.is_active
    returning staff.*`
  if (!added) return { field: 'email', sentence: `the member of staff ${email} already exists` }
  await audit(tx, tenant, by, 'staff.added', [name, ...roles])
  return added
}

/** Changes roles, in both services within 5 seconds. Throws UsageError for an unknown tenant or member of staff. */
export const changeRole = (pool: pg.Pool, request: StaffRequest & { role: string }) =>
  change(pool, request, 'staff.role_changed', readRoleColumns(request.role))

/** Changes the password and ends the person's sessions. Throws UsageError for an unknown tenant or member of staff. */
export const changeStaffPassword = async (pool: pg.Pool, request: StaffRequest, password: string) => {
  refusePassword(password)
  return change(pool, request, 'staff.password_changed', { password_hash: await hashPassword(password) })
}

/** Refuses the person's logins and ends the sessions. Throws UsageError for an unknown tenant or member of staff. */
export const deactivateStaff = (pool: pg.Pool, request: StaffRequest, onDeactivated?: OnDeactivated) =>
  change(pool, request, 'staff.deactivated', { is_active: false }, onDeactivated)

type Fields = ReturnType<typeof readRoleColumns> | { password_hash: string } | { is_active: false }

const change = async (
  pool: pg.Pool,
  { tenant, email }: StaffRequest,
  action: Extract<Action, `staff.${string}`>,
  fields: Fields,
  onDeactivated?: OnDeactivated,
) => {
  await commands.requireTenant(pool, tenant)
  return inTenant(pool, tenant, async (tx: Tx) => {
    const row = await tx
      .updateTable('staff')
      .set(fields)
      .where(eb => eb.and({ tenant_id: tenant, email: email.trim().toLowerCase() }))
      .returningAll()
      .executeTakeFirst()
    if (!row) throw new UsageError(`the tenant ${tenant} has no member of staff ${email}`)
    const by = operator()
    await audit(tx, tenant, by, action, [row.name, ...('roles' in fields ? fields.roles : [])])
    if (!('roles' in fields)) await revokeLogins(tx, tenant, 'staff_id', [row.staff_id], by)
    if ('is_active' in fields) await onDeactivated?.(tx, tenant, 'staff_id', row.staff_id)
    return toView(tenant, row)
  })
}

/** Lists the staff of one tenant, or of all, without their passwords. */
export const listStaff = (pool: pg.Pool, tenant?: string) =>
  commands.listHolders(pool, tenant, async (tx: Tx, id) => {
    const rows = await query<StaffRow>(tx)`select * from staff where tenant_id = ${id} order by staff_id`
    return rows.map(row => ({ ...toView(id, row), created_at: row.created_at }))
  })

const toView = (tenant_id: string, { email, name, is_active, ...row }: StaffRow) => ({
  tenant_id,
  email,
  name,
  role: readRoles(row).join(','),
  is_active,
})
