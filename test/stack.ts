import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { findFreePort, toAddress } from '../dev/ports.ts'
import { runCommand } from '../dev/run-command.ts'
import { type Environment, ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { cloneDatabase, type Teardown, type TestDatabase } from '../dev/test-database.ts'
import type { Courier } from './courier.ts'

export interface Stack {
  orders: ServiceProcess
  notifier: ServiceProcess
  simulator: ServiceProcess
  databases: { orders: TestDatabase; notifier: TestDatabase }
  /** Runs an operator's command of a service. Returns the JSON that the command prints. */
  admin: (service: 'orders' | 'notifier', ...words: string[]) => Promise<unknown>
}

const secrets = { DEMO_ACCESS_TOKEN: 'demo-access-token', DEMO_APP_SECRET: 'demo-app-secret' }

/** Applies the demo's files to both services. Returns their addresses, with a staff token for each. */
export const applyDemo = async ({ admin, orders, notifier, simulator }: Stack): Promise<Courier> => {
  await admin('orders', 'apply', join(root, 'examples/demo-tenant.json'))
  await admin('notifier', 'apply', join(root, 'examples/demo-notifier.json'))
  const createStaff = async (service: 'orders' | 'notifier') =>
    ((await admin(service, 'token', 'create', '--tenant', 'demo', '--staff', 'Ruwan')) as { token: string }).token
  const tokens = { ordersStaff: await createStaff('orders'), notifierStaff: await createStaff('notifier') }
  return { orders: orders.url, notifier: notifier.url, simulator: simulator.url, ...tokens }
}

export interface StackOptions {
  orders?: Environment
  notifier?: Environment
  simulator?: Environment
  /** Replaces the database that is otherwise cloned for orders. */
  ordersDatabase?: TestDatabase
  notifierDatabase?: TestDatabase
}

/**
 * Starts both services and the simulator on databases of their own, with each other's addresses. Stops them when the
 * test ends.
 */
export const startStack = async (t: Teardown, more: StackOptions = {}): Promise<Stack> => {
  const databases = {
    orders: more.ordersDatabase ?? (await cloneDatabase(t, 'orders')),
    notifier: more.notifierDatabase ?? (await cloneDatabase(t, 'notifier')),
  }
  const [ordersPort, notifierPort, simulatorPort] = [await findFreePort(), await findFreePort(), await findFreePort()]
  const common = { ...secrets, SERVICE_TOKEN: randomBytes(16).toString('hex'), RATE_LIMIT_PER_MINUTE: '1000000' }
  const ports = { ORDERS_PORT: String(ordersPort), NOTIFIER_PORT: String(notifierPort) }
  const orders = new ServiceProcess('services/orders/main.ts', toAddress('127.0.0.1', ordersPort), {
    ...common,
    ...ports,
    ORDERS_DATABASE_URL: databases.orders.url,
    ORDERS_MIGRATE_DATABASE_URL: databases.orders.ownerUrl,
    WEBHOOK_KEYS: `test:${randomBytes(32).toString('base64')}`,
    WEBHOOK_PRIVATE_ADDRESSES: 'true',
    ...more.orders,
  })
  const notifier = new ServiceProcess('services/notifier/main.ts', toAddress('127.0.0.1', notifierPort), {
    ...common,
    ...ports,
    NOTIFIER_DATABASE_URL: databases.notifier.url,
    NOTIFIER_MIGRATE_DATABASE_URL: databases.notifier.ownerUrl,
    CREDENTIALS_KEYS: `test:${randomBytes(32).toString('base64')}`,
    MESSAGING_API_URL: `http://127.0.0.1:${simulatorPort}`,
    ...more.notifier,
  })
  const simulator = new ServiceProcess('simulator/main.ts', toAddress('127.0.0.1', simulatorPort), {
    ...secrets,
    SIMULATOR_PORT: String(simulatorPort),
    SIMULATOR_DELAY_FACTOR: '0.1',
    WEBHOOK_URL: `${notifier.url}/webhooks/messaging`,
    ...more.simulator,
  })
  const services = { orders, notifier, simulator }
  for (const service of Object.values(services)) {
    t.teardown(() => service.stop())
    service.start()
  }
  await Promise.all(Object.values(services).map(service => service.ready()))
  const admin: Stack['admin'] = async (service, ...words) => {
    const file = join(root, 'services', service, 'admin.ts')
    const { status, stdout, stderr } = await runCommand(file, services[service].environment, [...words, '--json'])
    if (status !== 0) throw new Error(stderr || stdout)
    return JSON.parse(stdout)
  }
  return { ...services, databases, admin }
}
