import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { readPhone } from '@courier/shared/phone-number.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Catalogue, Catalogues } from '../../core/catalogue/catalogue.ts'
import { type PhoneColumns, toPhoneColumns } from '../../core/database/phone-columns.ts'
import type { Tables, Tx } from '../../core/database/tables.ts'
import { findActor, type Mover, nameMover } from '../../core/moves/check-moves.ts'
import { type ChangeOptions, checkPoints, limitLockWait } from '../../core/moves/move.ts'
import type { MovePoint } from '../../core/moves/move-points.ts'
import { type EditableColumn, editableColumns, type OrderState, tagState } from '../../core/tracking/etag.ts'
import type { OrderRow } from '../../core/tracking/order-rows.ts'
import { isWaybill, type OrderStore, orderColumnsSql } from '../../core/tracking/read-orders.ts'
import { checkEdit, type RefusedEdit } from './check-edit.ts'
import type { OrderChanges } from './read-edit.ts'

interface Edit {
  readonly tenant: string
  readonly waybill: string
  readonly editor: Mover
  readonly changes: OrderChanges
  /** Holds the If-Match header: the ETag of the order as the editor saw it, several ETags, or `*`. */
  readonly ifMatch: string | undefined
  readonly by: Actor
}

export type Edited =
  | { kind: 'edited'; fields: readonly string[]; charge: number; currency: string; etag: string; warnings: FieldErrors }
  | { kind: 'unknown' }
  /** The order has changed since the editor read it. */
  | { kind: 'stale'; etag: string }
  | RefusedEdit

export type EditingOptions = ChangeOptions & OrderStore

const maxAttempts = 5

/**
 * Edits an order that the editor may change. One transaction writes the order, the edit, the log entry and the audit.
 * undefined: the catalogue kept changing and nothing was written.
 */
export const editOrder = async (
  { pool, catalogues, movePoints }: EditingOptions,
  edit: Edit,
): Promise<Edited | undefined> => {
  if (!isWaybill.test(edit.waybill)) return { kind: 'unknown' }
  return withCatalogue(catalogues, edit.tenant, catalogue =>
    inTenant<Tables, Edited | undefined>(pool, edit.tenant, tx => editIn(tx, movePoints, catalogue, edit), {
      keeps: result => result?.kind === 'edited',
    }),
  )
}

/**
 * Calls `attempt` again with a newer catalogue while it returns undefined, which means that its catalogue is out of
 * date. undefined: five attempts failed.
 */
export const withCatalogue = async <Result>(
  catalogues: Catalogues,
  tenant: string,
  attempt: (catalogue: Catalogue) => Promise<Result | undefined>,
): Promise<Result | undefined> => {
  let catalogue = await catalogues.current(tenant)
  for (let attempts = 1; catalogue && attempts <= maxAttempts; attempts++) {
    const result = await attempt(catalogue)
    if (result) return result
    catalogue = await catalogues.reload(tenant)
  }
  return undefined
}

/**
 * Does the work of `editOrder` in the caller's transaction. undefined: the catalogue is out of date. Writes nothing
 * unless the order is edited.
 */
export const editIn = async (
  tx: Tx,
  points: readonly MovePoint[],
  catalogue: Catalogue,
  edit: Edit,
): Promise<Edited | undefined> => {
  const [, order] = await Promise.all([limitLockWait(tx), lockOrder(tx, edit)])
  if (!order) return { kind: 'unknown' }
  if (!matches(edit.ifMatch, tagState(order))) return { kind: 'stale', etag: tagState(order) }
  if (order.version !== catalogue.version) return undefined
  const checked = checkEdit(edit, order, catalogue)
  if (checked.kind === 'refused') return checked
  const { state, warnings } = checked
  const fields = editableColumns.filter(column => state[column] !== order[column])
  if (fields.some(field => moneyColumns.includes(field))) {
    const blocked = await findBlocks(tx, points, catalogue, edit, order)
    if (blocked.length > 0) return { kind: 'refused', errors: nameFields(fields, blocked) }
  }
  const { country } = catalogue
  const phone = toPhoneColumns(state.customer_phone, readPhone(state.customer_phone, country).key, country)
  if (fields.length > 0) await writeEdit(tx, edit, order, state, fields, phone)
  const { delivery_charge: charge } = state
  return { kind: 'edited', fields, charge, currency: catalogue.currency, etag: tagState(state), warnings }
}

