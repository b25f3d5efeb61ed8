import type { CustomerAction, CustomerActionResults } from '@courier/shared/contract/customer-actions.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { identifyPerson, readPhone } from '@courier/shared/phone-number.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, readInTenant } from '@courier/shared/postgres/database.ts'
import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import type { Tables, Tx } from '../../core/database/tables.ts'
import { nameStatus } from '../../core/moves/check-moves.ts'
import { type ChangeOptions, limitLockWait, moveIn } from '../../core/moves/move.ts'
import { findStatuses, keepStatusSet } from '../../core/statuses/status-queries.ts'
import { cancelledKey, confirmedKey, isFinal, type Statuses } from '../../core/statuses/statuses.ts'
import type { Facets, Read } from '../../core/tracking/facets.ts'
import { viewDetails } from '../../core/tracking/order-details.ts'
import type { OrderRow, TrackedRow } from '../../core/tracking/order-rows.ts'
import { type FacetStore, findTracked, isWaybill } from '../../core/tracking/read-orders.ts'
import { checkFields } from '../editing/check-edit.ts'
import { editIn, lockOrder, withCatalogue } from '../editing/edit-order.ts'
import { readEdit } from '../editing/read-edit.ts'
import { findOpenAttempt } from '../failures/attempts.ts'
import { type Instruction, instruct } from '../failures/instruct.ts'
import { isClearAddress } from './clear-address.ts'
import { findOutcome, insertAction, lockAction, type Outcome } from './queries.ts'

interface Delivered extends Pick<ChangeOptions, 'movePoints' | 'catalogues'> {
  readonly tenant: string
  readonly action: CustomerAction
  readonly requestId: string
  readonly traceparent: string | undefined
  /** Holds the public address of orders. */
  readonly publicUrl: string | undefined
}

export type Result = CustomerActionResults['data'][number]

type Acted = { readonly result: Result; readonly isRepeated: boolean }

/**
 * Applies an action once for its id: one transaction writes outcome, order, timeline, log and audit, and a repeated id
 * changes nothing. undefined: the catalogue kept changing, and nothing was written.
 */
export const act = async (
  { pool, catalogues, facets }: FacetStore,
  delivered: Delivered,
): Promise<Acted | undefined> => {
  const { tenant, action, publicUrl } = delivered
  const { id } = action
  if (!isWaybill.test(action.waybill_number)) return { result: { id, ...unknown, order: null }, isRepeated: false }
  const acted = await withCatalogue(catalogues, tenant, catalogue =>
    inTenant<Tables, Stored | undefined>(pool, tenant, tx => actIn(tx, facets, catalogue, delivered), {
      keeps: acted => acted !== undefined,
      isPlannedOnce: true,
    }),
  )
  if (!acted) return undefined
  const { outcome, row, isRepeated } = acted
  const read: Read = query => readInTenant(pool, tenant, query)
  const order = row
    ? await viewDetails(facets, read, { row, catalogue: await catalogues.since(tenant, row.version) }, publicUrl)
    : null
  return { result: { id, ...outcome, order }, isRepeated }
}

interface Stored {
  readonly outcome: Outcome
  /** Is absent if the order does not exist, or if the message went to a phone number that the order no longer has. */
  readonly row: TrackedRow | undefined
  readonly isRepeated: boolean
}

const actIn = async (
  tx: Tx,
  facets: Facets,
  catalogue: Catalogue,
  delivered: Delivered,
): Promise<Stored | undefined> => {
  const { tenant, action } = delivered
  const [, , , stored] = await Promise.all([
    limitLockWait(tx),
    lockAction(tx, tenant, action.id),
    // Locks the set of statuses before the order, as a move does.
    keepStatusSet(tx, tenant),
    findOutcome(tx, tenant, action.id),
  ])
  const outcome = stored ?? (await perform(tx, catalogue, delivered))
  if (!outcome) return undefined
  if (!stored) await insertAction(tx, tenant, action, outcome)
  const isForRecipient = outcome.detail !== otherPerson.detail
  const row = isForRecipient ? await findTracked(tx, facets, tenant, action.waybill_number) : undefined
  return { outcome, row, isRepeated: stored !== undefined }
}

const done: Outcome = { outcome: 'done', detail: null }
const requested: Outcome = { outcome: 'requested', detail: null }
const refused = (detail: string): Outcome => ({ outcome: 'refused', detail })
const refusedBy = (errors: FieldErrors): Outcome => refused(Object.values(errors).flat().join(' '))
const unknown = refused('The requested waybill does not exist in the system.')
const otherPerson = refused('The order has another phone number since the message was sent.')

const customer = { isCustomer: true } as const

