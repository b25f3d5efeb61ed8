import type { Change } from '@courier/shared/changes.ts'
import { inTenant } from '@courier/shared/database.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import type pg from 'pg'
import { hashPassword, isPassword } from '../access/passwords.ts'
import type { Tx } from '../database/tables.ts'
import { sync } from './sync.ts'
import type { TenantFile } from './tenant-file.ts'

/**
 * The password hash of each merchant of the file, by e-mail address. Hashing takes long on purpose, so it comes before
 * the transaction. The hash that is there is kept while it is of that password: a new one would look like a change.
 */
export const hashPasswords = async (pool: pg.Pool, { tenant, merchants }: TenantFile): Promise<Map<string, string>> => {
  const current = await inTenant(pool, tenant.id, (tx: Tx) => findCurrent(tx, tenant.id))
  const hashes = new Map(current.map(row => [row.email, row.password_hash]))
  const wanted = merchants.map(async ({ email, password }) => {
    const hash = hashes.get(email.toLowerCase())
    const isKept = hash !== undefined && (await isPassword(password, hash))
    return [email.toLowerCase(), isKept ? hash : await hashPassword(password)] as const
  })
  return new Map(await Promise.all(wanted))
}

const findCurrent = (tx: Tx, tenant: string) =>
  tx
    .selectFrom('merchants')
    .select(['tenant_id', 'email', 'name', 'password_hash', 'rate_card'])
    .where('tenant_id', '=', tenant)
    .execute()

/** `hashes` are of `hashPasswords`. */
export const applyMerchants = async (
  tx: Tx,
  { tenant, merchants }: TenantFile,
  hashes: ReadonlyMap<string, string>,
): Promise<Change[]> => {
  const tenant_id = tenant.id
  const ofMerchants = await sync({
    tx,
    table: 'merchants',
    kind: 'merchant',
    keys: ['tenant_id', 'email'],
    current: await findCurrent(tx, tenant_id),
    wanted: merchants.map(({ email, name, rate_card = null }) => ({
      tenant_id,
      email: email.toLowerCase(),
      name,
      password_hash: hashes.get(email.toLowerCase()) ?? null,
      rate_card,
    })),
    others: 'kept',
  })
  return [...ofMerchants.changes, ...(await applyBusinesses(tx, tenant_id, merchants))]
}

const applyBusinesses = async (tx: Tx, tenant_id: string, merchants: TenantFile['merchants']): Promise<Change[]> => {
  const owners = await findOwners(tx, tenant_id, merchants)
  const rows = await tx.selectFrom('businesses').selectAll().where('tenant_id', '=', tenant_id).execute()
  const { changes } = await sync({
    tx,
    table: 'businesses',
    kind: 'business',
    keys: ['tenant_id', 'business_id'],
    current: rows.filter(row => owners.includes(row.merchant_id)),
    wanted: merchants.flatMap((merchant, index) =>
      merchant.businesses.map(business => ({
        tenant_id,
        business_id: business.id,
        merchant_id: owners[index] ?? null,
        name: business.name,
        is_default: business.default ?? false,
        is_active: true,
      })),
    ),
    others: 'deactivated',
  })
  return changes
}

/** The merchant ids of a file's merchants, undefined for new ones. */
const findOwners = async (tx: Tx, tenant: string, merchants: TenantFile['merchants']) => {
  const rows = await tx
    .selectFrom('merchants')
    .select(['merchant_id', 'email'])
    .where('tenant_id', '=', tenant)
    .execute()
  const ids = new Map(rows.map(row => [row.email, row.merchant_id]))
  return merchants.map(({ email }) => ids.get(email.toLowerCase()))
}

/** Business ids that belong to merchants whom the file does not name. */
export const findForeignBusinesses = async (tx: Tx, { tenant, merchants }: TenantFile): Promise<Faults> => {
  const owners = await findOwners(tx, tenant.id, merchants)
  const rows = await tx
    .selectFrom('businesses')
    .select(['business_id', 'merchant_id'])
    .where('tenant_id', '=', tenant.id)
    .execute()
  const foreign = new Set(rows.filter(row => !owners.includes(row.merchant_id)).map(row => row.business_id))
  const faults: Faults = {}
  for (const [m, { businesses }] of merchants.entries())
    for (const [b, { id }] of businesses.entries())
      if (foreign.has(id))
        faults[`merchants.${m}.businesses.${b}.id`] = [
          `Business ${id} belongs to a merchant that this file does not name.`,
        ]
  return faults
}
