import type { FieldErrors } from '@courier/shared/http/errors.ts'
import { isUsualPhone, phoneProblem } from '../booking/phone-check.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import { type Mover, nameOf } from '../orders/check-moves.ts'
import { beforePickup, classOf, type Statuses } from '../orders/statuses.ts'
import type { OrderChanges } from './read-edit.ts'
import { fieldNames } from './schema.ts'

const contactFields = fieldNames.filter(name => name.startsWith('customer_'))

/** What may be changed of an order in that status: everything before it is picked up; then, by staff, how to reach the recipient. */
export const editableFields = (statusKey: string, editor: Mover): readonly string[] => {
  if (beforePickup.includes(statusKey)) return fieldNames
  return 'staffName' in editor && classOf(statusKey) === 'under_way' ? contactFields : []
}

/** A sentence for each given field that may not be changed any more. */
export const checkFields = (
  { waybill, editor, changes }: { waybill: string; editor: Mover; changes: OrderChanges },
  statusKey: string,
  statuses: Statuses,
): FieldErrors => {
  const editable = editableFields(statusKey, editor)
  const refused = changes.given.filter(name => !editable.includes(name))
  const sentence = `${waybill} is ${nameOf(statusKey, statuses)}: ${hintOf(editable, editor, statuses)}`
  return Object.fromEntries(refused.map(name => [name, [sentence]]))
}

const hintOf = (editable: readonly string[], editor: Mover, statuses: Statuses): string => {
  if (editable.length > 0) return `only ${editable.join(', ')} may be changed.`
  if ('staffName' in editor) return 'it may not be changed any more.'
  const open = beforePickup.filter(key => statuses.has(key)).map(key => nameOf(key, statuses))
  return `you may change an order that is ${open.join(' or ')}.`
}

/** What is wrong with a new phone number: an error or a warning, as the tenant chose for new orders. */
export const checkPhone = (phone: string | undefined, { country, checks }: Catalogue) => {
  const check = checks.phone ?? 'warn'
  const isFine = phone === undefined || check === 'off' || isUsualPhone(phone, country)
  const problem = isFine ? undefined : phoneProblem(phone, country)
  const found: FieldErrors = problem ? { customer_phone: [problem] } : {}
  return check === 'refuse' ? { errors: found, warnings: {} } : { errors: {}, warnings: found }
}
