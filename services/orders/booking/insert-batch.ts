import type { Tx } from '../database/tables.ts'
import { arrayLiteral, batchColumns, keyValues, type NewBatch, orderColumns, orderValues } from './batch-rows.ts'

/** What the one statement of a batch tells: whether it wrote every order, and the catalogue's version at that moment. */
export interface Insertion {
  readonly version: string
  /** The waybills written, when some were not: the others exist already. */
  readonly onlyWritten: string[] | null
}

/**
 * Writes a batch's orders with their first timeline events and its row of the outbox. Waybills that exist are left out;
 * its key is not written here.
 */
export const insertBatch = async (tx: Tx, tenant: string, batch: NewBatch): Promise<Insertion> => {
  const values = [tenant, ...orderValues([batch])]
  const { rows } = await tx.client.query({ name: 'insert_batch', text: leavingOutTaken, values })
  return { version: rows[0].version, onlyWritten: rows[0].only_written }
}

/**
 * The same of several batches and with their keys, all that were checked against `version`. False: the version is another
 * one by now or a key is known or in use, and nothing was written. Throws 23505 for a waybill that exists, or a key that
 * comes meanwhile.
 */
export const insertAll = async (
  tx: Tx,
  tenant: string,
  version: string,
  batches: readonly NewBatch[],
): Promise<boolean> => {
  const isGroup = batches.length > 1
  const isKeyed = batches.some(({ key }) => key)
  const { rows } = await tx.client.query({
    name: `insert_${isGroup ? 'group' : 'one'}${isKeyed ? '_keyed' : ''}`,
    text: statements[Number(isGroup)]?.[Number(isKeyed)] ?? '',
    values: [tenant, ...orderValues(batches), version, ...(isKeyed ? keyValues(tenant, batches) : [])],
  })
  return rows[0].is_current
}

const names = orderColumns.map(({ name }) => name).join(', ')
const arrays = orderColumns.map(({ type }, index) => `$${index + 2}::${type}[]`).join(', ')
const common = batchColumns.map(({ name }) => name).join(', ')
const firstCommon = orderColumns.length + 2
const commonValues = batchColumns.map(({ type }, index) => `$${index + firstCommon}::${type}`)
const commonArrays = commonValues.map(value => `${value}[]`).join(', ')
const version = firstCommon + batchColumns.length

const given = `given as (select * from unnest(${arrays}) as given (${names}))`
const orders = `insert into orders (tenant_id, ${common}, ${names})`
const events = 'insert into order_events (tenant_id, waybill_number, status_key)'
const outbox = 'insert into outbox (tenant_id, type, waybill_numbers, status_keys)'

const leavingOutTaken = `
  with ${given}, written as (
    ${orders} select $1, ${commonValues.join(', ')}, ${names} from given
    on conflict do nothing
    returning waybill_number
  ), told as (
    ${events} select $1, waybill_number, status_key from given
  ), outgoing as (
    ${outbox} values ($1, 'order.created', $2, $3)
  )
  select (select version from tenants where tenant_id = $1) as version,
    case when (select count(*) from written) < (select count(*) from given)
      then array(select waybill_number from written) end as only_written`

const insertion = (isGroup: boolean, isKeyed: boolean): string => `
  with now as (
    select version = $${version}::bigint${isKeyed ? ` and ${areFree}` : ''} as is_current
    from tenants where tenant_id = $1
  ), ${
    isGroup ? `given as (select * from unnest(${arrays}, ${commonArrays}) as given (${names}, ${common}))` : given
  }, written as (
    ${orders} select $1, ${isGroup ? common : commonValues.join(', ')}, ${names} from given
    where (select is_current from now)
  ), told as (
    ${events} select $1, waybill_number, status_key from given where (select is_current from now)
  ), outgoing as (
    ${outbox} select $1, 'order.created', $2, $3 from now where is_current
  )${isKeyed ? `, keyed as (${keyInsertion})` : ''}
  select is_current from now`

/** Whoever holds a key's lock is running; see claimKey. */
const areFree = `
      (select bool_and(pg_try_advisory_xact_lock(lock)) from unnest($${version + 5}::bigint[]) as lock)
      and not exists (
        select from unnest($${version + 1}::text[], $${version + 2}::text[]) as keys (scope, idempotency_key)
        join idempotency_keys known using (scope, idempotency_key) where known.tenant_id = $1
      )`

const keyInsertion = `
    insert into idempotency_keys (tenant_id, scope, idempotency_key, fingerprint, result)
    select $1, scope, idempotency_key, fingerprint::bytea, result::text[]
    from unnest($${version + 1}::text[], $${version + 2}::text[], $${version + 3}::text[], $${version + 4}::text[])
      as keys (scope, idempotency_key, fingerprint, result)
    where (select is_current from now)`

const statements = [
  [insertion(false, false), insertion(false, true)],
  [insertion(true, false), insertion(true, true)],
]

/** Those of `waybills` that the tenant already has. */
export const findTaken = async (tx: Tx, tenant: string, waybills: string[]): Promise<Set<string>> => {
  if (waybills.length === 0) return new Set()
  const { rows } = await tx.client.query({
    name: 'find_taken',
    text: 'select waybill_number from orders where tenant_id = $1 and waybill_number = any($2::text[])',
    values: [tenant, arrayLiteral(waybills)],
  })
  return new Set(rows.map((row: { waybill_number: string }) => row.waybill_number))
}
