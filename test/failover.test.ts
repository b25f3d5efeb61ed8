import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createDatabaseWithRoles, onServer } from '../dev/databases.ts'
import { startOwnPostgres } from '../dev/own-postgres.ts'
import { embeddedPassword } from '../dev/settings.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { type ApiResponse, request, waitUntil } from './courier.ts'
import { order } from './journey.ts'
import { startPgBouncer, whyNoPgBouncer } from './pgbouncer.ts'
import { applyDemo, startStack } from './stack.ts'

t.setTimeout(900_000)

interface Chosen {
  /** Makes commits wait for the standby. */
  isSynchronous?: boolean
  environment?: Record<string, string>
  isPooled?: boolean
}

const services = ['orders', 'notifier'] as const

/** Starts both services with their databases on a primary with a standby, behind an address that can move. */
const prepare = async (t: Test, { isSynchronous = false, environment = {}, isPooled = false }: Chosen = {}) => {
  const primary = await startOwnPostgres(t, 'orders')
  await createDatabaseWithRoles(primary.buildAddress('postgres'), 'notifier')
  const standby = await primary.addStandby()
  if (isSynchronous)
    await onServer(primary.buildAddress('postgres'), async client => {
      await client.query(`alter system set synchronous_standby_names = '*'`)
      await client.query('select pg_reload_conf()')
    })
  const server = { host: '127.0.0.1', port: primary.port }
  const proxy = await startProxy(server)
  t.teardown(proxy.close)
  const addresses = (name: string) => {
    const as = (role: string) => `postgres://${role}:${embeddedPassword}@127.0.0.1:${proxy.port}/${name}`
    return { url: as(name), ownerUrl: as(`${name}_owner`), superuserUrl: as('postgres') }
  }
  const databases = { orders: addresses('orders'), notifier: addresses('notifier') }
  const reroute = isPooled ? await startPgBouncer(t, Object.values(databases)) : (url: string) => url
  const stack = await startStack(t, {
    ordersDatabase: { ...databases.orders, url: reroute(databases.orders.url) },
    notifierDatabase: { ...databases.notifier, url: reroute(databases.notifier.url) },
    orders: environment,
    notifier: { ...environment, RECIPIENT_PAUSE_SECONDS: '0' },
  })
  const { orders, simulator } = await applyDemo(stack)
  const { token } = (await stack.admin(
    'orders',
    ...['token', 'create', '--tenant', 'demo', '--merchant', 'shop@example.com'],
  )) as { token: string }

  const book = (): Promise<ApiResponse> => {
    const general_data = { merchant_business_id: 7290, origin_city_id: 1511 }
    const body = { general_data, order_data: Array.from({ length: 5 }, () => order) }
    return request(`${orders}/api/public/merchant/order/bulk`, { token, body })
  }
  /** Returns the waybill of each message that reached a phone. */
  const readArrivals = async (): Promise<string[]> => {
    const { body } = await request(`${simulator}/control/messages?limit=1000`)
    return body.data.map(({ rendered }: { rendered: { header: string } }) => /DM\d{8}/.exec(rendered.header)?.[0])
  }
  const waitForMessages = (waybills: readonly string[]) =>
    waitUntil('each order has its message', readArrivals, arrived => waybills.every(one => arrived.includes(one)))
  const failOver = async (beforePromotion = async () => {}): Promise<void> => {
    await primary.kill()
    server.port = standby.port
    await beforePromotion()
    await standby.promote()
  }
  const restart = async (): Promise<void> => {
    for (const service of services) await stack[service].stop('SIGKILL')
    for (const service of services) stack[service].start()
    const isUp = () => Promise.all(services.map(one => fetch(`${stack[one].url}/health/live`).catch(() => undefined)))
    await waitUntil('both listen', isUp, responses => responses.every(response => response?.ok))
  }
  return { stack, standby, book, readArrivals, waitForMessages, failOver, restart }
}

const countTwice = (all: readonly string[]): number => all.length - new Set(all).size

