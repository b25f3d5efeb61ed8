import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createDatabaseWithRoles, onServer } from '../dev/databases.ts'
import { type Server, type Standby, startOwnPostgres } from '../dev/own-postgres.ts'
import { embeddedPassword } from '../dev/settings.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { type ApiResponse, request, waitUntil } from './courier.ts'
import { order } from './journey.ts'
import { startPgBouncer, whyNoPgBouncer } from './pgbouncer.ts'
import { applyDemo, startStack } from './stack.ts'

t.setTimeout(900_000)

const services = ['orders', 'notifier'] as const

/** Starts both services with their databases on one server, behind an address that can move. */
const prepare = async (t: Test, isPooled: boolean) => {
  const first = await startOwnPostgres(t, 'orders')
  await createDatabaseWithRoles(first.buildAddress('postgres'), 'notifier')
  const server = { host: '127.0.0.1', port: first.port }
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
    notifier: { RECIPIENT_PAUSE_SECONDS: '0' },
  })
  const { orders, simulator } = await applyDemo(stack)
  const { token } = (await stack.admin(
    'orders',
    ...['token', 'create', '--tenant', 'demo', '--merchant', 'shop@example.com'],
  )) as { token: string }

  const given: string[] = []
  const book = async (): Promise<ApiResponse> => {
    const general_data = { merchant_business_id: 7290, origin_city_id: 1511 }
    const body = { general_data, order_data: [order, order] }
    const response = await request(`${orders}/api/public/merchant/order/bulk`, { token, body })
    if (response.status === 200) given.push(...response.body.data)
    return response
  }
  /** Returns the waybill of each message that reached a phone. */
  const readArrivals = async (): Promise<string[]> => {
    const { body } = await request(`${simulator}/control/messages?limit=1000`)
    return body.data.map(({ rendered }: { rendered: { header: string } }) => /DM\d{8}/.exec(rendered.header)?.[0])
  }
  /** Waits for the messages of all orders that were booked. */
  const waitForMessages = () =>
    waitUntil('each order has its message', readArrivals, arrived => given.every(one => arrived.includes(one)))
  const requireOnce = async (t: Test): Promise<void> => {
    t.equal(countTwice(given), 0, 'no waybill was given twice')
    t.equal(countTwice(await readArrivals()), 0, 'no message left twice')
  }
  let primary: Server = first
  /** Adds a standby. Makes commits wait for it if it is synchronous. */
  const addStandby = async ({ isSynchronous }: { isSynchronous: boolean }): Promise<Standby> => {
    const standby = await primary.addStandby()
    if (isSynchronous)
      await onServer(databases.orders.superuserUrl, async client => {
        await client.query(`alter system set synchronous_standby_names = '*'`)
        await client.query('select pg_reload_conf()')
      })
    return standby
  }
  const failOver = async (standby: Standby, beforePromotion = async () => {}): Promise<void> => {
    await primary.kill()
    server.port = standby.port
    await beforePromotion()
    await standby.promote()
    primary = standby
  }
  const restart = async (isSaidSynchronous = false): Promise<void> => {
    for (const service of services) {
      await stack[service].stop('SIGKILL')
      stack[service].environment.SYNCHRONOUS_STANDBY = String(isSaidSynchronous)
      stack[service].start()
    }
    const isUp = () => Promise.all(services.map(one => fetch(`${stack[one].url}/health/live`).catch(() => undefined)))
    await waitUntil('both listen', isUp, responses => responses.every(response => response?.ok))
  }
  const ready = () => Promise.all(services.map(service => stack[service].ready()))
  return { stack, addStandby, book, waitForMessages, requireOnce, failOver, restart, ready }
}

type Bed = Awaited<ReturnType<typeof prepare>>

const countTwice = (all: readonly string[]): number => all.length - new Set(all).size

