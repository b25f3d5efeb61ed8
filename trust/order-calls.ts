import { setTimeout as delay } from 'node:timers/promises'
import { batch, order } from '../services/orders/test/tenant.ts'
import { chanceOf } from '../test/chance.ts'

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
  const body = batch(
    Array.from({ length: orders }, (_, index) => order({ order_no: `${name} ${index}`, initial_status_key: 'key_2' })),
  )
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
export const keepBooking = (
  merchant: Merchant,
  { workers, seed, pauseMilliseconds = 10 }: { workers: number; seed: number; pauseMilliseconds?: number },
): Load => {
  const log: BulkCall[] = []
  let isOver = false
  const work = async (worker: number): Promise<void> => {
    const chance = chanceOf(seed + worker)
    for (let turn = 0; !isOver; turn++) {
      const orders = chance() < 0.1 ? 120 : 1 + Math.floor(chance() * 12)
      log.push(await book(merchant, `w${worker}-${turn}`, orders))
      await delay(pauseMilliseconds + chance() * 40)
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

/** Acts for so many seconds, one after another on four connections. Returns what each act returned. */
export const repeatedly = async (seconds: number, act: () => Promise<number>): Promise<number[]> => {
  const results: number[] = []
  const end = performance.now() + seconds * 1000
  const work = async (): Promise<void> => {
    while (performance.now() < end) results.push(await act())
  }
  await Promise.all(Array.from({ length: 4 }, work))
  return results
}
