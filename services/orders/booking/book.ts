import { inTenant } from '@courier/shared/database.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import { maxSentences } from '@courier/shared/http/faults.ts'
import { claimKey, type IdempotencyKey, insertKey } from '@courier/shared/idempotency.ts'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'
import { findVersion } from '../directory/queries.ts'
import type { BatchWriter } from './batch-writer.ts'
import type { Catalogue, Catalogues } from './catalogue.ts'
import { type CheckedBatch, checkBatch, type Refusal } from './check-batch.ts'
import { giveWaybills, tooFewLeft } from './give-waybills.ts'
import { findTaken, insertBatch } from './insert-batch.ts'
import type { Batch, Order } from './read-batch.ts'
import type { WaybillNumbers } from './waybill-numbers.ts'

/** What booking needs. */
export interface BookingDesk {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
  readonly numbers: WaybillNumbers
  readonly writer: BatchWriter
}

/** A batch, whose it is, and the key under which its answer is kept. */
export interface Booking {
  readonly tenant: string
  readonly merchantId: string
  readonly batch: Batch
  readonly key?: IdempotencyKey | undefined
}

export type Booked =
  /** `replayed`: an earlier call with the same key and body made them. */
  | { kind: 'booked'; waybills: readonly string[]; replayed: boolean }
  | Refusal
  /** A call with the same Idempotency-Key is running now. */
  | { kind: 'running' }
  /** The Idempotency-Key came with another body before. */
  | { kind: 'other_body' }

/** Something came between check and write. */
type Overtaken = { kind: 'catalogue_changed' } | { kind: 'number_taken' }

const maxTries = 20

/** Makes all orders of a batch, or none and says everything that is wrong (spec.md 4.1, 7). One transaction a try. */
export const bookOrders = async (desk: BookingDesk, booking: Booking): Promise<Booked> => {
  const { tenant, merchantId, batch } = booking
  let catalogue = await desk.catalogues.current(tenant)
  for (let tries = 0; tries < maxTries; tries++) {
    const verdict = checkBatch(batch, catalogue, merchantId)
    const isAccepted = verdict.kind === 'accepted'
    const given = isAccepted
      ? await giveWaybills(desk.pool, desk.numbers, batch.orders, catalogue, tries > 0)
      : undefined
    if (isAccepted && given && tries === 0) {
      const batch = { merchantId, batch: verdict.batch, waybills: given.waybills, key: booking.key }
      if (await desk.writer.write(tenant, catalogue.version, batch))
        return { kind: 'booked', waybills: given.waybills, replayed: false }
    }
    const result = await inTenant<Tables, Booked | Overtaken>(
      desk.pool,
      tenant,
      async tx => {
        const claim = booking.key && (await claimKey(tx, tenant, booking.key))
        if (claim?.kind === 'finished') return { kind: 'booked', waybills: claim.result, replayed: true }
        if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
        if (verdict.kind === 'refused') return confirmRefusal(tx, catalogue, batch.orders, verdict)
        if (!given) return confirmRefusal(tx, catalogue, batch.orders, tooFewLeft(catalogue))
        return write(tx, booking, catalogue, verdict.batch, given.waybills)
      },
      ({ kind }) => kind === 'booked',
    ).catch(asOvertaken)
    const isUsed = result.kind === 'number_taken' || (result.kind === 'booked' && !result.replayed)
    if (given && !isUsed) desk.numbers.giveBack(tenant, catalogue.waybills.format, given.fresh)
    if (result.kind === 'catalogue_changed') catalogue = await desk.catalogues.reload(tenant)
    else if (result.kind !== 'number_taken') return result
  }
  throw new Error('the batch was overtaken at every try')
}

/** A batch that shares its key was written between the look for the key and its insertion. */
const asOvertaken = (error: unknown): Overtaken => {
  if ((error as { code?: unknown }).code !== '23505') throw error
  return { kind: 'number_taken' }
}

/** All checks of `bookOrders`, and the prices; writes nothing, takes no number. */
export const quoteOrders = async (
  desk: BookingDesk,
  { tenant, merchantId, batch }: Omit<Booking, 'key'>,
): Promise<{ kind: 'quoted'; batch: CheckedBatch; currency: string } | Refusal> => {
  let catalogue = await desk.catalogues.current(tenant)
  for (let tries = 0; tries < maxTries; tries++) {
    const verdict = checkBatch(batch, catalogue, merchantId)
    const faults = verdict.kind === 'refused' ? verdict.faults : {}
    const suggestions = verdict.kind === 'refused' ? verdict.suggestions : undefined
    const confirmed = await inTenant(desk.pool, tenant, (tx: Tx) =>
      confirmRefusal(tx, catalogue, batch.orders, { kind: 'refused', faults, suggestions }),
    )
    if (confirmed.kind === 'refused' && Object.keys(confirmed.faults).length > 0) return confirmed
    if (confirmed.kind === 'refused' && verdict.kind === 'accepted')
      return { kind: 'quoted', batch: verdict.batch, currency: catalogue.currency }
    catalogue = await desk.catalogues.reload(tenant)
  }
  throw new Error('the batch was overtaken at every try')
}

const write = async (
  tx: Tx,
  { tenant, merchantId, batch, key }: Booking,
  catalogue: Catalogue,
  checked: CheckedBatch,
  waybills: readonly string[],
): Promise<Booked | Overtaken> => {
  const { version, onlyWritten } = await insertBatch(tx, tenant, { merchantId, batch: checked, waybills })
  if (version !== catalogue.version) return { kind: 'catalogue_changed' }
  if (onlyWritten) {
    const written = new Set(onlyWritten)
    const taken = new Set(waybills.filter(waybill => !written.has(waybill)))
    const faults = addTaken({}, batch.orders, taken)
    return Object.keys(faults).length > 0
      ? { kind: 'refused', faults, suggestions: undefined }
      : { kind: 'number_taken' }
  }
  if (key) await insertKey(tx, tenant, key, waybills)
  return { kind: 'booked', waybills, replayed: false }
}

/** A refusal stands only if the catalogue is still that version; the waybills that exist already join it. */
const confirmRefusal = async (
  tx: Tx,
  { tenant, version }: Catalogue,
  orders: readonly Order[],
  refusal: Refusal,
): Promise<Refusal | Overtaken> => {
  const given = orders.flatMap(({ waybill }) => waybill ?? [])
  const [now, taken] = await Promise.all([findVersion(tx, tenant), findTaken(tx, tenant, given)])
  if (now !== version) return { kind: 'catalogue_changed' }
  return { ...refusal, faults: addTaken(refusal.faults, orders, taken) }
}

const addTaken = (faults: Faults, orders: readonly Order[], taken: ReadonlySet<string>): Faults => {
  const all = { ...faults }
  let room = maxSentences - Object.values(faults).flat().length
  for (const [index, { waybill }] of orders.entries()) {
    if (waybill === undefined || !taken.has(waybill) || room-- <= 0) continue
    all[`order_data.${index}.waybill_number`] ??= ['The waybill number has already been taken.']
  }
  return all
}
