import t from 'tap'
import { waitUntil } from './test/receiver.ts'
import { startRelayFixture } from './test/relay-fixture.ts'
import { tenantFile } from './test/tenant.ts'

const makeTraceparent = (n: number): string => `00-${String(n).padStart(32, 'a')}-00f067aa0ba902b7-01`

t.test('each batch and each move keeps its own trace, even when batches share a statement', async t => {
  const { relay, receiver, book, request, rows, apply } = await startRelayFixture(t)
  // Otherwise batches that look alike wait for each other's statement.
  await apply(tenantFile({ checks: { duplicate: 'off' } }))
  const batches = await Promise.all(
    Array.from({ length: 12 }, async (_, n) => {
      const traceparent = n % 3 === 0 ? undefined : n === 1 ? 'invalid' : makeTraceparent(n)
      const waybills = await book(2, { headers: traceparent ? { traceparent } : {} })
      return { waybills, traceparent: traceparent === 'invalid' ? undefined : traceparent }
    }),
  )
  const [{ count }] = await rows('select count(distinct xmin::text)::int from log')
  t.ok(count < 12, `${count} statements`)
  const large = await book(600, { headers: { traceparent: makeTraceparent(20) } })
  const plain = await book(3)
  t.strictSame(
    await rows('select traceparents from log where cardinality(waybill_numbers) in (3, 600) order by entry_id'),
    [{ traceparents: [makeTraceparent(20)] }, { traceparents: null }],
  )
  const waybill_numbers = large.slice(0, 2)
  await request('/order/cancel', { waybill_numbers }, { headers: { traceparent: makeTraceparent(21) } })
  relay.start()
  await waitUntil('all events are delivered', () => receiver.events.size === 24 + 603 + 2)
  const found = new Map(
    [...receiver.events.values()].map(({ order, traceparent }) => [
      `${order.waybill_number} ${order.status_key}`,
      traceparent,
    ]),
  )
  const wanted = [
    ...batches,
    { waybills: large, traceparent: makeTraceparent(20) },
    { waybills: plain, traceparent: undefined },
  ]
  for (const { waybills, traceparent } of wanted)
    t.strictSame(new Set(waybills.map(waybill => found.get(`${waybill} key_1`))), new Set([traceparent]))
  t.strictSame(
    waybill_numbers.map(waybill => found.get(`${waybill} key_3`)),
    [makeTraceparent(21), makeTraceparent(21)],
  )
})
