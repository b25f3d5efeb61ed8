import type { ErrorBody, FieldErrors } from '@courier/shared/http/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Catalogue, Catalogues } from '../catalogue/catalogue.ts'
import { priceParcel } from '../catalogue/price-parcels.ts'
import { findVersion } from '../catalogue/queries.ts'
import type { Tables, Tx } from '../database/tables.ts'
import type { Mover } from '../orders/check-moves.ts'
import { editableColumns, etagOf, type OrderState } from '../orders/etag.ts'
import { isWaybill } from '../orders/find-order.ts'
import { findStatuses } from '../orders/status-queries.ts'
import { checkFields, checkPhone } from './check-edit.ts'
import type { OrderChanges } from './read-edit.ts'

export interface Edit {
  readonly tenant: string
  readonly waybill: string
  readonly editor: Mover
  readonly changes: OrderChanges
  /** Of the order as the editor saw it. */
  readonly ifMatch: string | undefined
  readonly by: Actor
}

export type Edited =
  | { kind: 'edited'; fields: readonly string[]; charge: number; currency: string; etag: string; warnings: FieldErrors }
  | { kind: 'unknown' }
  /** The order is not as the editor saw it. */
  | { kind: 'stale'; etag: string }
  | { kind: 'refused'; errors: FieldErrors; suggestions: ErrorBody['suggestions'] }
  /** Gave up because the catalogue kept changing; nothing was written. */
  | { kind: 'busy' }

const maxAttempts = 5

/** Changes an order that the editor may change, with its timeline, its merchant's changes and the audit. One transaction. */
export const editOrder = async (pool: pg.Pool, catalogues: Catalogues, edit: Edit): Promise<Edited> => {
  if (!isWaybill.test(edit.waybill)) return { kind: 'unknown' }
  let catalogue = await catalogues.current(edit.tenant)
  for (let attempt = 1; catalogue && attempt <= maxAttempts; attempt++) {
    const now = catalogue
    const result = await inTenant<Tables, Edited | undefined>(pool, edit.tenant, tx => tryEdit(tx, now, edit), {
      keeps: result => result?.kind === 'edited',
    })
    if (result) return result
    catalogue = await catalogues.reload(edit.tenant)
  }
  return { kind: 'busy' }
}

/** undefined: the catalogue is out of date. */
const tryEdit = async (tx: Tx, catalogue: Catalogue, edit: Edit): Promise<Edited | undefined> => {
  const { tenant, waybill, changes, ifMatch, by } = edit
  const [, order, version] = await Promise.all([
    tx.client.query(`set local lock_timeout = '2s'`),
    lockOrder(tx, edit),
    findVersion(tx, tenant),
  ])
  if (!order) return { kind: 'unknown' }
  if (!matches(ifMatch, etagOf(order))) return { kind: 'stale', etag: etagOf(order) }
  const refused = checkFields(edit, order.status_key, await findStatuses(tx, tenant))
  if (Object.keys(refused).length > 0) return { kind: 'refused', errors: refused, suggestions: undefined }
  if (version !== catalogue.version) return undefined
  const phone = checkPhone(changes.values.customer_phone, catalogue)
  const priced = price(order, changes, catalogue)
  const errors = { ...phone.errors, ...(priced.kind === 'refused' && priced.errors.errors) }
  if (priced.kind === 'refused' || Object.keys(errors).length > 0)
    return { kind: 'refused', errors, suggestions: priced.kind === 'refused' ? priced.suggestions : undefined }
  const { state } = priced
  const fields = editableColumns.filter(column => state[column] !== order[column])
  if (fields.length > 0) {
    await writeEdit(tx, edit, state, fields)
    await audit(tx, tenant, by, 'order.edited', `${waybill}: ${fields.join(', ')}`)
  }
  const { currency } = catalogue
  return {
    kind: 'edited',
    fields,
    charge: state.delivery_charge,
    currency,
    etag: etagOf(state),
    warnings: phone.warnings,
  }
}

interface LockedOrder extends OrderState {
  readonly merchant_id: string
  readonly origin_city_id: number
}

const lockOrder = async (tx: Tx, { tenant, waybill, editor }: Edit): Promise<LockedOrder | undefined> => {
  const values = [tenant, waybill, 'merchantId' in editor ? editor.merchantId : null]
  return (await tx.client.query({ name: 'lock_order', text: locking, values })).rows[0]
}

const locking = `
  select merchant_id, origin_city_id, status_key, ${editableColumns.join(', ').replace('delivery_charge', 'delivery_charge::float8')}
  from orders where tenant_id = $1 and waybill_number = $2 and ($3::bigint is null or merchant_id = $3) for no key update`

/** RFC 9110: weak tags never match. */
const matches = (ifMatch: string | undefined, etag: string): boolean =>
  ifMatch === undefined || ifMatch.split(',').some(tag => tag.trim() === '*' || tag.trim() === etag)

/** The order as it is to be. Another city or weight has its price of today, what stays keeps its own. */
const price = (order: LockedOrder, { values, destination }: OrderChanges, catalogue: Catalogue) => {
  const { customer_secondary_phone: secondary = order.customer_secondary_phone } = values
  const customer_secondary_phone = catalogue.secondaryPhone ? secondary : order.customer_secondary_phone
  const { merchant_id, origin_city_id, ...before } = order
  const state = { ...before, ...values, customer_secondary_phone }
  if (!destination && state.weight === order.weight) return { kind: 'kept' as const, state }
  const parcel = {
    origin: { cityId: String(origin_city_id) },
    destination: destination ?? { cityId: String(order.destination_city_id) },
    weightKg: state.weight,
  }
  const priced = priceParcel(catalogue, merchant_id, parcel)
  if (priced.kind === 'refused') return priced
  const destination_city_id = priced.destination.id
  const isSame = destination_city_id === order.destination_city_id && state.weight === order.weight
  const delivery_charge = isSame ? order.delivery_charge : priced.charge / 100
  return { kind: 'priced' as const, state: { ...state, destination_city_id, delivery_charge } }
}

/** The clock is read while the row is locked: the changes of a waybill never go backwards. */
const writeEdit = (
  tx: Tx,
  { tenant, waybill, editor, changes }: Edit,
  state: OrderState,
  fields: readonly string[],
) => {
  const [actor, staffName] = 'staffName' in editor ? ['staff', editor.staffName] : ['merchant', null]
  const values = [tenant, waybill, fields, actor, staffName, changes.reason]
  const columns = editableColumns.map(column => state[column])
  return tx.client.query({ name: 'write_edit', text: writing, values: [...values, ...columns] })
}

const writing = `
  with clock as materialized (
    select clock_timestamp() as now
  ), edited as (
    update orders set ${editableColumns.map((column, index) => `${column} = $${index + 7}`).join(', ')}
    where tenant_id = $1 and waybill_number = $2 returning merchant_id, status_key
  ), noted as (
    insert into order_edits (tenant_id, waybill_number, fields, edited_at, staff_name, reason)
    select $1, $2, $3::text[], now, $5, $6 from clock returning tenant_id
  )
  insert into new_changes (tenant_id, merchant_id, type, waybill_numbers, status_keys, fields, actor, happened_at)
  select $1, merchant_id, 'order.edited', array[$2], array[status_key], $3::text[], $4, (select now from clock)
  from edited returning tenant_id`
