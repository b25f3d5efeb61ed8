import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { checkOut } from '../bench/versions.ts'
import { onServer } from '../dev/databases.ts'
import { lastRelease, skipWithoutRelease } from '../dev/last-release.ts'
import { findFreePort, toAddress } from '../dev/ports.ts'
import { type Environment, runAdmin, ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { cloneDatabase, type Teardown, type TestDatabase } from '../dev/test-database.ts'
import { messageTo } from '../services/notifier/test/fixture.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { control, unlimited } from '../trust/courier.ts'
import { request, waitUntil } from './courier.ts'

type Service = 'orders' | 'notifier'

/** Prepares a service without tables, and its load balancer with an address for each version. */
const prepare = async (t: Teardown, service: Service, settings: Environment) => {
  const database = await cloneEmpty(t, service)
  const name = service.toUpperCase()
  const targets = { old: { host: '127.0.0.1', port: 1 }, new: { host: '127.0.0.1', port: 1 } }
  const balancer = await startProxy(targets.old, targets.new)
  t.teardown(balancer.close)
  const environment = {
    LOG_LEVEL: 'warn',
    ...unlimited,
    ...settings,
    [`${name}_DATABASE_URL`]: database.url,
    [`${name}_MIGRATE_DATABASE_URL`]: database.ownerUrl,
  }
  /** Prepares a process of the code in `folder`, without starting it. */
  const prepareProcess = async (version: keyof typeof targets, folder: string) => {
    const port = await findFreePort()
    targets[version].port = port
    const process = new ServiceProcess(join(folder, `services/${service}/main.ts`), toAddress('127.0.0.1', port), {
      ...environment,
      [`${name}_PORT`]: String(port),
    })
    t.teardown(() => process.stop())
    return process
  }
  const admin = (folder: string, ...words: string[]) => runAdmin(service, words, { env: environment, folder })
  return { database, environment, prepareProcess, admin, url: `http://127.0.0.1:${balancer.port}` }
}

const cloneEmpty = async (t: Teardown, service: Service): Promise<TestDatabase> => {
  const database = await cloneDatabase(t, service)
  await onServer(database.ownerUrl, client => client.query('drop schema public cascade; create schema public'))
  return database
}

const startAll = (...processes: ServiceProcess[]) =>
  Promise.all(
    processes.map(process => {
      process.start()
      return process.ready()
    }),
  )

const stopAll = async (...processes: ServiceProcess[]): Promise<void> => {
  t.same(
    await Promise.all(processes.map(process => process.stop('SIGTERM'))),
    processes.map(() => 0),
  )
}

interface Addresses {
  orders: string
  notifier: string
  merchant: string
  ordersStaff: string
  notifierStaff: string
}

/** Sends requests of merchants and staff, round after round, and logs every failure. */
const keepRequesting = ({ orders, notifier, merchant, ordersStaff, notifierStaff }: Addresses) => {
  const log = { rounds: 0, waybills: [] as string[], cancelled: 0, failures: [] as string[] }
  let isOver = false
  const send = async (url: string, token: string, body?: unknown, key?: string) => {
    const options = { token, ...(body !== undefined && { body }), ...(key !== undefined && { key }) }
    const response = await request(url, options).catch(error => ({ status: 0, body: String(error.cause ?? error) }))
    if (response.status < 200 || response.status > 202)
      log.failures.push(`${url}: ${response.status} ${JSON.stringify(response.body).slice(0, 200)}`)
    return response.body?.data ?? []
  }
  const work = async (worker: number): Promise<void> => {
    for (let round = 0; !isOver; round++, log.rounds++) {
      const key = `${worker}-${round}`
      const makeOrder = () => order({ initial_status_key: 'key_2' })
      const bookTwo = () =>
        send(`${orders}/api/public/merchant/order/bulk`, merchant, batch([makeOrder(), makeOrder()]), key)
      const [first, second]: string[] = await bookTwo()
      if ((await bookTwo())[0] !== first) log.failures.push(`${key} took effect twice`)
      if (first === undefined || second === undefined) continue
      log.waybills.push(first, second)
      await send(`${orders}/api/public/merchant/order/${first}`, merchant)
      await send(`${orders}/api/staff/order/status`, ordersStaff, { waybill_numbers: [second], status_key: 'key_3' })
      log.cancelled++
      await send(`${notifier}/api/messages`, notifierStaff, messageTo(`+9477${1_000_000 + log.rounds}`), key)
      await send(`${notifier}/api/messages?limit=1`, notifierStaff)
      await delay(300)
    }
  }
  const working = Promise.all([0, 1, 2].map(work))
  const stop = async () => {
    isOver = true
    await working
  }
  /** Waits for more than ten further rounds of requests. */
  const goOn = async (): Promise<void> => {
    const { rounds } = log
    await waitUntil(
      'requests go on',
      async () => log.rounds,
      now => now > rounds + 10,
    )
  }
  return { log, stop, goOn }
}

t.test(
  'the last release and this code run side by side, through upgrade and rollback, and no request fails',
  { skip: skipWithoutRelease },
  async t => {
    const cleanUps = new AsyncDisposableStack()
    t.teardown(() => cleanUps.disposeAsync())
    const release = await checkOut(lastRelease ?? '', cleanUps)
    const secrets = { DEMO_ACCESS_TOKEN: 'demo-access-token', DEMO_APP_SECRET: 'demo-app-secret' }
    const simulatorPort = await findFreePort()
    const SERVICE_TOKEN = randomBytes(16).toString('hex')
    const orders = await prepare(t, 'orders', { SERVICE_TOKEN })
    const notifier = await prepare(t, 'notifier', {
      ...secrets,
      SERVICE_TOKEN,
      ORDERS_URL: orders.url,
      CREDENTIALS_KEYS: `test:${randomBytes(32).toString('base64')}`,
      MESSAGING_API_URL: `http://127.0.0.1:${simulatorPort}`,
      RECIPIENT_PAUSE_SECONDS: '0',
    })
    Object.assign(orders.environment, { NOTIFIER_URL: notifier.url })
    const simulator = new ServiceProcess('simulator/main.ts', toAddress('127.0.0.1', simulatorPort), {
      ...secrets,
      SIMULATOR_PORT: String(simulatorPort),
      SIMULATOR_DELAY_FACTOR: '0',
      SIMULATOR_THROUGHPUT_PER_SECOND: '0',
      WEBHOOK_URL: `${notifier.url}/webhooks/messaging`,
    })
    t.teardown(() => simulator.stop())

    const settings = { SERVICE_TOKEN, CREDENTIALS_KEYS: `test:${randomBytes(32).toString('base64')}` }
    for (const service of ['orders', 'notifier'] as const) {
      const { admin } = await prepare(t, service, settings)
      await admin(root, 'migrate')
      t.same(await admin(release, 'migrate'), { applied: [] }, `the release finds no migration of ${service} to apply`)
    }

    const old = [await orders.prepareProcess('old', release), await notifier.prepareProcess('old', release)]
    await startAll(simulator, ...old)
    await orders.admin(release, 'apply', join(release, 'examples/demo-tenant.json'))
    await notifier.admin(release, 'apply', join(release, 'examples/demo-notifier.json'))
    const create = async ({ admin }: typeof orders, ...holder: string[]): Promise<string> =>
      ((await admin(release, 'token', 'create', '--tenant', 'demo', ...holder)) as { token: string }).token
    const load = keepRequesting({
      orders: orders.url,
      notifier: notifier.url,
      merchant: await create(orders, '--merchant', 'shop@example.com'),
      ordersStaff: await create(orders, '--staff', 'Ruwan'),
      notifierStaff: await create(notifier, '--staff', 'Ruwan'),
    })
    t.teardown(load.stop)
    const endPhase = async (phase: string): Promise<void> => {
      await load.goOn()
      t.same(load.log.failures.splice(0), [], phase)
    }
    await endPhase('the last release alone')

    const fresh = [await orders.prepareProcess('new', root), await notifier.prepareProcess('new', root)]
    await onServer(orders.database.ownerUrl, async client => {
      await client.query('begin; lock table kysely_migration')
      fresh[0]?.start()
      await load.goOn()
      await t.rejects(
        fetch(`${fresh[0]?.url}/health/live`),
        'this code does not serve on the schema of the last release',
      )
      await client.query('rollback')
    })
    await fresh[0]?.ready()
    await startAll(fresh[1] as ServiceProcess)
    await endPhase('both on the new schema')
    await stopAll(...old)
    await endPhase('this code alone')

    const again = [await orders.prepareProcess('old', release), await notifier.prepareProcess('old', release)]
    await startAll(...again)
    await endPhase('the last release started on the new schema')
    await stopAll(...fresh)
    await endPhase('the last release alone on the new schema')

    await load.stop()
    const { waybills, cancelled, rounds } = load.log
    const due = waybills.length + cancelled + rounds
    const listArrived = async () =>
      (await control(simulator.url, '/messages?limit=50000')).data as { biz_opaque_callback_data: string }[]
    const messages = await waitUntil('every message arrives', listArrived, list => list.length >= due)
    t.equal(
      messages.length,
      due,
      'each message about an order or a cancellation, and each message from staff, arrived once',
    )
    t.equal(new Set(messages.map(message => message.biz_opaque_callback_data)).size, due)
  },
)
