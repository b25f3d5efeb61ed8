import { setTimeout as delay } from 'node:timers/promises'
import { batch, order } from '../services/orders/test/tenant.ts'
import { chanceOf } from '../test/chance.ts'
import type { Broken } from './promise.ts'

/** What the caller knows: it was done, it was not, or neither. */
export type Ending = 'ok' | 'failed' | 'unknown'

/** A bulk call in the log. Its orders carry its name, so that they are found again. */
export interface BulkCall {
  readonly name: string
  readonly orders: number
  ending: Ending
  /** 0: no answer came. */
  status: number
  waybills: readonly string[]
  milliseconds: number
  /** Why no answer came. */
  error?: string
}

export interface Merchant {
  readonly url: string
  readonly token: string
}

/** Makes one call, with an Idempotency-Key if one is given. Never rejects. */
export const book = async (
  { url, token }: Merchant,
  name: string,
  orders: number,
  { key, timeout = 20_000 }: { key?: string; timeout?: number } = {},
): Promise<BulkCall> => {
  const body = batch(Array.from({ length: orders }, (_, index) => order({ order_no: `${name} ${index}` })))
  const headers = {
    authorization: `Bearer ${token}`,
    'x-tenant': 'demo',
    'content-type': 'application/json',
    ...(key !== undefined && { 'idempotency-key': key }),
  }
  const started = performance.now()
  const call: BulkCall = { name, orders, ending: 'unknown', status: 0, waybills: [], milliseconds: 0 }
  try {
    const signal = AbortSignal.timeout(timeout)
    const path = '/api/public/merchant/order/bulk'
    const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body), signal })
    const { data = [] } = (await answer.json()) as { data?: string[] }
    call.status = answer.status
    call.waybills = data
    // A 503 without Retry-After says that it is not known (the documented meaning).
    const isInDoubt = answer.status >= 500 && !answer.headers.has('retry-after')
    call.ending = answer.status === 200 ? 'ok' : isInDoubt ? 'unknown' : 'failed'
  } catch (error) {
    const { syscall, message } = causeOf(error)
    call.error = message
    // It was not let in: nothing was sent.
    if (syscall === 'connect') call.ending = 'failed'
  }
  call.milliseconds = performance.now() - started
  return call
}

/** fetch hides what happened. */
const causeOf = (error: unknown): NodeJS.ErrnoException =>
  (error as { cause?: NodeJS.ErrnoException }).cause ?? (error as Error)

export interface Load {
  readonly log: readonly BulkCall[]
  /** Finishes the calls under way. */
  stop: () => Promise<void>
}

/** Merchants who book, one call after the other, until they are stopped: mostly some orders, now and then many. */
export const keepBooking = (merchant: Merchant, { workers, seed }: { workers: number; seed: number }): Load => {
  const log: BulkCall[] = []
  let isOver = false
  const work = async (worker: number): Promise<void> => {
    const chance = chanceOf(seed + worker)
    for (let turn = 0; !isOver; turn++) {
      const orders = chance() < 0.1 ? 120 : 1 + Math.floor(chance() * 12)
      log.push(await book(merchant, `w${worker}-${turn}`, orders))
      await delay(10 + chance() * 40)
    }
  }
  const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  return {
    log,
    stop: async () => {
      isOver = true
      await working
    },
  }
}

type Rows = (text: string) => Promise<Record<string, unknown>[]>

/** Acknowledged ⊆ stored ⊆ acknowledged + unknown, each batch whole, no waybill twice. Returns the figures. */
export const checkStored = async (rows: Rows, log: readonly BulkCall[], broken: Broken) => {
  const stored = Map.groupBy(
    await rows('select order_no, waybill_number from orders'),
    row => String(row.order_no).split(' ')[0] as string,
  )
  const known = new Map(log.map(call => [call.name, call]))
  const counts = { lost: 0, partial: 0, doubled: 0, unasked: 0 }
  for (const { name, orders, ending, waybills } of log) {
    const found = new Set((stored.get(name) ?? []).map(row => String(row.waybill_number)))
    const numbers = (stored.get(name) ?? []).map(row => row.order_no)
    if (numbers.length !== new Set(numbers).size) counts.doubled++
    if (numbers.length !== 0 && new Set(numbers).size !== orders) counts.partial++
    if (ending === 'ok') counts.lost += waybills.filter(waybill => !found.has(waybill)).length
    if (ending === 'ok' && waybills.length !== orders) counts.partial++
    if (ending === 'failed' && numbers.length > 0) counts.unasked++
  }
  for (const name of stored.keys()) if (!known.has(name)) counts.unasked++
  const [untold] = await rows(`select count(*)::int as orders from orders o where not exists (
    select from order_events e where e.tenant_id = o.tenant_id and e.waybill_number = o.waybill_number)`)
  broken.require(untold?.orders === 0, `${untold?.orders} orders are stored without their timeline`)
  broken.require(counts.lost === 0, `${counts.lost} acknowledged orders are not stored`)
  broken.require(counts.partial === 0, `${counts.partial} batches are stored in part`)
  broken.require(counts.doubled === 0, `${counts.doubled} batches are stored twice`)
  broken.require(counts.unasked === 0, `${counts.unasked} batches are stored that were refused or never sent`)
  const of = (ending: Ending) => log.filter(call => call.ending === ending).length
  const acknowledged = log.reduce((sum, { waybills }) => sum + waybills.length, 0)
  return { acknowledged, ok: of('ok'), failed: of('failed'), unknown: of('unknown'), ...counts }
}