/** Fails over to a standby that lacks the newest writes; expects that both services wait for `restored`. */
const loseWrites = async (t: Test, bed: Bed, { isRestarted = false, isSaidSynchronous = false } = {}) => {
  const { stack, addStandby, book, waitForMessages, requireOnce, failOver, restart, ready } = bed
  for (const service of services) stack[service].lines.splice(0)
  const standby = await addStandby({ isSynchronous: false })
  t.equal((await book()).status, 200)
  await waitForMessages()
  const since = new Date().toISOString()
  await standby.disconnect()
  // A new process reserves a block of numbers, which the standby does not learn of.
  await restart(isSaidSynchronous)
  await ready()
  t.equal((await book()).status, 200)
  await waitForMessages()
  await failOver(standby, async () => {
    const readReadiness = () => request(`${stack.orders.url}/health/ready`)
    const isReadOnly = ({ body }: ApiResponse) => /does not accept writes/.test(body.message)
    t.equal((await waitUntil('orders says that the standby only reads', readReadiness, isReadOnly)).status, 503)
    t.match(await book(), { status: 503, body: { code: 'unavailable' } })
  })
  if (isRestarted) await restart(isSaidSynchronous)

  const end = performance.now() + 5_000
  const statuses = new Set<string>()
  while (performance.now() < end) {
    const { status, body } = await book()
    statuses.add(`${status} ${body.code} ${body.message}`)
    await delay(200)
  }
  const waiting = [...statuses].filter(text => !text.includes('for a moment'))
  t.match(waiting, [/^503 unavailable The service waits for its operator: the database may lack/])
  t.equal(waiting.length, 1)
  for (const service of services) {
    const { status, body } = await request(`${stack[service].url}/health/ready`)
    t.match({ status, body }, { status: 503, body: { message: /may lack acknowledged writes/ } }, service)
    t.match(stack[service].lines.join('\n'), /history\.other: .*run `restored`/, service)
  }
  await requireOnce(t)

  await stack.admin('notifier', 'restored')
  await stack.notifier.ready()
  await stack.admin('orders', 'restored', '--since', since)
  await stack.orders.ready()
  t.equal((await book()).status, 200)
  await waitForMessages()
  await requireOnce(t)
}

/** Books at intervals, with a failover in between. Returns the seconds without a booking. */
const bookThrough = async ({ book, failOver }: Bed, standby: Standby): Promise<number> => {
  const ends: number[] = []
  let isPromoted = false
  const promote = async (): Promise<void> => {
    await failOver(standby)
    isPromoted = true
  }
  let failing: Promise<void> | undefined
  const start = performance.now()
  for (let after = 0; after < 15; await delay(200)) {
    if (performance.now() > start + 60_000) throw new Error('no bookings within a minute')
    if (performance.now() > start + 3_000) failing ??= promote()
    const { status } = await book().catch(() => ({ status: 0 }))
    if (status !== 200) continue
    ends.push(performance.now())
    if (isPromoted) after++
  }
  await failing
  return Math.max(...ends.slice(1).map((end, index) => end - (ends[index] ?? end))) / 1000
}

for (const isPooled of [false, true])
  t.test(
    `in one failover after the other${isPooled ? ', behind PgBouncer' : ''}`,
    { skip: isPooled && whyNoPgBouncer },
    async t => {
      const bed = await prepare(t, isPooled)
      await t.test('a synchronous failover needs nobody', async t => {
        const standby = await bed.addStandby({ isSynchronous: true })
        const seconds = await bookThrough(bed, standby)
        t.comment(`${seconds.toFixed(1)} s without a booking`)
        t.ok(seconds < 15)
        await bed.waitForMessages()
        await bed.requireOnce(t)
      })
      await t.test('after one that loses writes the services wait for `restored`, and go on by themselves', t =>
        loseWrites(t, bed),
      )
      if (isPooled) return
      await t.test('a process that starts after the failover waits, too', t =>
        loseWrites(t, bed, { isRestarted: true }),
      )
      await t.test('a process that misses its own write does not believe that the standby was synchronous', t =>
        loseWrites(t, bed, { isSaidSynchronous: true }),
      )
      await t.test('a process that starts after a synchronous failover needs the setting', async t => {
        const { addStandby, book, failOver, requireOnce, restart, ready, stack } = bed
        const standby = await addStandby({ isSynchronous: true })
        t.equal((await book()).status, 200)
        for (const service of services) await stack[service].stop('SIGKILL')
        await failOver(standby)
        await restart()
        t.equal((await book()).status, 503)
        await restart(true)
        await ready()
        t.equal((await book()).status, 200)
        await requireOnce(t)
      })
    },
  )
