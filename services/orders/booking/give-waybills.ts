import { inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Catalogue } from './catalogue.ts'
import type { Refusal } from './check-batch.ts'
import { findTaken } from './insert-batch.ts'
import type { Order } from './read-batch.ts'
import type { WaybillNumbers } from './waybill-numbers.ts'

/** The waybill of each order in their order, and which of them are fresh numbers. */
export interface GivenWaybills {
  readonly waybills: readonly string[]
  readonly fresh: readonly string[]
}

/**
 * Each order keeps its own waybill or gets the next number. After a collision with a waybill that a merchant chose, the
 * numbers are looked up before they are used. undefined when the format has too few left.
 */
export const giveWaybills = async (
  pool: pg.Pool,
  numbers: WaybillNumbers,
  orders: readonly Order[],
  { tenant, waybills: { format } }: Catalogue,
  collided: boolean,
): Promise<GivenWaybills | undefined> => {
  const own = new Set(orders.flatMap(({ waybill }) => waybill ?? []))
  const fresh: string[] = []
  for (let stride = 1; fresh.length < orders.length - own.size; stride *= 2) {
    const missing = orders.length - own.size - fresh.length
    const wanted = collided ? missing * stride : missing
    const taken = (await numbers.take(tenant, format, wanted)) ?? (await numbers.take(tenant, format, missing))
    if (!taken) return undefined
    const exists = collided ? await inTenant(pool, tenant, (tx: Tx) => findTaken(tx, tenant, taken)) : own
    fresh.push(...taken.filter(waybill => !own.has(waybill) && !exists.has(waybill)))
  }
  numbers.giveBack(tenant, format, fresh.splice(orders.length - own.size))
  let next = 0
  return { waybills: orders.map(({ waybill }) => waybill ?? (fresh[next++] as string)), fresh }
}

export const tooFewLeft = ({ waybills: { format } }: Catalogue): Refusal => {
  const sentence = `Fewer waybill numbers of the format ${format.mask} are left than the batch needs. Ask the courier company for a longer format.`
  return { kind: 'refused', faults: { errors: [sentence] }, suggestions: undefined }
}
