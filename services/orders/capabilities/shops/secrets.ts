import { audit, operator } from '@courier/shared/postgres/audit.ts'
import { type DeleteExpired, deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import { resealRows } from '@courier/shared/postgres/reseal.ts'
import { type Keyring, tryOpen } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { openSecrets, type Shop, sealSecret } from './queries.ts'

const sealedSql = `
  select shop_id, key_id, sealed_secret, previous_key_id, previous_secret from shops
  where tenant_id = $1 and (key_id <> $2 or previous_key_id <> $2) order by shop_id for update`

/** Seals the secrets of every shop with the newest key. */
export const rotateShopSecrets = async (pool: pg.Pool, keyring: Keyring, by = operator()) => {
  const found = await resealRows<Shop & object>(pool, keyring, {
    sql: sealedSql,
    reseal: async (tx, tenant, row) => {
      const [current, previous] = openSecrets(keyring, tenant, row).map(secret =>
        sealSecret(keyring, tenant, row.shop_id, secret),
      )
      await tx.client.query(
        `update shops set key_id = $3, sealed_secret = $4, previous_key_id = $5, previous_secret = $6
        where tenant_id = $1 and shop_id = $2`,
        [tenant, row.shop_id, current?.keyId, current?.sealed, previous?.keyId, previous?.sealed],
      )
      await audit(tx, tenant, by, 'keys.rotated', row.shop_id)
    },
    name: ({ shop_id }) => ({ shop_id }),
  })
  return { ...found, field: 'shops', what: 'shops' }
}

/** Tries the newest key on secrets that its id sealed. */
export const opensShopSecret = async (tx: Tx, tenant: string, keyring: Keyring): Promise<boolean | undefined> => {
  const newestSql = 'select * from shops where tenant_id = $1 and key_id = $2 limit 100'
  const rows = await tx.rows<Shop & object>(newestSql, [tenant, keyring.newest])
  const opens = (shop: Shop) => {
    const newest = { ...shop, previous_key_id: null }
    return tryOpen(() => openSecrets(keyring, tenant, newest)) !== undefined
  }
  return rows.length > 0 ? rows.some(opens) : undefined
}

/** Sets how long deliveries are listed. */
const listedDays = 30
/** Sets how long we keep what a shop said of an order that is put away or booked. */
const keptDays = 90

const deleteOldDeliveries = deleteWhere('shop_deliveries', `received_at < now() - make_interval(days => ${listedDays})`)
const oldSql = `received_at < now() - make_interval(days => ${keptDays})`
const deleteOldOrders = deleteWhere('shop_orders', `state in ('stays', 'put_away') and ${oldSql}`)

/** Forgets the recipients of booked orders. The rows stay: a late delivery must not book the order again. */
const forgetBooked: DeleteExpired = async (tx, tenant) => {
  const nothing = `'{"values": {}, "marks": []}'::jsonb`
  const { rowCount } = await tx.client.query(
    `update shop_orders set said = ${nothing}, booked_as = null, is_changed = false
    where tenant_id = $1 and state = 'booked' and ${oldSql} and booked_as is not null`,
    [tenant],
  )
  return rowCount ?? 0
}

export const shopDeletions: readonly DeleteExpired[] = [deleteOldDeliveries, deleteOldOrders, forgetBooked]
