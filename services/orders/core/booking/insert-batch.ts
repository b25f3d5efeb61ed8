import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { query } from '@courier/shared/postgres/database.ts'
import type { IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type { Tx } from '../database/tables.ts'
import {
  batchColumns,
  type NamedValues,
  type NewBatch,
  orderColumns,
  renderWarnings,
  toEntryParameters,
  toKeyParameters,
  toOrderParameters,
} from './batch-rows.ts'
import { maybeAlikeSql } from './similar-orders.ts'

/** Shows why nothing was written, or which orders may be similar to earlier ones. */
interface Inserted {
  /** The catalogue still has the version of the batches. */
  readonly is_current: boolean
  /** No key is known or in use. */
  readonly is_free: boolean
  /** Lists the waybills of orders that may be similar to an earlier one. null: none. */
  readonly maybe_alike: readonly string[] | null
}

/**
 * Writes batches in one statement, with their first timeline events, log entries and idempotency keys. All must have
 * the same version and treat similar orders alike. Throws 23505 for an existing waybill, or a key that another request
 * writes at the same time.
 */
export const insertBatches = async (tx: Tx, tenant: string, batches: readonly NewBatch[]): Promise<Inserted> => {
  const isKeyed = batches.some(({ key }) => key)
  const parameters: NamedValues = {
    tenant,
    version: batches[0]?.version ?? '',
    looks_up: String(batches[0]?.duplicates !== 'off'),
    ...toOrderParameters(batches),
    ...toEntryParameters(batches),
    ...(isKeyed ? toKeyParameters(tenant, batches) : {}),
  }
  const { name, text, names } = isKeyed ? insertKeyed : insertPlain
  const [inserted] = await tx.rows({ name, text, values: names.map(name => parameters[name] ?? null) })
  return inserted
}

const columns = [...orderColumns, ...batchColumns]
const columnNames = columns.map(({ name }) => name).join(', ')
const arrays = columns.map(({ name, type }) => `:${name}::${type}[]`).join(', ')
const batchInputs = batchColumns.map(({ name, type }) => `coalesce(:all_${name}::${type}, ${name}) as ${name}`)
const input = [...orderColumns.map(({ name }) => name), ...batchInputs].join(', ')

/**
 * A locked key belongs to a running request (claimKey). `limit` prevents a join: its plan, if made when the table was
 * small, would read all keys of the tenant for each statement.
 */
const freeKeysSql = `
      (select bool_and(pg_try_advisory_xact_lock(lock)) from unnest(:key_locks::bigint[]) as lock)
      and not exists (
        select from unnest(:key_scopes::text[], :key_names::text[]) as keys (scope, name), lateral (
          select from idempotency_keys where tenant_id = :tenant and scope = keys.scope and idempotency_key = keys.name
            limit 1
        ) known
      )`

const insertKeysSql = `, keyed as (
    insert into idempotency_keys (tenant_id, scope, idempotency_key, fingerprint, result, warnings)
    select :tenant, scope, idempotency_key, fingerprint::bytea, result::text[], warnings
    from unnest(
      :key_scopes::text[], :key_names::text[], :key_fingerprints::text[], :key_results::text[], :key_warnings::text[]
    ) as keys (scope, idempotency_key, fingerprint, result, warnings)
    where (select is_current and is_free from now) returning tenant_id
  )`

/** Builds the statement. Citus accepts an insertion from a select only with `returning`. */
const buildStatement = (freeKeysSql: string, insertKeysSql: string): string => `
  with now as (
    select version = :version::bigint as is_current, ${freeKeysSql} as is_free, messaging
    from tenants where tenant_id = :tenant
  ), input as (
    select ${input} from unnest(${arrays}) as input (${columnNames})
  ), written as (
    insert into orders (tenant_id, ${columnNames})
    select :tenant, ${columnNames} from input where (select is_current and is_free from now) returning tenant_id
  ), first_events as (
    insert into order_events (tenant_id, waybill_number, status_key)
    select :tenant, waybill_number, status_key from input where (select is_current and is_free from now)
      returning tenant_id
  ), logged as (
    insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, traceparents, is_relayed)
    select :tenant, merchant_id, 'order.created', coalesce(waybills::text[], :waybill_number),
      coalesce(statuses::text[], :status_key), 'merchant',
      case when traceparent is not null then array[traceparent] end, not messaging
    from now, unnest(:log_merchants::bigint[], :log_waybills::text[], :log_statuses::text[], :log_traceparents::text[])
      as entry (merchant_id, waybills, statuses, traceparent)
    where is_current and is_free returning tenant_id
  )${insertKeysSql}
  select is_current, is_free, maybe_alike from now left join ${maybeAlikeSql} similar_order on true`

/** Replaces each `:name` with the `$n` of that parameter. */
const prepare = (name: string, statement: string) => {
  const names: string[] = []
  const text = statement.replace(/(?<!:):([a-z_]+)/g, (_, name) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { name, text, names }
}

const insertPlain = prepare('insert_batches', buildStatement('true', ''))
const insertKeyed = prepare('insert_keyed_batches', buildStatement(freeKeysSql, insertKeysSql))

/** Replaces the warnings that are kept under the key. */
export const storeWarnings = (tx: Tx, tenant: string, { scope, key }: IdempotencyKey, warnings: FieldErrors) =>
  query(tx)`
    update idempotency_keys set warnings = ${renderWarnings(warnings) ?? null}
    where tenant_id = ${tenant} and scope = ${scope} and idempotency_key = ${key}`

/**
 * Names the merchant's person in the first events of orders. The separate update costs the batches of programs nothing.
 */
export const nameBooker = (tx: Tx, tenant: string, name: string, waybills: readonly string[]) =>
  tx.rows({ name: 'name_booker', text: nameBookerSql, values: [tenant, waybills, name] })

const nameBookerSql = `
  update order_events set staff_name = $3, actor = 'merchant' where tenant_id = $1 and waybill_number = any($2::text[])`