/** Lists the columns that a booking has read: once it is written they stay, whatever status the order went back to. */
const moneyColumns: readonly EditableColumn[] = ['cod', 'weight', 'destination_city_id', 'delivery_charge']

/** Returns why the order may not be in its status with other amounts, as a move to that status would be refused. */
const findBlocks = async (
  tx: Tx,
  points: readonly MovePoint[],
  { statuses }: Catalogue,
  { tenant, waybill, editor }: Edit,
  order: OrderRow,
): Promise<string[]> => {
  const { status_key: statusKey } = order
  const wanted = { tenant, mover: editor, waybills: [waybill], statusKey, note: null }
  const locked = Promise.resolve({ ...wanted, statuses, to: statuses.get(statusKey), current: [order] })
  const { errors } = await checkPoints(tx, points, wanted, locked)
  return Object.values(errors).flat()
}

const nameFields = (fields: readonly EditableColumn[], sentences: readonly string[]): FieldErrors =>
  Object.fromEntries(
    fields.flatMap(field =>
      moneyColumns.includes(field) && field !== 'delivery_charge' ? [[field, [...sentences]]] : [],
    ),
  )

export const lockOrder = async (tx: Tx, { tenant, waybill, editor }: Pick<Edit, 'tenant' | 'waybill' | 'editor'>) => {
  const values = [tenant, waybill, 'merchantId' in editor ? editor.merchantId : null]
  return (await tx.rows<OrderRow>({ name: 'lock_order', text: lockOrderSql, values }))[0]
}

const lockOrderSql = `
  select ${orderColumnsSql} from orders where tenant_id = $1 and waybill_number = $2
    and ($3::bigint is null or merchant_id = $3) for no key update`

/**
 * Compares tags. A proxy that compresses a response makes its tag weak or names the coding in it; ours names the state
 * of the order, not the bytes, so these forms of it match too.
 */
const matches = (ifMatch: string | undefined, etag: string): boolean =>
  ifMatch === undefined ||
  ifMatch.split(',').some(given => {
    const tag = given.trim()
    return tag === '*' || tag.replace(/^W\/(?=")/, '').replace(/(?:--?|;)(?:gzip|br|zstd|deflate)"$/, '"') === etag
  })

/** Writes an edit. Reads the clock while the row is locked: the times of a waybill's changes never go backwards. */
export const writeEdit = async (
  tx: Tx,
  edit: Edit,
  before: OrderState,
  state: OrderState,
  fields: readonly EditableColumn[],
  phone?: PhoneColumns,
): Promise<void> => {
  const { tenant, waybill, editor, changes, by } = edit
  const previous = JSON.stringify(Object.fromEntries(fields.map(field => [field, before[field]])))
  const values = [tenant, waybill, fields, findActor(editor), nameMover(editor), changes.reason, previous]
  const columns = [...editableColumns.map(column => ({ ...state, ...phone })[column]), phone?.phone_as_typed]
  await tx.client.query({ name: 'write_edit', text: writeEditSql, values: [...values, ...columns] })
  await audit(tx, tenant, by, 'order.edited', `${waybill}: ${fields.join(', ')}`)
}

/** Keeps the columns of the phone unless the edit changes it: `OrderState` has only its spelling. */
const writeColumn = (column: string, value: string): string =>
  column === 'customer_phone' || column === 'phone_as_typed'
    ? `${column} = case when 'customer_phone' = any($3::text[]) then ${value} else ${column} end`
    : `${column} = ${value}`

const writeEditSql = `
  with clock as materialized (
    select clock_timestamp() as now
  ), edited as (
    update orders set ${editableColumns.map((column, index) => writeColumn(column, `$${index + 8}`)).join(', ')},
      ${writeColumn('phone_as_typed', `$${editableColumns.length + 8}`)}
    where tenant_id = $1 and waybill_number = $2 returning merchant_id, status_key
  ), noted as (
    insert into order_edits (tenant_id, waybill_number, fields, edited_at, staff_name, reason, actor, previous)
    select $1, $2, $3::text[], now, $5, $6, nullif($4, 'staff'), $7::jsonb from clock returning tenant_id
  )
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, fields, actor, happened_at, is_relayed)
  select $1, merchant_id, 'order.edited', array[$2], array[status_key], $3::text[], $4, (select now from clock),
    not messaging
  from edited, tenants where tenants.tenant_id = $1 returning log.tenant_id`
