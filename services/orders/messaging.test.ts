import { randomUUID } from 'node:crypto'
import t from 'tap'
import { drainTenant } from './core/relay/drain-tenant.ts'
import { createOrdersHousekeeping } from './housekeeping.ts'
import { allCapabilities } from './test/build.ts'
import { waitUntil } from './test/receiver.ts'
import { startRelayFixture } from './test/relay-fixture.ts'
import { batch, order, tenantFile } from './test/tenant.ts'

const warnings = (lines: unknown[][]) => ({
  info() {},
  error() {},
  warn: (...line: unknown[]) => void lines.push(line),
})

t.test('events of a tenant that the notifier does not know wait, and are then delivered in order', async t => {
  const { receiver, book, move, addRelay, countWaiting, rows, app } = await startRelayFixture(t)
  const waybills = await book(1000)
  await move(waybills.slice(0, 2), 'key_2')
  const sizes: number[] = []
  receiver.react = ({ events }) => {
    sizes.push(events.length)
    return 'unknown'
  }
  const lines: unknown[][] = []
  const relays = [1, 2].map(() => addRelay({ logger: warnings(lines) as never }))
  for (const relay of relays) relay.start()
  await waitUntil('some attempts', () => sizes.length >= 3)
  t.strictSame(sizes.slice(0, 3), [500, 500, 500])
  t.match(lines, [[{ tenant: 'demo', since: Date }, 'outbox.tenant_unknown']])
  t.equal(lines.length, 1)
  t.equal(await countWaiting(), 2)
  const metric = async (name: string) =>
    Number(new RegExp(`^${name} (.*)$`, 'm').exec((await app.inject('/metrics')).body)?.[1])
  t.equal(await metric('outbox_unknown_tenants'), 1)
  t.ok((await metric('outbox_unknown_age_seconds')) > 0)
  t.equal(await metric('outbox_age_seconds'), 0)

  const wait = `select holder::text, unknown_since, held_until - now() as wait from outbox_leases`
  t.match(await rows(wait), [{ holder: null, unknown_since: Date }])
  await rows(`update outbox_leases set failures = 12, unknown_since = now() - interval '1 day',
    warned_at = now() - interval '61 minutes',
    held_until = now()`)
  await waitUntil('a warning after an hour', () => lines.length === 2)
  await waitUntil('a long wait', async () => (await rows(wait))[0].wait.minutes >= 2)
  t.equal(receiver.overlaps, 0)

  receiver.react = () => 'acknowledge'
  await rows(`update outbox_leases set held_until = now()`)
  await waitUntil('all events are delivered', async () => (await countWaiting()) === 0)
  const delivered = receiver.posts.flatMap(({ events }) =>
    events.map(({ order }) => `${order.waybill_number} ${order.status_key}`),
  )
  t.strictSame(
    [...new Set(delivered)],
    [...waybills.map(waybill => `${waybill} key_1`), ...waybills.slice(0, 2).map(waybill => `${waybill} key_2`)],
  )
  await waitUntil(
    'the failures are forgotten',
    async () => (await rows('select from outbox_leases where failures = 0 and unknown_since is null')).length === 1,
  )
  t.equal(lines.length, 2)
})

t.test('an outage of the notifier changes nothing for a tenant that the notifier does not know', async t => {
  const { relay, receiver, book, rows } = await startRelayFixture(t)
  await book(1)
  receiver.react = () => (receiver.requests % 2 ? 'unknown' : 500)
  relay.start()
  await waitUntil('three requests', () => receiver.requests >= 3)
  await waitUntil('the tenant stays unknown since the first response', async () => {
    const [lease] = await rows('select unknown_since < warned_at + interval $$1 s$$ as is_kept from outbox_leases')
    return lease?.is_kept
  })
})

t.test(
  'a process that stops before its request keeps the time since which the notifier has not known the tenant',
  async t => {
    const { pool, ordersOptions, receiver, book, rows } = await startRelayFixture(t)
    await book(1)
    const holder = randomUUID()
    await rows(`insert into outbox_leases (tenant_id, holder, held_until, unknown_since)
    values ('demo', gen_random_uuid(), now() - interval '1 second', now() - interval '1 day')`)
    const { logger, notifier } = ordersOptions
    const readSnapshots = async () => []
    await drainTenant({ pool, logger, notifier, holder, readSnapshots, isStopping: () => true } as never, 'demo')
    t.equal(receiver.requests, 0)
    const lease = "select unknown_since < now() - interval '1 hour' as is_kept, held_until > now() as is_held"
    t.strictSame(await rows(`${lease} from outbox_leases`), [{ is_kept: true, is_held: false }])
  },
)

t.test('tenants that the notifier does not know do not delay other tenants', async t => {
  const { relay, receiver, book, addTenant } = await startRelayFixture(t)
  const unknown = await Promise.all(['ta', 'tb', 'tc', 'td', 'te'].map(addTenant))
  receiver.react = ({ tenant }) => (tenant === 'demo' ? 'acknowledge' : 'unknown')
  for (const options of unknown) await book(1, options)
  relay.start()
  for (let round = 1; round <= 5; round++) {
    for (const options of unknown) await book(1, options)
    await book(1)
    await waitUntil('the event is delivered', () => receiver.events.size === round, 5)
  }
  t.ok(receiver.requests < 5 + 5 * unknown.length, 'a booking alone triggers no attempt')
})

t.test('without messaging the outbox gets no events, and housekeeping skips the pending ones', async t => {
  const { relay, ordersOptions, pool, receiver, apply, bulk, request, book, countWaiting } = await startRelayFixture(t)
  await book(2)
  const off = tenantFile({ messaging: false })
  t.match(await apply(off), { changes: [{ kind: 'tenant', change: 'changed', details: ['messaging: true -> false'] }] })
  t.match(await apply(off), { changes: [] })
  relay.start()
  const [waybill] = await book(1)
  const keyed = await bulk(batch([order()]), { headers: { 'idempotency-key': 'a' } })
  t.equal(keyed.status, 200)
  t.equal((await request('/order/cancel', { waybill_numbers: [waybill] })).status, 200)
  t.equal(await countWaiting(), 1)
  await createOrdersHousekeeping(pool, ordersOptions.logger, allCapabilities).clean()
  t.equal(await countWaiting(), 0)
  t.equal(receiver.requests, 0)

  await apply(tenantFile({ messaging: true }))
  await book(1)
  await waitUntil('only the new order is delivered', async () => (await countWaiting()) === 0)
  t.equal(receiver.events.size, 1)
})
