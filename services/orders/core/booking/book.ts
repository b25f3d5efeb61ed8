import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import { remember } from '@courier/shared/postgres/history.ts'
import type { IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { Catalogue, Catalogues } from '../catalogue/catalogue.ts'
import type { Refusal } from '../catalogue/price-parcels.ts'
import type { NewBatch } from './batch-rows.ts'
import type { WriteBatch } from './batch-writer.ts'
import { type BookingPoint, readPoints } from './booking-point.ts'
import { type CheckedBatch, checkBatch, type Verdict } from './check-batch.ts'
import { type Conflicts, readConflicts } from './conflicts.ts'
import { type FindHabits, warnReturns, warnUsedNumbers } from './history.ts'
import type { Batch, ReadableBatch } from './read-batch.ts'
import { type Comparable, leaveNumbersOut } from './similar-orders.ts'
import { chooseCheck, type Suspicions, suspect, suspectAlike } from './warnings.ts'
import { type NumberedOrders, numberOrders, type WaybillNumbers } from './waybill-numbers.ts'

export interface BookingDependencies {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
  readonly numbers: WaybillNumbers
  readonly findHabits: FindHabits
  readonly writeBatch: WriteBatch
  readonly bookingPoints: readonly BookingPoint[]
}

/** Describes a merchant's batch: the parts whose shape is right. */
interface Asked {
  readonly tenant: string
  readonly merchantId: string
  readonly batch: ReadableBatch
  /** Lists the errors in the shape of the batch. */
  readonly errors?: ErrorList
}

/** Describes a batch whose shape is right, and the key under which its response is kept. */
interface Booking extends Asked {
  readonly batch: Batch
  readonly person?: NewBatch['person']
  readonly key?: IdempotencyKey | undefined
  readonly traceparent?: string | undefined
}

export type Booked =
  /** `replayed`: an earlier request with the same key and body created the orders. */
  | { kind: 'booked'; waybills: readonly string[]; warnings: FieldErrors; replayed: boolean }
  | Refusal
  /** A request with the same Idempotency-Key is running now. */
  | { kind: 'running' }
  /** The Idempotency-Key came with another body before. */
  | { kind: 'other_body' }
  /** The service gave up because the catalogue or waybills kept changing; nothing was written. */
  | { kind: 'busy' }

const maxAttempts = 20
const isBookedSql = 'select from orders where tenant_id = $1 and waybill_number = $2'

/**
 * Creates all orders of a batch, or creates none and returns every error (docs/merchants/contract.md#errors). Tries
 * again when the batch was not written although nothing is wrong with it now.
 */
export const bookOrders = async (dependencies: BookingDependencies, booking: Booking): Promise<Booked> => {
  const { pool, catalogues, numbers, writeBatch } = dependencies
  const { tenant, batch } = booking
  let catalogue = await catalogues.current(tenant)
  let isTaken = false
  for (let attempt = 1; attempt <= maxAttempts; attempt++) {
    const checked = await check(dependencies, booking, catalogue)
    const { verdict, suspicions, bookedWith } = checked
    const isRight = verdict.kind === 'accepted' && suspicions.errors.count === 0
    const numbered = isRight ? await numberOrders(pool, numbers, batch.orders, catalogue, isTaken) : undefined
    if (isRight && numbered) {
      const { waybills } = numbered
      const found = { batch: verdict.batch, waybills, warnings: suspicions.warnings, bookedWith }
      const duplicates = chooseCheck(catalogue, waybills.length)
      const written = await writeBatch(tenant, { ...booking, ...found, version: catalogue.version, duplicates })
      if (written.kind === 'written') {
        remember(pool, 'order', { tenant, text: isBookedSql, values: [tenant, waybills.at(-1)] })
        return { kind: 'booked', waybills, warnings: written.warnings, replayed: false }
      }
      isTaken = written.kind === 'taken'
    }
    const explained = await explain(dependencies, booking, checked, numbered)
    if (explained) return explained
    catalogue = await catalogues.fresh(tenant)
  }
  return { kind: 'busy' }
}

export type Quotation = { kind: 'quoted'; batch: CheckedBatch; currency: string; warnings: FieldErrors } | Refusal

/**
 * Prices the batch and runs the checks of `bookOrders`, except the one for enough waybill numbers. Creates nothing and
 * uses no waybill number.
 */
export const quoteOrders = async (
  dependencies: BookingDependencies,
  asked: Asked & { readonly actor: Actor },
): Promise<Quotation> => {
  const { pool, catalogues } = dependencies
  const { tenant, batch } = asked
  const catalogue = await catalogues.fresh(tenant)
  const checked = await check(dependencies, asked, catalogue)
  const { verdict, suspicions } = checked
  const comparable = catalogue.checks.duplicate !== 'off' && toComparable(asked, verdict)
  const found = await readConflicts(pool, tenant, { waybills: listGivenWaybills(batch), comparable })
  // Leaves order numbers that only warn to warnUsedNumbers, which names their parcels of any day.
  const isRefused = catalogue.checks.duplicate === 'refuse'
  const conflicts = isRefused ? found : { ...found, alike: leaveNumbersOut(found.alike) }
  const refusal = refuse(checked, batch, conflicts, true)
  if (refusal || verdict.kind === 'refused') return refusal ?? (verdict as Refusal)
  await warnReturns(pool, asked, verdict.batch, suspicions.warnings)
  if (comparable) await warnUsedNumbers(pool, tenant, verdict.batch, suspicions.warnings)
  return { kind: 'quoted', batch: verdict.batch, currency: catalogue.currency, warnings: suspicions.warnings.errors }
}

/** Describes a batch that was checked against one version of the catalogue. */
interface Checked {
  readonly catalogue: Catalogue
  readonly verdict: Verdict
  readonly suspicions: Suspicions
  readonly bookedWith?: string | undefined
}

const check = async (
  { pool, findHabits, bookingPoints }: BookingDependencies,
  { tenant, merchantId, batch, errors = new ErrorList() }: Asked,
  catalogue: Catalogue,
): Promise<Checked> => {
  const bookedWith = await readPoints(pool, bookingPoints, { tenant, merchantId, batch }, errors)
  const verdict = checkBatch(batch, catalogue, merchantId, errors)
  if (verdict.kind === 'refused')
    return { catalogue, verdict, suspicions: { errors: verdict.errors, warnings: new ErrorList() } }
  const habits = catalogue.checks.unusual === 'off' ? undefined : await findHabits(tenant, merchantId)
  return { catalogue, verdict, suspicions: suspect(verdict.batch, catalogue, habits), bookedWith }
}

const toComparable = ({ merchantId }: Asked, verdict: Verdict): Comparable | undefined =>
  verdict.kind === 'accepted' ? { merchantId, ...verdict.batch } : undefined

const listGivenWaybills = ({ orders }: ReadableBatch): string[] => orders.flatMap(order => order?.waybill ?? [])

/** Returns the response to a batch that was not written; undefined when nothing is wrong with it now. */
const explain = async (
  { pool, catalogues, numbers }: BookingDependencies,
  booking: Booking,
  checked: Checked,
  numbered: NumberedOrders | undefined,
): Promise<Booked | undefined> => {
  const { tenant, batch, key } = booking
  const { version, checks, waybills } = checked.catalogue
  const wanted = numbered?.waybills ?? listGivenWaybills(batch)
  const comparable = checks.duplicate === 'refuse' && toComparable(booking, checked.verdict)
  const conflicts = await readConflicts(pool, tenant, { waybills: wanted, key, comparable })
  const unused = numbered?.fresh.filter(waybill => !conflicts.existing.has(waybill)) ?? []
  numbers.release(tenant, waybills.format, unused)
  const { claim, warnings } = conflicts
  if (claim?.kind === 'finished') return { kind: 'booked', waybills: claim.result, warnings, replayed: true }
  if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
  const newest = await catalogues.fresh(tenant)
  return newest.version === version ? refuse(checked, batch, conflicts, numbered !== undefined) : undefined
}

/** Adds the batch's conflicts to its errors and warnings. Returns every error; undefined when there is none. */
const refuse = (
  { verdict, catalogue, suspicions: { errors, warnings } }: Checked,
  { orders }: ReadableBatch,
  { existing, alike }: Conflicts,
  isNumbered: boolean,
): Refusal | undefined => {
  if (verdict.kind === 'accepted')
    suspectAlike(verdict.batch.orders, alike, catalogue.checks.duplicate === 'refuse' ? errors : warnings)
  if (errors.count === 0 && !isNumbered) errors.add('errors', wordShortage(catalogue))
  for (const [index, order] of orders.entries())
    if (order?.waybill !== undefined && existing.has(order.waybill))
      errors.addFirst(`order_data.${index}.waybill_number`, 'The waybill number has already been taken.')
  if (verdict.kind === 'refused') return verdict
  return errors.count > 0 ? { kind: 'refused', errors, suggestions: undefined, missingRates: [] } : undefined
}

const wordShortage = ({ waybills: { format } }: Catalogue): string =>
  `Fewer waybill numbers of the format ${format.mask} are left than the batch needs. Ask the courier company for a longer format.`
