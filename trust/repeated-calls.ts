import { startProxy, type Trouble } from '../dev/tcp-proxy.ts'
import { chanceOf } from '../test/chance.ts'
import { nowhere, stageCourier } from './courier-stage.ts'
import { type BulkCall, book } from './order-calls.ts'
import type { TrustPromise } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const calls = 200
const workers = 4
/** Mostly the answer: that is when a repeated call could double. */
const troubles = ['lost_response', 'lost_response', 'half_response', 'half_request', 'reset'] as const

/** Calls until it is answered, with the same key each time, as a merchant's program does. */
const insist = async (merchant: { url: string; token: string }, name: string, orders: number): Promise<BulkCall> => {
  for (let tries = 0; tries < 20; tries++) {
    const call = await book(merchant, name, orders, { key: name })
    if (call.ending === 'ok') return call
  }
  return { name, orders, ending: 'failed', status: 0, waybills: [], milliseconds: 0 }
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const { merchant, rows } = await stageCourier(t, { orders: { NOTIFIER_URL: nowhere } })
  const count = t.short ? calls / 2 : calls * 5
  const log: BulkCall[] = []
  let spoilt = 0
  /** Each worker has a way of its own, so that the trouble of one is not the other's. */
  const work = async (worker: number): Promise<void> => {
    const proxy = await startProxy({ port: Number(new URL(merchant.url).port), host: '127.0.0.1' })
    t.teardown(proxy.close)
    const spoiltWay = { ...merchant, url: `http://127.0.0.1:${proxy.port}` }
    const chance = chanceOf(t.seed + worker)
    for (let turn = worker; turn < count; turn += workers) {
      const name = `r${turn}`
      const orders = 1 + Math.floor(chance() * 8)
      proxy.trouble = { kind: troubles[Math.floor(chance() * troubles.length)] } as Trouble
      const first = await book(spoiltWay, name, orders, { key: name })
      if (first.ending !== 'ok') spoilt++
      proxy.trouble = undefined
      const second = await insist(spoiltWay, name, orders)
      broken.require(second.ending === 'ok', `${name} was never answered`)
      const third = await insist(merchant, name, orders)
      broken.require(String(third.waybills) === String(second.waybills), `${name} has two answers`)
      log.push(second)
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  broken.require(spoilt === count, `${count - spoilt} calls were answered in spite of the trouble`)
  const { ok, acknowledged, lost, partial, doubled, unasked } = await checkStored(
    text => rows('orders', text),
    log,
    broken,
  )
  return { 'responses lost': spoilt, repeated: ok, acknowledged, lost, partial, doubled, unasked }
}

export const promise: TrustPromise = {
  promise: 'A request that is repeated with its key because the response was lost takes effect once',
  limit: '1,000 lost or half responses, half requests and resets: 0 duplicates, one response',
  run,
}
