import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { warnUnprintable } from '@courier/shared/printable.ts'
import type { Catalogue } from '../catalogue/catalogue.ts'
import type { Check } from '../catalogue/queries.ts'
import type { CheckedBatch, PricedOrder } from './check-batch.ts'
import type { Habits } from './history.ts'
import { isNationalPhone, phoneProblem } from './phone-check.ts'
import { type FoundAlike, similarHours } from './similar-orders.ts'

export type Suspicions = ReturnType<typeof suspect>

/** Larger batches are checked for similar earlier orders only if the tenant's file asks, or in a dry run. */
const maxLookedUp = 100

/** Returns how orders similar to earlier ones are treated. */
export const chooseCheck = ({ checks: { duplicate } }: Catalogue, orders: number): Check =>
  duplicate ?? (orders <= maxLookedUp ? 'warn' : 'off')

/** Lists the doubts that need no look-up of similar orders, by how the tenant treats them. */
export const suspect = ({ orders }: CheckedBatch, { country, checks }: Catalogue, habits: Habits | undefined) => {
  const suspicions = { warnings: new ErrorList(), errors: new ErrorList() }
  const chooseList = (check: Check | null): ErrorList | undefined =>
    check === 'off' ? undefined : check === 'refuse' ? suspicions.errors : suspicions.warnings
  const [phones, duplicates, unusual] = [checks.phone, checks.duplicate, checks.unusual].map(chooseList)
  if (phones) suspectPhones(orders, country, phones)
  if (duplicates) suspectRepeats(orders, duplicates)
  if (unusual && habits) suspectUnusual(orders, habits, unusual)
  suspectUnprintable(orders, suspicions.warnings)
  return suspicions
}

/**
 * Returns `warnings` with those about similar orders, which are found last. Does not change `warnings`: the writer may
 * write the batch again.
 */
export const addAlike = (warnings: ErrorList, orders: readonly PricedOrder[], alike: FoundAlike): FieldErrors => {
  const list = new ErrorList()
  list.addAll(warnings.errors)
  suspectAlike(orders, alike, list)
  return list.errors
}

/** Limits the foreign numbers checked in a batch: parsing one takes as long as checking the rest of its order. */
const maxForeignPhones = 200

const suspectPhones = (orders: readonly PricedOrder[], country: string, list: ErrorList): void => {
  let foreign = 0
  for (const [index, { phone }] of orders.entries()) {
    if (
      isNationalPhone(phone, country) ||
      (phone.number !== undefined && !phone.holdsMore && ++foreign > maxForeignPhones)
    )
      continue
    const problem = phoneProblem(phone, country)
    if (problem) list.add(`order_data.${index}.customer_phone`, problem)
  }
}

const suspectUnprintable = (orders: readonly PricedOrder[], list: ErrorList): void => {
  for (const [index, { order }] of orders.entries()) {
    const add = (field: string, text: string | undefined): void => {
      const sentence = warnUnprintable(text)
      if (sentence) list.add(`order_data.${index}.${field}`, sentence)
    }
    add('customer_name', order.customerName)
    add('customer_address', order.customerAddress)
    add('order_no', order.orderNo)
    add('description', order.description)
  }
}

/**
 * Adds one sentence for each group of similar orders in a batch, at the second of them. Parcels with different order
 * numbers are distinct.
 */
const suspectRepeats = (orders: readonly PricedOrder[], list: ErrorList): void => {
  if (orders.length < 2) return
  const all = [...orders.keys()]
  for (const [, samePhone] of findRepeats(all, index => orders[index]?.phone.key))
    for (const [, [first, second, ...more]] of findRepeats(samePhone, index => identifyParcel(orders[index])))
      list.add(
        `order_data.${second}`,
        `The order looks like order_data.${first}${wordRest(more)}: same phone, COD and city.`,
      )
  for (const [number, [first, second, ...more]] of findRepeats(all, index =>
    orders[index]?.order.orderNo?.normalize('NFC'),
  ))
    list.add(
      `order_data.${second}.order_no`,
      `The order no ${number} is that of order_data.${first}${wordRest(more)}, too.`,
    )
}

const identifyParcel = (priced: PricedOrder | undefined): string =>
  `${priced?.order.cod} ${priced?.destination.id} ${priced?.order.orderNo ?? ''}`

/** Groups the indexes that share a key with others, by key. */
const findRepeats = <Key>(indexes: readonly number[], readKey: (index: number) => Key | undefined): [Key, number[]][] =>
  [...Map.groupBy(indexes, readKey)].filter(
    (group): group is [Key, number[]] => group[0] !== undefined && group[1].length > 1,
  )

const wordRest = ({ length }: readonly number[]): string => (length > 0 ? ` and ${length} more of the batch` : '')

export const suspectAlike = (orders: readonly PricedOrder[], alike: FoundAlike, list: ErrorList): void => {
  for (const [index, priced] of orders.entries()) {
    const { sameParcel, sameOrderNo } = alike.get(priced) ?? { sameParcel: null, sameOrderNo: null }
    const path = `order_data.${index}`
    if (sameParcel !== null)
      list.add(path, `The order looks like ${sameParcel} of the last ${similarHours} hours: same phone, COD and city.`)
    if (sameOrderNo !== null)
      list.add(
        `${path}.order_no`,
        `The order no ${priced.order.orderNo} is that of ${sameOrderNo} of the last ${similarHours} hours, too.`,
      )
  }
}

/**
 * Warns of money to be collected in a city that is new to the merchant, or for a weight above those of its earlier
 * orders: a digit or a row may have slipped.
 */
const suspectUnusual = (
  orders: readonly PricedOrder[],
  { cityIds, maxWeightKg, ...habits }: Habits,
  list: ErrorList,
) => {
  const newCities = new Set<number>()
  for (const [index, { order, destination }] of orders.entries()) {
    if (order.cod === 0) continue
    if (!cityIds.has(destination.id) && !newCities.has(destination.id)) {
      newCities.add(destination.id)
      list.add(
        `order_data.${index}`,
        `None of your last ${habits.orders} orders went to ${destination.name} in ${destination.state.name}: check the city before COD is collected there.`,
      )
    }
    if (order.weightKg > maxWeightKg)
      list.add(
        `order_data.${index}.weight`,
        `None of your last ${habits.orders} orders weighed more than ${maxWeightKg} kg: check the weight.`,
      )
  }
}
