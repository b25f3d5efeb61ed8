import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type { Tx } from '../database/tables.ts'
import { cancelledKey } from '../statuses/statuses.ts'
import { alikeColumns, alikeJoins, phoneKeyOf } from './alike.ts'
import {
  type Alike,
  arrayLiteral,
  batchColumns,
  changeParameters,
  keyParameters,
  type NamedValues,
  type NewBatch,
  orderColumns,
  orderParameters,
  storedWarnings,
} from './batch-rows.ts'

/**
 * Writes batches with their first timeline events, their merchants' changes, a row of the outbox if the tenant has messaging,
 * and their idempotency keys, in one statement. Returns earlier orders that look like those written, by the waybill of the new one. undefined: nothing was
 * written, because the catalogue's version has changed or a key is known or in use. Throws 23505 for an existing waybill, or a
 * key that another request writes at the same time.
 */
export const insertBatches = async (
  tx: Tx,
  tenant: string,
  version: string,
  batches: readonly NewBatch[],
): Promise<ReadonlyMap<string, Alike> | undefined> => {
  const isKeyed = batches.some(({ key }) => key)
  const keys = isKeyed ? keyParameters(tenant, batches) : {}
  const looks_up = String(batches.some(({ warningsOf }) => warningsOf))
  const rest = { tenant, version, looks_up, cancelled: cancelledKey }
  const parameters: NamedValues = { ...rest, ...orderParameters(batches), ...changeParameters(batches), ...keys }
  const { name, text, names } = isKeyed ? insertKeyed : insertPlain
  const values = names.map(name => parameters[name] ?? null)
  const { rows } = await tx.client.query({ name, text, values })
  const { is_current, alike } = rows[0] as Inserted
  return is_current ? new Map(alike?.map(({ waybill, ...alike }) => [waybill, alike])) : undefined
}

interface Inserted {
  readonly is_current: boolean
  readonly alike: ({ waybill: string } & Alike)[] | null
}

const columns = [...orderColumns, ...batchColumns]
const columnNames = columns.map(({ name }) => name).join(', ')
const arrays = columns.map(({ name, type }) => `:${name}::${type}[]`).join(', ')
const commonOrOwn = batchColumns.map(({ name, type }) => `coalesce(:all_${name}::${type}, ${name}) as ${name}`)
const input = [...orderColumns.map(({ name }) => name), ...commonOrOwn].join(', ')

/**
 * A locked key belongs to a running request (claimKey). `limit`: joined, a plan that was made when the table was small reads all
 * keys of the tenant for each statement.
 */
const areKeysFree = `
      and (select bool_and(pg_try_advisory_xact_lock(lock)) from unnest(:key_locks::bigint[]) as lock)
      and not exists (
        select from unnest(:key_scopes::text[], :key_names::text[]) as keys (scope, name), lateral (
          select from idempotency_keys where tenant_id = :tenant and scope = keys.scope and idempotency_key = keys.name limit 1
        ) known
      )`

const keyInsertion = `, keyed as (
    insert into idempotency_keys (tenant_id, scope, idempotency_key, fingerprint, result, warnings)
    select :tenant, scope, idempotency_key, fingerprint::bytea, result::text[], warnings
    from unnest(
      :key_scopes::text[], :key_names::text[], :key_fingerprints::text[], :key_results::text[], :key_warnings::text[]
    ) as keys (scope, idempotency_key, fingerprint, result, warnings)
    where (select is_current from now) returning tenant_id
  )`

/**
 * Citus runs what is materialized and what writes one after the other: before it is written, an order is not like itself.
 * `returning`: Citus takes no other insertions from a select. `offset 0`: else Postgres has every look-up twice in its plan, for
 * the condition and for the result.
 */
const statement = (areKeysFree: string, keyInsertion: string): string => `
  with now as (
    select version = :version::bigint ${areKeysFree} as is_current, messaging
    from tenants where tenant_id = :tenant
  ), input as (
    select ${input} from unnest(${arrays}) as input (${columnNames})
  ), wanted as materialized (
    select *, ${phoneKeyOf('customer_phone')} as phone_key, destination_city_id as city_id from input where :looks_up::boolean
  ), looked_up as materialized (
    select json_agg(alike) as alike from (
      select wanted.waybill_number as waybill, ${alikeColumns} from wanted ${alikeJoins(':tenant', ':cancelled')} offset 0
    ) alike where "sameParcel" is not null or "sameOrderNo" is not null
  ), written as (
    insert into orders (tenant_id, ${columnNames})
    select :tenant, ${columnNames} from input where (select is_current from now) returning tenant_id
  ), first_events as (
    insert into order_events (tenant_id, waybill_number, status_key)
    select :tenant, waybill_number, status_key from input where (select is_current from now) returning tenant_id
  ), outgoing as (
    insert into outbox (tenant_id, type, waybill_numbers, status_keys, traceparents)
    select :tenant, 'order.created', :waybill_number, :status_key, :traceparents::text[] from now where is_current and messaging
    returning tenant_id
  ), changed as (
    insert into new_changes (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor)
    select :tenant, merchant_id, 'order.created', coalesce(waybills::text[], :waybill_number),
      coalesce(statuses::text[], :status_key), 'merchant'
    from unnest(:change_merchants::bigint[], :change_waybills::text[], :change_statuses::text[])
      as changed (merchant_id, waybills, statuses)
    where (select is_current from now) returning tenant_id
  )${keyInsertion}
  select is_current, alike from now left join looked_up on is_current`

/** Replaces each `:name` by the `$n` of that parameter. */
const prepare = (name: string, statement: string) => {
  const names: string[] = []
  const text = statement.replace(/(?<!:):([a-z_]+)/g, (_, name) => {
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  return { name, text, names }
}

const insertPlain = prepare('insert_batches', statement('', ''))
const insertKeyed = prepare('insert_keyed_batches', statement(areKeysFree, keyInsertion))

/** Replaces the warnings that are kept under the key. */
export const storeWarnings = (tx: Tx, tenant: string, { scope, key }: IdempotencyKey, warnings: FieldErrors) =>
  tx
    .updateTable('idempotency_keys')
    .set({ warnings: storedWarnings(warnings) ?? null })
    .where('tenant_id', '=', tenant)
    .where('scope', '=', scope)
    .where('idempotency_key', '=', key)
    .execute()

/** The warnings of the response that is kept under the key. */
export const findWarnings = async (tx: Tx, tenant: string, { scope, key }: IdempotencyKey): Promise<FieldErrors> => {
  const row = await tx
    .selectFrom('idempotency_keys')
    .select('warnings')
    .where('tenant_id', '=', tenant)
    .where('scope', '=', scope)
    .where('idempotency_key', '=', key)
    .executeTakeFirst()
  return row?.warnings ? JSON.parse(row.warnings) : {}
}

/** Those of `waybills` that already exist. */
export const findExisting = async (tx: Tx, tenant: string, waybills: readonly string[]): Promise<Set<string>> => {
  if (waybills.length === 0) return new Set()
  const { rows } = await tx.client.query({
    name: 'find_existing',
    text: 'select waybill_number from orders where tenant_id = $1 and waybill_number = any($2::text[])',
    values: [tenant, arrayLiteral(waybills)],
  })
  return new Set(rows.map((row: { waybill_number: string }) => row.waybill_number))
}
