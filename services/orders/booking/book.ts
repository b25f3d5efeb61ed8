import { inTenant } from '@courier/shared/database.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import { maxSentences } from '@courier/shared/http/faults.ts'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'
import { findVersion } from '../directory/queries.ts'
import type { Catalogue, Catalogues } from './catalogue.ts'
import { type CheckedBatch, checkBatch, type Refusal } from './check-batch.ts'
import { claimKey, type IdempotencyKey, insertKey } from './idempotency.ts'
import { findTaken, insertBatch } from './insert-batch.ts'
import type { Batch, Order } from './read-batch.ts'
import type { TakeWaybills } from './waybill-numbers.ts'

/** What booking needs. */
export interface BookingDesk {
  readonly pool: pg.Pool
  readonly catalogues: Catalogues
  readonly takeWaybills: TakeWaybills
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

/** Something came between check and write: the catalogue changed, or a number just given was taken. */
type Overtaken = { kind: 'overtaken' }

const maxTries = 20

/** Makes all orders of a batch, or none and says everything that is wrong (spec.md 4.1, 7). One transaction a try. */
export const bookOrders = async (desk: BookingDesk, booking: Booking): Promise<Booked> => {
  const { tenant, batch } = booking
  for (let tries = 0; tries < maxTries; tries++) {
    const catalogue = tries === 0 ? await desk.catalogues.current(tenant) : await desk.catalogues.reload(tenant)
    const verdict = checkBatch(batch, catalogue, booking.merchantId)
    const waybills = verdict.kind === 'accepted' ? await giveWaybills(desk, batch.orders, catalogue, tries > 0) : []
    const result = await inTenant<Tables, Booked | Overtaken>(
      desk.pool,
      tenant,
      async tx => {
        const claim = booking.key && (await claimKey(tx, tenant, booking.key))
        if (claim?.kind === 'finished') return { kind: 'booked', waybills: claim.waybills, replayed: true }
        if (claim?.kind === 'running' || claim?.kind === 'other_body') return claim
        if (verdict.kind === 'refused') return confirmRefusal(tx, catalogue, batch.orders, verdict)
        if (!waybills) return confirmRefusal(tx, catalogue, batch.orders, noneLeft(catalogue))
        return write(tx, booking, catalogue, verdict.batch, waybills)
      },
      ({ kind }) => kind === 'booked',
    )
    if (result.kind !== 'overtaken') return result
  }
  throw new Error('the batch was overtaken at every try')
}

/** All checks of `bookOrders`, and the prices; writes nothing. */
export const quoteOrders = async (
  desk: BookingDesk,
  { tenant, merchantId, batch }: Omit<Booking, 'key'>,
): Promise<{ kind: 'quoted'; batch: CheckedBatch; currency: string } | Refusal> => {
  for (let tries = 0; tries < maxTries; tries++) {
    const catalogue = tries === 0 ? await desk.catalogues.current(tenant) : await desk.catalogues.reload(tenant)
    const verdict = checkBatch(batch, catalogue, merchantId)
    const blank: Refusal = { kind: 'refused', faults: {}, suggestions: undefined }
    const refusal = await inTenant(desk.pool, tenant, (tx: Tx) =>
      confirmRefusal(tx, catalogue, batch.orders, verdict.kind === 'refused' ? verdict : blank),
    )
    if (refusal.kind === 'overtaken') continue
    if (verdict.kind === 'accepted' && Object.keys(refusal.faults).length === 0)
      return { kind: 'quoted', batch: verdict.batch, currency: catalogue.currency }
    return refusal
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
  const { version, onlyWritten } = await insertBatch(tx, tenant, merchantId, checked, waybills)
  if (version !== catalogue.version) return { kind: 'overtaken' }
  if (onlyWritten) {
    const written = new Set(onlyWritten)
    const taken = new Set(waybills.filter(waybill => !written.has(waybill)))
    const faults = addTaken({}, batch.orders, taken)
    return Object.keys(faults).length > 0 ? { kind: 'refused', faults, suggestions: undefined } : { kind: 'overtaken' }
  }
  if (key) await insertKey(tx, tenant, key, [...waybills])
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
  if (now !== version) return { kind: 'overtaken' }
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

/**
 * The waybill of each order: its own, or the next number. After a collision with a waybill that a merchant chose, the
 * numbers are looked up before they are used. undefined when the format has none left.
 */
const giveWaybills = async (
  { pool, takeWaybills }: BookingDesk,
  orders: readonly Order[],
  { tenant, waybills: { format } }: Catalogue,
  collided: boolean,
): Promise<string[] | undefined> => {
  const own = new Set(orders.flatMap(({ waybill }) => waybill ?? []))
  const fresh: string[] = []
  for (let stride = 1; fresh.length < orders.length - own.size; stride *= 2) {
    const missing = orders.length - own.size - fresh.length
    let numbers = await takeWaybills(tenant, format, missing * (collided ? stride : 1))
    if (!numbers && collided) numbers = await takeWaybills(tenant, format, missing)
    if (!numbers) return undefined
    const taken = collided ? await inTenant(pool, tenant, (tx: Tx) => findTaken(tx, tenant, numbers)) : own
    fresh.push(...numbers.filter(number => !own.has(number) && !taken.has(number)))
  }
  let next = 0
  return orders.map(({ waybill }) => waybill ?? (fresh[next++] as string))
}

const noneLeft = ({ waybills: { format } }: Catalogue): Refusal => {
  const sentence = `No waybill number of the format ${format.mask} is left. Ask the courier company for a longer format.`
  return { kind: 'refused', faults: { errors: [sentence] }, suggestions: undefined }
}
