import type { Change } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { required } from '@courier/shared/errors/field-errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import { hashPassword, isPassword } from '../access/passwords.ts'
import { revokeLogins } from '../access/tokens.ts'
import type { Tx } from '../database/tables.ts'
import { findMatchErrors, matchMerchants, normalizeEmail } from './match-merchants.ts'
import { sync } from './sync.ts'
import type { MerchantsFile } from './tenant-file.ts'

/**
 * Returns the password hash of each merchant of the file, by e-mail address. Hashing is slow on purpose, so it runs before the
 * transaction. A stored hash that matches the password is kept: a new one would count as a change.
 */
export const hashPasswords = async (
  pool: pg.Pool,
  { tenant, merchants }: MerchantsFile,
): Promise<Map<string, string>> => {
  const stored = matchMerchants(merchants, await inTenant(pool, tenant.id, (tx: Tx) => findStored(tx, tenant.id)))
  const wanted = merchants.map(async ({ email, password }, index) => {
    const hash = stored[index]?.password_hash
    const isKept = hash !== undefined && (password === undefined || (await isPassword(password, hash)))
    return [email.toLowerCase(), isKept ? hash : await hashPassword(password ?? '')] as const
  })
  return new Map(await Promise.all(wanted))
}

const findStored = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('merchants')
    .select(['tenant_id', 'merchant_id', 'email', 'name', 'password_hash', 'rate_card', 'is_active'])
    .where('tenant_id', '=', tenant)
    .execute()

type Stored = Awaited<ReturnType<typeof findStored>>[number]

/** `hashes` come from `hashPasswords`. */
export const applyMerchants = async (
  tx: Tx,
  { tenant, merchants }: MerchantsFile,
  hashes: ReadonlyMap<string, string>,
  by: Actor,
): Promise<Change[]> => {
  const tenant_id = tenant.id
  const matches = matchMerchants(merchants, await findStored(tx, tenant_id))
  const renamed = await renameMerchants(tx, merchants, matches)
  const wanted = merchants.map(({ email, name, rate_card = null, active, ...money }, index) => ({
    email: email.toLowerCase(),
    name,
    password_hash: hashes.get(email.toLowerCase()) ?? '',
    rate_card,
    is_active: active ?? matches[index]?.is_active ?? true,
    payable_when: money.payable_when ?? null,
    payable_after_days: money.payable_after_days ?? null,
    charges_apart: money.charges_apart ?? false,
    phone: money.phone ?? null,
  }))
  const changes = await sync(tx, tenant_id, [{ table: 'merchants', rows: wanted }])
  const changed = matches.flatMap((row, index) =>
    row && row.password_hash !== wanted[index]?.password_hash ? [row] : [],
  )
  return [
    ...renamed.filter(({ id }) => !changes.some(change => change.id === id)),
    ...changes.map(change => ({ ...renamed.find(({ id }) => id === change.id), ...change, ...findReason(change) })),
    ...(await endLogins(tx, tenant_id, changed, by)),
    ...(await applyBusinesses(tx, tenant_id, merchants)),
  ]
}

const findReason = ({ change }: Change): Pick<Change, 'reason'> =>
  change === 'deactivated' ? { reason: 'its tokens are refused, its orders stay' } : {}

/** Gives merchants new e-mail addresses, which must be unused. */
const renameMerchants = async (
  tx: Tx,
  entries: MerchantsFile['merchants'],
  matches: readonly (Stored | undefined)[],
): Promise<Change[]> => {
  const changes: Change[] = []
  for (const [index, entry] of entries.entries()) {
    const row = matches[index]
    const email = normalizeEmail(entry)
    if (!row || row.email === email) continue
    await tx
      .updateTable('merchants')
      .set({ email })
      .where('tenant_id', '=', row.tenant_id)
      .where('merchant_id', '=', row.merchant_id)
      .execute()
    changes.push({ kind: 'merchant', id: email, change: 'changed', reason: `its e-mail address was ${row.email}` })
  }
  return changes
}

/** Ends the sessions of logins with an old password. */
const endLogins = async (tx: Tx, tenant: string, merchants: readonly Stored[], by: Actor): Promise<Change[]> => {
  const emails = new Map(merchants.map(({ merchant_id, email }) => [merchant_id, email]))
  const tokens = await revokeLogins(tx, tenant, 'merchant_id', [...emails.keys()])
  if (tokens.length === 0) return []
  const ids = tokens.map(({ token_id }) => token_id)
  await audit(tx, tenant, by, 'token.revoked', ids)
  return tokens.map(({ token_id: id, merchant_id }) => ({
    kind: 'token of login',
    id,
    change: 'revoked',
    reason: `the password of ${emails.get(String(merchant_id))} changed`,
  }))
}

const applyBusinesses = async (tx: Tx, tenant: string, merchants: MerchantsFile['merchants']): Promise<Change[]> => {
  const owners = matchMerchants(merchants, await findStored(tx, tenant)).map(row => row?.merchant_id ?? '')
  const rows = merchants.flatMap((merchant, index) =>
    merchant.businesses.map(business => ({
      business_id: business.id,
      merchant_id: owners[index] ?? null,
      name: business.name,
      is_default: business.default ?? false,
      is_active: true,
    })),
  )
  return sync(tx, tenant, [{ table: 'businesses', rows, among: { column: 'merchant_id', values: owners } }])
}

/** Adds errors for missing and ambiguous merchants, and for business ids of merchants that the file does not name. */
export const findMerchantErrors = async (tx: Tx, { tenant, merchants }: MerchantsFile): Promise<FieldErrors> => {
  const stored = await findStored(tx, tenant.id)
  const errors = findMatchErrors(merchants, stored)
  const matches = matchMerchants(merchants, stored)
  for (const [m, { password }] of merchants.entries())
    if (!matches[m] && password === undefined) errors[`merchants.${m}.password`] = [required('password')]
  const owners = matches.map(row => row?.merchant_id)
  const rows = await tx
    .selectFrom('businesses')
    .select(['business_id', 'merchant_id'])
    .where('tenant_id', '=', tenant.id)
    .execute()
  const foreign = new Set(rows.filter(row => !owners.includes(row.merchant_id)).map(row => row.business_id))
  for (const { email, merchant_id, person_id } of await findPeopleWith(tx, tenant.id, merchants.map(normalizeEmail)))
    errors[`merchants.${merchants.findIndex(entry => normalizeEmail(entry) === email)}.email`] = [
      `Person ${person_id} of merchant ${merchant_id} logs in with it: choose another, or let its owner deactivate the person first.`,
    ]
  for (const [m, { businesses }] of merchants.entries())
    for (const [b, { id }] of businesses.entries())
      if (foreign.has(id))
        errors[`merchants.${m}.businesses.${b}.id`] = [
          `Business ${id} belongs to a merchant that this file does not name.`,
        ]
  return errors
}

const findPeopleWith = (tx: Tx, tenant: string, emails: readonly string[]) =>
  tx
    .selectFrom('merchant_people')
    .select(['person_id', 'merchant_id', 'email'])
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`email = any(${emails}::text[])`)
    .where('is_active', '=', true)
    .execute()
