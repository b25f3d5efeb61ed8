import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from '../dev/ports.ts'
import { root } from '../dev/settings.ts'
import { cloneDatabase, type TestDatabase } from '../dev/test-database.ts'

interface Teardown {
  teardown: (cleanUp: () => unknown) => unknown
}
type Environment = Record<string, string>

/** A service as a process of its own on a port that it keeps, so that it can be killed and started again. */
export class ServiceProcess {
  readonly url: string
  readonly environment: Environment
  /** Everything that it printed in all of its lives, a line each. */
  readonly lines: string[] = []
  readonly #file: string
  #child: ChildProcess | undefined

  constructor(folder: string, port: number, environment: Environment) {
    this.url = `http://127.0.0.1:${port}`
    this.environment = { LOG_LEVEL: 'info', HOST: '127.0.0.1', ...environment }
    this.#file = join(root, folder, 'main.ts')
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  start(): void {
    const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...this.environment }
    const child = spawn(process.execPath, [this.#file], { env, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', line => this.lines.push(line))
    this.#child = child
  }

  /** Waits until it is gone. Returns its exit status; null when a signal ended it. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
    const child = this.#child
    if (!child) return null
    const hasEnded = child.exitCode !== null || child.signalCode !== null
    const ended = hasEnded ? undefined : once(child, 'exit')
    child.kill(signal)
    await ended
    return child.exitCode
  }

  async ready(seconds = 30): Promise<void> {
    const end = performance.now() + seconds * 1000
    while (performance.now() < end) {
      const answer = await fetch(`${this.url}/health/ready`).catch(() => undefined)
      if (answer?.ok) return
      await delay(25)
    }
    throw new Error(`${this.#file} is not ready:\n${this.lines.slice(-5).join('\n')}`)
  }
}

export interface Stack {
  orders: ServiceProcess
  notifier: ServiceProcess
  simulator: ServiceProcess
  databases: { orders: TestDatabase; notifier: TestDatabase }
  /** The operator's command line of a service; returns what it printed as JSON. */
  admin: (service: 'orders' | 'notifier', ...words: string[]) => Promise<unknown>
}

const run = promisify(execFile)
const secrets = { DEMO_ACCESS_TOKEN: 'demo-access-token', DEMO_APP_SECRET: 'demo-app-secret' }

/** Both services and the simulator on databases of their own, told of each other, ready. Gone when the test ends. */
export const startStack = async (
  t: Teardown,
  more: { orders?: Environment; notifier?: Environment; simulator?: Environment } = {},
): Promise<Stack> => {
  const databases = { orders: await cloneDatabase(t, 'orders'), notifier: await cloneDatabase(t, 'notifier') }
  const [ordersPort, notifierPort, simulatorPort] = [await freePort(), await freePort(), await freePort()]
  const common = { ...secrets, SERVICE_TOKEN: randomBytes(16).toString('hex'), RATE_LIMIT_PER_MINUTE: '1000000' }
  const ports = { ORDERS_PORT: String(ordersPort), NOTIFIER_PORT: String(notifierPort) }
  const orders = new ServiceProcess('services/orders', ordersPort, {
    ...common,
    ...ports,
    ORDERS_DATABASE_URL: databases.orders.url,
    ORDERS_MIGRATE_DATABASE_URL: databases.orders.ownerUrl,
    ...more.orders,
  })
  const notifier = new ServiceProcess('services/notifier', notifierPort, {
    ...common,
    ...ports,
    NOTIFIER_DATABASE_URL: databases.notifier.url,
    NOTIFIER_MIGRATE_DATABASE_URL: databases.notifier.ownerUrl,
    CREDENTIALS_KEYS: `test:${randomBytes(32).toString('base64')}`,
    MESSAGING_API_URL: `http://127.0.0.1:${simulatorPort}`,
    ...more.notifier,
  })
  const simulator = new ServiceProcess('simulator', simulatorPort, {
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
    const { stdout } = await run(process.execPath, [file, ...words, '--json'], {
      env: services[service].environment,
    })
    return JSON.parse(stdout)
  }
  return { ...services, databases, admin }
}
