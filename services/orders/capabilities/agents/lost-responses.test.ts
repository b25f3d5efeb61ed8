import t from 'tap'
import { connectAgent } from '../../test/agent-client.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { batch, order } from '../../test/tenant.ts'

const bookings = 400
const { app, rows, token } = await ordersFixture(t)
const address = await app.listen({ host: '127.0.0.1', port: 0 })

/** Loses half of the responses to bookings: before they come, while the service works, or after they were read. */
const counts = { lost: 0 }
const lossyFetch: typeof fetch = async (input, init) => {
  const draw = String(init?.body).includes('"name":"book"') ? Math.random() : 1
  if (draw < 0.5) counts.lost++
  if (draw < 0.25) return fetch(input, { ...init, signal: AbortSignal.timeout(1 + draw * 40) })
  const response = await fetch(input, init)
  if (draw >= 0.5) return response
  await response.arrayBuffer()
  throw new TypeError('The response is lost.')
}

t.test('a loop that repeats each lost call, or quotes anew, books nothing twice and loses nothing', async t => {
  const booked = new Map<string, string>()
  const left = Array.from({ length: bookings }, (_, n) => `lossy ${n}`)
  const work = async (_: unknown, worker: number) => {
    const { use } = await connectAgent(t, { address, token, fetch: lossyFetch })
    for (let order_no = left.pop(); order_no !== undefined; order_no = left.pop()) {
      const content = batch([order({ order_no })])
      for (let digest: string | undefined; !booked.has(order_no); ) {
        if (!digest || worker % 2) digest = (await use('quote', content)).digest
        const { data } = await use('book', { ...content, digest }).catch(() => ({}))
        if (data) booked.set(order_no, data[0])
      }
    }
  }
  await Promise.all(Array.from({ length: 8 }).map(work))
  const made = await rows('select order_no, waybill_number from orders')
  t.equal(made.length, bookings, `${counts.lost} responses were lost`)
  t.same(new Map(made.map(({ order_no, waybill_number }) => [order_no, waybill_number])), booked)
  t.ok(counts.lost > bookings / 2)
  t.comment(`${bookings} orders, ${counts.lost} responses lost`)
})