/** Carries out an action on its order, unless the order refuses it. undefined: the catalogue is out of date. */
const perform = async (tx: Tx, catalogue: Catalogue, delivered: Delivered): Promise<Outcome | undefined> => {
  const { tenant, action: given } = delivered
  const { action, address, waybill_number: waybill } = given
  const order = await lockOrder(tx, { tenant, waybill, editor: customer })
  if (!order) return unknown
  if (!isRecipient(order, given.recipient, catalogue.country)) return otherPerson
  if (action === 'confirm_order') return move(tx, delivered, confirmedKey)
  if (action === 'cancel_order') return move(tx, delivered, cancelledKey)
  const hasFailed = (await findOpenAttempt(tx, tenant, waybill)) !== undefined
  if (action === 'change_address' && address !== undefined) {
    const kept = checkAddress(catalogue, given, order, { address, hasFailed })
    if (kept) return kept
  }
  if (hasFailed && (action === 'reattempt' || action === 'return')) return giveInstruction(tx, delivered, { action })
  if (hasFailed && action === 'tomorrow')
    return giveInstruction(tx, delivered, {
      action: 'reattempt',
      date: await findDayAfter(tx, tenant, given.happened_at),
    })
  if (hasFailed && action === 'change_address')
    return address === undefined
      ? { outcome: 'asked', detail: null }
      : giveInstruction(tx, delivered, { action, address })
  if (action === 'change_address' && address !== undefined) return changeAddress(tx, catalogue, delivered, address)
  const statuses = await findStatuses(tx, tenant)
  return action === 'change_address' ? checkAddressChange(given, order, statuses) : checkRequest(given, order, statuses)
}

/**
 * Returns false if the message went to a phone number that the order no longer has: whoever got it by mistake decides
 * nothing.
 */
const isRecipient = (order: OrderRow, recipient: string | undefined, country: string): boolean =>
  recipient === undefined ||
  [order.customer_phone, order.customer_secondary_phone ?? ''].some(
    phone => readPhone(phone, country).key === `+${identifyPerson(recipient)}`,
  )

const nameActor = ({ action, requestId }: Delivered): Actor => ({ kind: 'customer', name: action.id, requestId })

const move = async (tx: Tx, delivered: Delivered, statusKey: string): Promise<Outcome> => {
  const { tenant, action, traceparent } = delivered
  const waybills = [action.waybill_number]
  const by = nameActor(delivered)
  const wanted = { tenant, mover: customer, waybills, statusKey, note: null, by, traceparent }
  const moved = await moveIn(tx, delivered, wanted)
  return moved.kind === 'moved' ? done : refusedBy(moved.errors)
}

/** Gives an instruction: after a failed delivery, customers decide what they otherwise request from staff. */
const giveInstruction = async (
  tx: Tx,
  delivered: Delivered,
  { action, address, date = null }: Pick<Instruction, 'action'> & { address?: string; date?: string | null },
): Promise<Outcome> => {
  const { tenant, action: given } = delivered
  const by = nameActor(delivered)
  const wanted = { tenant, waybill: given.waybill_number, giver: customer, action, address: address ?? null }
  const result = await instruct(tx, { ...wanted, date, note: null, by })
  if (result.kind === 'unknown') return unknown
  if (result.kind === 'refused') return refusedBy(result.errors)
  await audit(tx, tenant, by, 'order.instructed', given.waybill_number)
  return done
}

/** Returns the day after a press, or today if that day is past, in the time zone of the company. */
const findDayAfter = async (tx: Tx, tenant: string, pressedAt: string): Promise<string> =>
  (await tx.client.query(dayAfterSql, [tenant, pressedAt])).rows[0].day

const dayAfterSql = `
  select greatest(($2::timestamptz at time zone time_zone)::date + 1, (now() at time zone time_zone)::date)::text as day
  from tenants where tenant_id = $1`

const checkAddressChange = (given: CustomerAction, { status_key }: OrderRow, statuses: Statuses): Outcome => {
  const wanted = { waybill: given.waybill_number, editor: customer, given: ['customer_address'] }
  const errors = checkFields(wanted, status_key, statuses)
  return Object.keys(errors).length > 0 ? refusedBy(errors) : { outcome: 'asked', detail: null }
}

const checkRequest = (given: CustomerAction, { status_key }: OrderRow, statuses: Statuses): Outcome =>
  isFinal(statuses.get(status_key))
    ? refused(`${given.waybill_number} is ${nameStatus(status_key, statuses)}: there is nothing left to request.`)
    : requested

/**
 * Refuses an address that cannot be stored or changed, and leaves one that is not clear to staff: the city would stay
 * as it is, and with it the price. undefined: the address is clear.
 */
const checkAddress = (
  { names, cities, statuses }: Catalogue,
  given: CustomerAction,
  order: OrderRow,
  { address, hasFailed }: { address: string; hasFailed: boolean },
): Outcome | undefined => {
  const read = readEdit('merchant', { customer_address: address })
  if (read.kind === 'refused') return refusedBy(read.errors.errors)
  const city = names.cities.get(order.destination_city_id)
  if (city && isClearAddress(address, city, cities)) return undefined
  const may = hasFailed ? requested : checkAddressChange(given, order, statuses)
  return may.outcome === 'refused' ? may : requested
}

const changeAddress = async (tx: Tx, catalogue: Catalogue, delivered: Delivered, address: string) => {
  const { tenant, action } = delivered
  const read = readEdit('merchant', { customer_address: address })
  if (read.kind === 'refused') return refusedBy(read.errors.errors)
  const edit = { tenant, waybill: action.waybill_number, editor: customer, changes: read.changes, ifMatch: undefined }
  const edited = await editIn(tx, delivered.movePoints, catalogue, { ...edit, by: nameActor(delivered) })
  if (!edited || edited.kind === 'stale') return undefined
  if (edited.kind === 'unknown') return unknown
  return edited.kind === 'edited' ? done : refusedBy(edited.errors)
}