/** Fails over to a standby that lacks the newest writes; expects that both services wait for `restored`. */
const loseWrites = async (t: Test, chosen: Chosen, isRestarted: boolean) => {
  const { stack, standby, book, readArrivals, waitForMessages, failOver, restart } = await prepare(t, chosen)
  const given: string[] = (await book()).body.data
  await waitForMessages(given)
  const since = new Date().toISOString()
  await standby.disconnect()
  // A new process reserves a block of numbers, which the standby does not learn of.
  await restart()
  await Promise.all(services.map(service => stack[service].ready()))
  given.push(...(await book()).body.data)
  await waitForMessages(given)
  await failOver(async () => {
    const readReadiness = () => request(`${stack.orders.url}/health/ready`)
    const isReadOnly = ({ body }: ApiResponse) => /does not accept writes/.test(body.message)
    t.equal((await waitUntil('orders says that the standby only reads', readReadiness, isReadOnly)).status, 503)
    t.match(await book(), { status: 503, body: { code: 'unavailable' } })
  })
  if (isRestarted) await restart()

  const end = performance.now() + 5_000
  const statuses = new Set<string>()
  while (performance.now() < end) {
    const { status, body } = await book()
    if (status === 200) given.push(...body.data)
    statuses.add(`${status} ${body.code} ${body.message}`)
    await delay(100)
  }
  t.equal(countTwice(given), 0, 'no waybill was given twice')
  const waiting = [...statuses].filter(text => !text.includes('for a moment'))
  t.match(waiting, [/^503 unavailable The service waits for its operator: the database may lack/])
  t.equal(waiting.length, 1)
  for (const service of services) {
    const { status, body } = await request(`${stack[service].url}/health/ready`)
    t.match({ status, body }, { status: 503, body: { message: /may lack acknowledged writes/ } }, service)
    t.match(stack[service].lines.join('\n'), /history\.other: .*run `restored`/, service)
  }
  t.equal(countTwice(await readArrivals()), 0, 'no message left twice')

  await stack.admin('notifier', 'restored')
  await stack.notifier.ready()
  await stack.admin('orders', 'restored', '--since', since)
  await stack.orders.ready()
  const { status, body } = await book()
  t.equal(status, 200)
  given.push(...body.data)
  await waitForMessages(body.data)
  t.equal(countTwice(given), 0, 'no waybill was given twice')
  t.equal(countTwice(await readArrivals()), 0, 'no message left twice')
}

t.test('after a failover that loses writes the services wait for `restored`, and go on by themselves', t =>
  loseWrites(t, {}, false),
)

t.test('a process that starts after the failover waits, too', t => loseWrites(t, {}, true))

t.test('a process that misses its own write does not believe that the standby was synchronous', t =>
  loseWrites(t, { environment: { SYNCHRONOUS_STANDBY: 'true' } }, false),
)

t.test('behind PgBouncer the services wait for `restored`, too', { skip: whyNoPgBouncer }, t =>
  loseWrites(t, { isPooled: true }, false),
)

/** Books for 15 seconds, with a failover in between. Returns the seconds without a booking. */
const bookThrough = async ({ book, failOver }: Awaited<ReturnType<typeof prepare>>, given: string[]) => {
  const ends: number[] = []
  let failing: Promise<void> | undefined
  for (const start = performance.now(); performance.now() < start + 15_000; await delay(200)) {
    if (performance.now() > start + 3_000) failing ??= failOver()
    const { status, body } = await book().catch(() => ({ status: 0, body: undefined }))
    if (status !== 200) continue
    given.push(...body.data)
    ends.push(performance.now())
  }
  await failing
  return Math.max(...ends.slice(1).map((end, index) => end - (ends[index] ?? end))) / 1000
}

for (const isPooled of [false, true])
  t.test(
    `a synchronous failover needs nobody${isPooled ? ', behind PgBouncer either' : ''}`,
    { skip: isPooled && whyNoPgBouncer },
    async t => {
      const prepared = await prepare(t, { isSynchronous: true, isPooled })
      const given: string[] = []
      const seconds = await bookThrough(prepared, given)
      t.comment(`${given.length} orders, ${seconds.toFixed(1)} s without a booking`)
      t.ok(seconds < 15)
      const arrived = await prepared.waitForMessages(given)
      t.equal(countTwice(given), 0, 'no waybill was given twice')
      t.equal(countTwice(arrived), 0, 'no message left twice')
    },
  )

t.test('a process that starts after a synchronous failover needs the setting', async t => {
  const { book, failOver, restart, stack } = await prepare(t, { isSynchronous: true })
  const given: string[] = (await book()).body.data
  for (const service of services) await stack[service].stop('SIGKILL')
  await failOver()
  await restart()
  t.equal((await book()).status, 503)
  for (const service of services) stack[service].environment.SYNCHRONOUS_STANDBY = 'true'
  await restart()
  await Promise.all(services.map(service => stack[service].ready()))
  const { status, body } = await book()
  t.equal(status, 200)
  t.equal(countTwice([...given, ...body.data]), 0)
})
