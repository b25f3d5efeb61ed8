import { setTimeout as delay } from 'node:timers/promises'
import { batch, order } from '../services/orders/test/tenant.ts'
import { chanceOf } from '../test/chance.ts'

/** What the client knows: it was done, it was not, or neither. */
export type Ending = 'ok' | 'failed' | 'unknown'

/** A bulk request in the log. Its orders carry its name, so that they are found again. */
export interface BulkRequest {
  readonly name: string
  readonly orders: number
  ending: Ending
  /** 0: no response. */
  status: number
  waybills: readonly string[]
  milliseconds: number
  /** Why there was no response. */
  error?: string
}

export interface Merchant {
  readonly url: string
  readonly token: string
}

/** Sends one request, with an Idempotency-Key if one is given. Never rejects. */
export const book = async (
  { url, token }: Merchant,
  name: string,
  orders: number,
  key?: string,
): Promise<BulkRequest> => {
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
  const request: BulkRequest = { name, orders, ending: 'unknown', status: 0, waybills: [], milliseconds: 0 }
  try {
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: AbortSignal.timeout(20_000) }
    const response = await fetch(`${url}/api/public/merchant/order/bulk`, init)
    const { data = [] } = (await response.json()) as { data?: string[] }
    request.status = response.status
    request.waybills = data
    // A 503 without Retry-After says that it is not known (the documented meaning).
    const isInDoubt = response.status >= 500 && !response.headers.has('retry-after')
    request.ending = response.status === 200 ? 'ok' : isInDoubt ? 'unknown' : 'failed'
  } catch (error) {
    // fetch hides what happened.
    const { syscall, message } = (error as { cause?: NodeJS.ErrnoException }).cause ?? (error as NodeJS.ErrnoException)
    request.error = message
    // The connection was refused: nothing was sent.
    if (syscall === 'connect') request.ending = 'failed'
  }
  request.milliseconds = performance.now() - started
  return request
}

export interface Load {
  readonly log: readonly BulkRequest[]
  /** Finishes the requests in flight. */
  stop: () => Promise<void>
}

/** Merchants that book, one request after the other, until they are stopped: mostly some orders, now and then many. */
export const keepBooking = (
  merchant: Merchant,
  { workers, seed, pauseMilliseconds = 10 }: { workers: number; seed: number; pauseMilliseconds?: number },
): Load => {
  const log: BulkRequest[] = []
  let isOver = false
  const work = async (worker: number): Promise<void> => {
    const chance = chanceOf(seed + worker)
    for (let round = 0; !isOver; round++) {
      const orders = chance() < 0.1 ? 120 : 1 + Math.floor(chance() * 12)
      log.push(await book(merchant, `w${worker}-${round}`, orders))
      await delay(pauseMilliseconds + chance() * 40)
    }
  }
  const working = Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  const stop = async (): Promise<void> => {
    isOver = true
    await working
  }
  return { log, stop }
}
