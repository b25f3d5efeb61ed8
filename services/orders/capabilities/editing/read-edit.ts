import { ErrorList, isBlank, label, listErrors, required } from '@courier/shared/errors/field-errors.ts'
import type { Static } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import {
  isObject,
  readText,
  referToCity,
  refuseBadNumbers,
  refuseBadText,
  removeEmptyLists,
  requireNames,
} from '../../core/booking/read-batch.ts'
import type { CityReference } from '../../core/places/cities.ts'
import type { OrderState } from '../../core/tracking/etag.ts'
import { fieldNames, fixedFields, OrderEdit, StaffOrderEdit } from './schema.ts'

/** Holds the new values by column. */
type NewValues = Partial<Omit<OrderState, 'destination_city_id' | 'delivery_charge' | 'status_key'>>

export interface OrderChanges {
  /** Lists the fields that the body has. */
  readonly given: readonly string[]
  readonly values: NewValues
  readonly destination: CityReference | undefined
  readonly reason: string | null
}

type ReadEdit = { kind: 'read'; changes: OrderChanges } | { kind: 'refused'; errors: ErrorList }

type Body = Static<typeof OrderEdit> & Partial<Static<typeof StaffOrderEdit>>

const checks = { merchant: TypeCompiler.Compile(OrderEdit), staff: TypeCompiler.Compile(StaffOrderEdit) }

/** Reads the changes of a body, or returns every error of its shape, as for one order of a batch. */
export const readEdit = (editor: 'merchant' | 'staff', body: unknown): ReadEdit => {
  const record = isObject(body) ? body : {}
  removeEmptyLists(record, OrderEdit)
  const given = fieldNames.filter(name => Object.hasOwn(record, name))
  const errors = new ErrorList()
  for (const [name, reason] of Object.entries(fixedFields))
    if (Object.hasOwn(record, name)) errors.add(name, `The ${label(name)} field cannot be changed: ${reason}`)
  errors.addAll(listErrors(checks[editor], body).errors)
  if (editor === 'staff' && isBlank(record.reason)) errors.addFirst('reason', required('reason'))
  if (isObject(body) && given.length === 0) errors.add('errors', `Give a field to change: ${fieldNames.join(', ')}.`)
  const hasCity = given.some(name => name.startsWith('destination_'))
  if (hasCity) requireNames(record, '', 'destination', errors)
  refuseBadNumbers(record, '', errors)
  refuseBadText(record, '', errors)
  return errors.count > 0 ? { kind: 'refused', errors } : { kind: 'read', changes: toChanges(record as Body, given) }
}

const toChanges = (body: Body, given: readonly string[]): OrderChanges => {
  const { destination_city_id, destination_city_name, destination_state_name, cod, weight, reason, ...texts } = body
  const hasCity = given.some(name => name.startsWith('destination_'))
  const values = Object.entries(texts).map(([name, text]) => [name, readText(text) ?? null])
  return {
    given,
    values: {
      ...Object.fromEntries(values),
      ...(cod !== undefined && { cod: Number(cod) }),
      ...(weight !== undefined && { weight: Number(weight) }),
    },
    destination: hasCity ? referToCity(destination_city_id, destination_city_name, destination_state_name) : undefined,
    reason: reason?.trim() ?? null,
  }
}
