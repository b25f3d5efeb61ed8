import type { ErrorBody, FieldErrors } from '@courier/shared/errors/errors.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { readPhone } from '@courier/shared/phone-number.ts'
import { warnUnprintable } from '@courier/shared/printable.ts'
import { phoneProblem } from '../../core/booking/phone-check.ts'
import type { Catalogue } from '../../core/catalogue/catalogue.ts'
import { findPrices } from '../../core/catalogue/price-parcels.ts'
import { charge, toAmount } from '../../core/catalogue/rate-card.ts'
import { type Mover, nameStatus, whoMay } from '../../core/moves/check-moves.ts'
import { beforePickup, editableIn, type Statuses } from '../../core/statuses/statuses.ts'
import type { OrderState } from '../../core/tracking/etag.ts'
import type { OrderRow } from '../../core/tracking/order-rows.ts'
import type { OrderChanges } from './read-edit.ts'
import { fieldNames } from './schema.ts'

export type RefusedEdit = { kind: 'refused'; errors: FieldErrors; suggestions?: ErrorBody['suggestions'] }

interface WantedFields {
  readonly waybill: string
  readonly editor: Mover
  /** Lists the names of the fields to change. */
  readonly given: readonly string[]
}

type WantedEdit = Omit<WantedFields, 'given'> & { readonly changes: OrderChanges }

/**
 * Returns the edited order, or the errors of a change whose shape is right: those of fields that may no longer change,
 * or else all others. The result holds for this version of the catalogue only.
 */
export const checkEdit = (
  edit: WantedEdit,
  order: OrderRow,
  catalogue: Catalogue,
): { kind: 'accepted'; state: OrderState; warnings: FieldErrors } | RefusedEdit => {
  const refused = checkFields({ ...edit, given: edit.changes.given }, order.status_key, catalogue.statuses)
  if (Object.keys(refused).length > 0) return { kind: 'refused', errors: refused }
  const { values } = edit.changes
  const phone = values.customer_phone === order.customer_phone ? undefined : values.customer_phone
  const { warnings, ...checked } = checkPhone(phone, catalogue)
  const second = values.customer_secondary_phone ?? order.customer_secondary_phone
  const isRefused = second !== order.customer_secondary_phone && !catalogue.secondaryPhone
  const errors = { ...checked.errors, ...(isRefused && { customer_secondary_phone: [noSecondPhone] }) }
  const priced = reprice(order, edit.changes, catalogue)
  if (priced.kind === 'refused')
    return { kind: 'refused', errors: { ...errors, ...priced.errors.errors }, suggestions: priced.suggestions }
  if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
  return { kind: 'accepted', state: priced.state, warnings: { ...warnings, ...warnOfLetters(values) } }
}

const printed = ['customer_name', 'customer_address', 'description'] as const

const warnOfLetters = (values: WantedEdit['changes']['values']): FieldErrors =>
  Object.fromEntries(
    printed.flatMap(field => {
      const sentence = warnUnprintable(values[field])
      return sentence ? [[field, [sentence]]] : []
    }),
  )

const noSecondPhone =
  'The customer secondary phone field cannot be set: the courier company keeps one phone number of each recipient.'

/** Reprices the order for a new city or weight; otherwise keeps its price. */
const reprice = (order: OrderRow, { values, destination }: OrderChanges, catalogue: Catalogue) => {
  const state: OrderState = { ...order, ...values }
  if (!destination && state.weight === order.weight) return { kind: 'priced' as const, state }
  const parcel = {
    origin: { cityId: String(order.origin_city_id) },
    destinations: [destination ?? { cityId: String(order.destination_city_id) }],
  }
  const paths = { origin: '', destination: () => '' }
  const found = findPrices(parcel, catalogue, order.merchant_id, new ErrorList(), paths)
  const [city, rate] = [found.destinations[0], found.rates[0]]
  if (!city || !rate) return found.refusal
  const destination_city_id = city.id
  const isSame = destination_city_id === order.destination_city_id && state.weight === order.weight
  const delivery_charge = isSame ? order.delivery_charge : toAmount(charge(rate, state.weight))
  return { kind: 'priced' as const, state: { ...state, destination_city_id, delivery_charge } }
}

const contactFields = fieldNames.filter(name => name.startsWith('customer_'))

/** Returns what an order in this status lets staff change, or its merchant and customer. */
export const findEditable = (statusKey: string, isStaff: boolean): ReturnType<typeof editableIn> => {
  const editable = editableIn(statusKey)
  return isStaff || editable === 'all' ? editable : 'none'
}

const listEditable = (statusKey: string, editor: Mover): readonly string[] => {
  const editable = findEditable(statusKey, 'staffName' in editor)
  if (editable === 'all') return fieldNames
  return editable === 'customer' ? contactFields : []
}

/** Returns an error for each given field that may no longer change. */
export const checkFields = ({ waybill, editor, given }: WantedFields, statusKey: string, statuses: Statuses) => {
  const editable = listEditable(statusKey, editor)
  const refused = given.filter(name => !editable.includes(name))
  const sentence = `${waybill} is ${nameStatus(statusKey, statuses)}: ${writeHint(editable, editor, statuses)}`
  return Object.fromEntries(refused.map(name => [name, [sentence]]))
}

const writeHint = (editable: readonly string[], editor: Mover, statuses: Statuses): string => {
  if (editable.length > 0) return `only ${editable.join(', ')} may be changed.`
  if ('staffName' in editor) return 'it may not be changed any more.'
  const open = beforePickup.filter(key => statuses.has(key)).map(key => nameStatus(key, statuses))
  return `${whoMay(editor)} only change an order that is ${open.join(' or ')}.`
}

/** Checks a new phone number. A problem is an error or a warning, as the tenant chose for new orders. */
const checkPhone = (phone: string | undefined, { country, checks }: Catalogue) => {
  const check = checks.phone ?? 'warn'
  const problem = phone === undefined || check === 'off' ? undefined : phoneProblem(readPhone(phone, country), country)
  const found: FieldErrors = problem ? { customer_phone: [problem] } : {}
  return check === 'refuse' ? { errors: found, warnings: {} } : { errors: {}, warnings: found }
}
