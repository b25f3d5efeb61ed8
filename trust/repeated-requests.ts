import { startProxy, type Trouble } from '../dev/tcp-proxy.ts'
import { chanceOf } from '../test/chance.ts'
import { nowhere, startCourier } from './courier.ts'
import { type BulkRequest, book, type Merchant } from './order-requests.ts'
import type { TrustPromise } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const workers = 4
/** Mostly the response: that is when a repeated request could double. */
const troubles = ['lost_response', 'lost_response', 'half_response', 'half_request', 'reset'] as const

/** Repeats it with its key until it gets a response, as a merchant's program does. */
const insist = async (merchant: Merchant, name: string, orders: number): Promise<BulkRequest> => {
  let request = await book(merchant, name, orders, name)
  for (let tries = 1; tries < 20 && request.ending !== 'ok'; tries++) request = await book(merchant, name, orders, name)
  return request
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const { merchant, rows } = await startCourier(t, { orders: { NOTIFIER_URL: nowhere } })
  const count = t.short ? 100 : 1_000
  const log: BulkRequest[] = []
  let lost = 0
  /** Each worker has a proxy of its own, so that the trouble of one is not the other's. */
  const work = async (worker: number): Promise<void> => {
    const proxy = await startProxy({ port: Number(new URL(merchant.url).port), host: '127.0.0.1' })
    t.teardown(proxy.close)
    const disturbed = { ...merchant, url: `http://127.0.0.1:${proxy.port}` }
    const chance = chanceOf(t.seed + worker)
    for (let n = worker; n < count; n += workers) {
      const name = `r${n}`
      const orders = 1 + Math.floor(chance() * 8)
      proxy.trouble = { kind: troubles[Math.floor(chance() * troubles.length)] } as Trouble
      if ((await book(disturbed, name, orders, name)).ending !== 'ok') lost++
      proxy.trouble = undefined
      const second = await insist(disturbed, name, orders)
      broken.require(second.ending === 'ok', `${name} never had a response`)
      const third = await insist(merchant, name, orders)
      broken.require(String(third.waybills) === String(second.waybills), `${name} has two responses`)
      log.push(second)
    }
  }
  await Promise.all(Array.from({ length: workers }, (_, worker) => work(worker)))
  broken.require(lost === count, `${count - lost} requests had a response in spite of the trouble`)
  return { 'responses lost': lost, ...(await checkStored(text => rows('orders', text), log, broken)) }
}

export const promise: TrustPromise = {
  promise: 'A request that is repeated with its key because the response was lost takes effect once',
  limit: '1,000 lost or half responses, half requests and resets: 0 duplicates, one response',
  run,
}
