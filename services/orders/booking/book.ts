import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Claim, claimKey, deleteExpiredKey, type IdempotencyKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { Catalogue, Catalogues } from '../catalogue/catalogue.ts'
import type { Refusal } from '../catalogue/findings.ts'
import { findVersion } from '../catalogue/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { WriteBatch } from './batch-writer.ts'
import { type CheckedBatch, checkBatch, checkRest, type Verdict } from './check-batch.ts'
import { findExisting, findWarnings } from './insert-batch.ts'
import type { Batch, Order, ReadableBatch } from './read-batch.ts'
import { type SuspicionDependencies, type Suspicions, suspect } from './suspicions.ts'
import { numberOrders, type WaybillNumbers } from './waybill-numbers.ts'

/** What booking needs. */
export interface BookingDependencies extends SuspicionDependencies {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
  readonly numbers: WaybillNumbers
  readonly writeBatch: WriteBatch
}

/** A merchant's batch, and the key under which its response is kept. */
export interface Booking {
  readonly tenant: string
  readonly merchantId: string
  readonly batch: Batch
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
  | Busy

/** Gave up because the catalogue or waybills kept changing; nothing was written. */
export interface Busy {
  kind: 'busy'
}

const maxAttempts = 20

/**
 * Creates all orders of a batch, or none and returns every error (docs/merchants/contract.md#errors). After a failed write one
 * transaction reads the conflicts; a batch without any left is tried again.
 */
export const bookOrders = async (dependencies: BookingDependencies, booking: Booking): Promise<Booked> => {
  const { pool, catalogues, numbers, writeBatch } = dependencies
  const { tenant, merchantId, batch, key, traceparent } = booking
  let catalogue = await catalogues.current(tenant)
  for (let attempt = 1; catalogue && attempt <= maxAttempts; attempt++) {
    const isRetry = attempt > 1
    const verdict = checkBatch(batch, catalogue, merchantId)
    const suspicions = await suspicionsOf(dependencies, verdict, catalogue, merchantId, false)
    const isBookable = verdict.kind === 'accepted' && suspicions.errors.count === 0
    const numbered = isBookable ? await numberOrders(pool, numbers, batch.orders, catalogue, isRetry) : undefined
    if (isBookable && numbered) {
      const { waybills } = numbered
      const { warningsOf } = suspicions
      const batch = {
        merchantId,
        batch: verdict.batch,
        waybills,
        warnings: suspicions.warnings.errors,
        warningsOf,
        key,
        traceparent,
      }
      const warnings = await writeBatch(tenant, catalogue.version, batch, isRetry)
      if (warnings) return { kind: 'booked', waybills, warnings, replayed: false }
    }
    const wanted = numbered?.waybills ?? ownWaybills(batch.orders)
    const { claim, version, existing, warnings } = await inTenant(pool, tenant, (tx: Tx) =>
      readConflicts(tx, tenant, wanted, key),
    )
    if (numbered) {
      const unused = numbered.fresh.filter(waybill => !existing.has(waybill))
      numbers.release(tenant, catalogue.waybills.format, unused)
    }
    if (claim?.kind === 'finished') return { kind: 'booked', waybills: claim.result, warnings, replayed: true }
    if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
    if (version === catalogue.version) {
      const hasNumbers = numbered !== undefined || !isBookable
      const refusal = refuse(verdict, suspicions, hasNumbers, catalogue, batch.orders, existing)
      if (refusal) return refusal
    } else {
      catalogue = await catalogues.reload(tenant)
    }
  }
  return { kind: 'busy' }
}

const none: Suspicions = { warnings: new ErrorList(), errors: new ErrorList() }

const suspicionsOf = async (
  dependencies: SuspicionDependencies,
  verdict: Verdict,
  catalogue: Catalogue,
  merchantId: string,
  isDryRun: boolean,
): Promise<Suspicions> =>
  verdict.kind === 'accepted' ? suspect(dependencies, verdict.batch, catalogue, merchantId, isDryRun) : none

export type Quotation =
  | { kind: 'quoted'; batch: CheckedBatch; currency: string; warnings: FieldErrors }
  | Refusal
  | Busy

/** All checks of `bookOrders`, and the prices. Writes nothing and uses no waybill number. */
export const quoteOrders = async (
  dependencies: BookingDependencies,
  { tenant, merchantId, batch }: Omit<Booking, 'key' | 'traceparent'>,
): Promise<Quotation> => {
  const { pool, catalogues } = dependencies
  let catalogue = await catalogues.current(tenant)
  for (let attempt = 1; catalogue && attempt <= maxAttempts; attempt++) {
    const verdict = checkBatch(batch, catalogue, merchantId)
    const wanted = ownWaybills(batch.orders)
    const { version, existing } = await inTenant(pool, tenant, (tx: Tx) => readConflicts(tx, tenant, wanted))
    if (version === catalogue.version) {
      const suspicions = await suspicionsOf(dependencies, verdict, catalogue, merchantId, true)
      const refusal = refuse(verdict, suspicions, true, catalogue, batch.orders, existing)
      if (refusal) return refusal
      const warnings = suspicions.warnings.errors
      if (verdict.kind === 'accepted')
        return { kind: 'quoted', batch: verdict.batch, currency: catalogue.currency, warnings }
    }
    catalogue = await catalogues.reload(tenant)
  }
  return { kind: 'busy' }
}

const ownWaybills = (orders: readonly Order[]): string[] => orders.flatMap(({ waybill }) => waybill ?? [])

interface Conflicts {
  readonly claim: Claim | undefined
  readonly version: string
  readonly existing: ReadonlySet<string>
  /** Of the response that the claim has. */
  readonly warnings: FieldErrors
}

/** What may conflict with a batch, read in one transaction. An expired key is deleted, which frees it. */
const readConflicts = async (
  tx: Tx,
  tenant: string,
  waybills: readonly string[],
  key?: IdempotencyKey,
): Promise<Conflicts> => {
  const claim = key && (await claimKey(tx, tenant, key))
  if (key && claim?.kind === 'free') await deleteExpiredKey(tx, tenant, key)
  const [version, existing] = await Promise.all([findVersion(tx, tenant), findExisting(tx, tenant, waybills)])
  const warnings = key && claim?.kind === 'finished' ? await findWarnings(tx, tenant, key) : {}
  return { claim, version, existing, warnings }
}

/** All errors of the batch, existing waybills included; undefined when there are none. */
const refuse = (
  verdict: Verdict,
  suspicions: Suspicions,
  isNumbered: boolean,
  catalogue: Catalogue,
  orders: readonly Order[],
  existing: ReadonlySet<string>,
): Refusal | undefined => {
  const refused = verdict.kind === 'refused' ? verdict : undefined
  const errors = refused?.errors ?? (suspicions.errors.count > 0 ? suspicions.errors : new ErrorList())
  if (!isNumbered && !refused) errors.add('errors', tooFewLeft(catalogue))
  addExisting(errors, orders, existing)
  if (errors.count === 0) return undefined
  return { kind: 'refused', errors, suggestions: refused?.suggestions, missingRates: refused?.missingRates ?? [] }
}

const tooFewLeft = ({ waybills: { format } }: Catalogue): string =>
  `Fewer waybill numbers of the format ${format.mask} are left than the batch needs. Ask the courier company for a longer format.`

const addExisting = (
  errors: ErrorList,
  orders: readonly (Order | undefined)[],
  existing: ReadonlySet<string>,
): void => {
  for (const [index, order] of orders.entries())
    if (order?.waybill !== undefined && existing.has(order.waybill))
      errors.addFirst(`order_data.${index}.waybill_number`, 'The waybill number has already been taken.')
}

/** A batch whose shape is wrong: every error of its shape, and of what can be read of its data. */
export const refuseOrders = async (
  { pool, catalogues }: BookingDependencies,
  { tenant, merchantId }: Pick<Booking, 'tenant' | 'merchantId'>,
  { errors, rest }: { errors: ErrorList; rest: ReadableBatch },
): Promise<Refusal> => {
  const catalogue = await catalogues.fresh(tenant)
  if (!catalogue) return { kind: 'refused', errors, suggestions: undefined, missingRates: [] }
  const refusal = checkRest(rest, errors, catalogue, merchantId)
  const wanted = rest.orders.flatMap(order => order?.waybill ?? [])
  if (wanted.length > 0)
    addExisting(errors, rest.orders, await inTenant(pool, tenant, (tx: Tx) => findExisting(tx, tenant, wanted)))
  return refusal
}
