import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import type { Catalogue, Check } from '../catalogue/catalogue.ts'
import type { FindAlike } from './alike.ts'
import type { Alike } from './batch-rows.ts'
import type { CheckedBatch, PricedOrder } from './check-batch.ts'
import type { FindHabits, Habits } from './habits.ts'
import { isUsualPhone, phoneProblem } from './phone-check.ts'

/** What looks wrong in a legal batch, by what the tenant makes of it. */
export interface Suspicions {
  readonly warnings: ErrorList
  readonly errors: ErrorList
  /** All warnings, by the earlier orders that the batch's orders look like: the writer looks for them (NewBatch). */
  readonly warningsOf?: ((alike: readonly (Alike | undefined)[]) => FieldErrors) | undefined
}

export interface SuspicionDependencies {
  readonly findAlike: FindAlike
  readonly findHabits: FindHabits
}

/** In larger batches earlier orders are looked for only where the tenant's file asks. */
const maxLookedUp = 100

/** Nothing is written. `isDryRun` looks for earlier orders however large the batch is. */
export const suspect = async (
  { findAlike, findHabits }: SuspicionDependencies,
  batch: CheckedBatch,
  { tenant, country, checks }: Catalogue,
  merchantId: string,
  isDryRun: boolean,
): Promise<Suspicions> => {
  const lists: Record<Check, ErrorList | undefined> = {
    off: undefined,
    warn: new ErrorList(),
    refuse: new ErrorList(),
  }
  const phones = lists[checks.phone ?? 'warn']
  if (phones) suspectPhones(batch.orders, country, phones)
  let warningsOf: Suspicions['warningsOf']
  const duplicates = lists[checks.duplicate ?? 'warn']
  if (duplicates) {
    suspectRepeats(batch.orders, duplicates)
    if (isDryRun || checks.duplicate === 'refuse')
      suspectAllAlike(batch.orders, await findAlike(tenant, likenesses(batch.orders, merchantId)), duplicates)
    else if (checks.duplicate || batch.orders.length <= maxLookedUp)
      warningsOf = alike => {
        suspectAllAlike(batch.orders, alike, duplicates)
        return duplicates.errors
      }
  }
  const unusual = lists[checks.unusual ?? 'warn']
  const habits = unusual && (await findHabits(tenant, merchantId))
  if (habits) suspectUnusual(batch.orders, habits, unusual)
  return { warnings: lists.warn as ErrorList, errors: lists.refuse as ErrorList, warningsOf }
}

/** Unusual spellings of a batch that are looked into: reading one takes as long as checking the rest of its order. */
const maxUnusualPhones = 200

const suspectPhones = (orders: readonly PricedOrder[], country: string, list: ErrorList): void => {
  let unusual = 0
  for (const [index, { order }] of orders.entries()) {
    if (isUsualPhone(order.customerPhone, country)) continue
    if (++unusual > maxUnusualPhones) return
    const problem = phoneProblem(order.customerPhone, country)
    if (problem) list.add(`order_data.${index}.customer_phone`, problem)
  }
}

/** Orders of one batch: a sentence for each group, at the second of it. */
const suspectRepeats = (orders: readonly PricedOrder[], list: ErrorList): void => {
  if (orders.length < 2) return
  const all = orders.keys()
  for (const samePhone of repeatsOf(all, index => orders[index]?.order.customerPhone).values())
    for (const [first, second, ...more] of repeatsOf(samePhone, index => parcelOf(orders[index])).values())
      list.add(
        `order_data.${second}`,
        `The order looks like order_data.${first}${andMore(more)}: same phone, COD and city.`,
      )
  for (const [number, [first, second, ...more]] of repeatsOf(orders.keys(), index => orders[index]?.order.orderNo))
    list.add(
      `order_data.${second}.order_no`,
      `The order no ${number} is that of order_data.${first}${andMore(more)}, too.`,
    )
}

/** Different numbers in one batch say that the orders differ. */
const parcelOf = (priced: PricedOrder | undefined): string =>
  `${priced?.order.cod} ${priced?.destination.id} ${priced?.order.orderNo ?? ''}`

/** Those of the indexes that have a key in common with an earlier one, and that one, by key. */
const repeatsOf = (indexes: Iterable<number>, keyOf: (index: number) => string | undefined): Map<string, number[]> => {
  const first = new Map<string, number>()
  const repeats = new Map<string, number[]>()
  for (const index of indexes) {
    const key = keyOf(index)
    if (key === undefined) continue
    const earlier = first.get(key)
    if (earlier === undefined) first.set(key, index)
    else {
      const group = repeats.get(key)
      if (group) group.push(index)
      else repeats.set(key, [earlier, index])
    }
  }
  return repeats
}

const andMore = ({ length }: readonly number[]): string => (length > 0 ? ` and ${length} more of the batch` : '')

const likenesses = (orders: readonly PricedOrder[], merchantId: string) =>
  orders.map(({ order, destination }) => ({
    merchantId,
    phone: order.customerPhone,
    cod: order.cod,
    cityId: destination.id,
    orderNo: order.orderNo,
  }))

const suspectAllAlike = (
  orders: readonly PricedOrder[],
  alike: readonly (Alike | undefined)[],
  list: ErrorList,
): void => {
  for (const [index, of] of alike.entries()) if (of) suspectAlike(index, of, orders[index], list)
}

const suspectAlike = (index: number, alike: Alike, priced: PricedOrder | undefined, list: ErrorList): void => {
  const path = `order_data.${index}`
  if (alike.sameParcel !== null)
    list.add(path, `The order looks like ${alike.sameParcel} of the last 24 hours: same phone, COD and city.`)
  if (alike.sameOrderNo !== null)
    list.add(
      `${path}.order_no`,
      `The order no ${priced?.order.orderNo} is that of ${alike.sameOrderNo} of the last 24 hours, too.`,
    )
}

/** Money to be collected in a city, or for a weight, that the merchant never had: a digit or a row may have slipped. */
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
