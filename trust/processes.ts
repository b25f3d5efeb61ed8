import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { root } from '../dev/settings.ts'
import { cloneDatabase, type Teardown, type TestDatabase } from '../dev/test-database.ts'

/** A service as a process of its own, as it runs in production. */
export interface ServiceProcess {
  readonly url: string
  readonly child: ChildProcess
  /** Everything that it printed, a line each. */
  readonly lines: readonly string[]
  /** What settings it was started with. */
  readonly environment: Readonly<Record<string, string>>
}

export interface ProcessOptions {
  /** From the root of the repository. */
  file: string
  portSetting: string
  environment: Record<string, string>
}

/** Starts it on a port that the system chooses and waits until it listens. Killed by `teardown`. */
export const startProcess = async (
  t: Teardown,
  { file, portSetting, environment }: ProcessOptions,
): Promise<ServiceProcess> => {
  const settings = { LOG_LEVEL: 'debug', HOST: '127.0.0.1', [portSetting]: '0', ...environment }
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...settings }
  const child = spawn(process.execPath, [join(root, file)], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', line => lines.push(line))
  for (let tries = 0; tries < 600 && child.exitCode === null; tries++) {
    const url = lines.map(line => /listening at (http:[^"]+)/.exec(line)?.[1]).find(Boolean)
    if (url) return { url, child, lines, environment: settings }
    await delay(50)
  }
  throw new Error(`${file} did not start:\n${lines.slice(-5).join('\n')}`)
}

/** A limit of calls would hide what is looked for. */
const common = {
  RATE_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_LIMIT_PER_MINUTE: '1000000000',
  ADDRESS_REFUSALS_PER_MINUTE: '1000000000',
  SERVICE_TOKEN: 'a-service-token-of-trust',
}

export const startOrdersProcess = async (t: Teardown, more: Record<string, string> = {}) => {
  const database = await cloneDatabase(t, 'orders')
  const environment = {
    ORDERS_DATABASE_URL: database.url,
    ORDERS_MIGRATE_DATABASE_URL: database.ownerUrl,
    ...common,
    ...more,
  }
  const service = await startProcess(t, { file: 'services/orders/main.ts', portSetting: 'ORDERS_PORT', environment })
  return { ...service, database }
}

/** With a simulator of its own, whose webhooks it gets. */
export const startNotifierProcess = async (
  t: Teardown,
  more: Record<string, string> = {},
): Promise<ServiceProcess & { database: TestDatabase; simulatorUrl: string }> => {
  const database = await cloneDatabase(t, 'notifier')
  const simulator = await startProcess(t, {
    file: 'simulator/main.ts',
    portSetting: 'SIMULATOR_PORT',
    environment: { SIMULATOR_DELAY_FACTOR: '0', WEBHOOK_URL: 'none' },
  })
  const environment = {
    NOTIFIER_DATABASE_URL: database.url,
    NOTIFIER_MIGRATE_DATABASE_URL: database.ownerUrl,
    CREDENTIALS_KEYS: `trust:${randomBytes(32).toString('base64')}`,
    MESSAGING_API_URL: simulator.url,
    RECIPIENT_PAUSE_SECONDS: '1',
    ...common,
    ...more,
  }
  const file = 'services/notifier/main.ts'
  const service = await startProcess(t, { file, portSetting: 'NOTIFIER_PORT', environment })
  return { ...service, database, simulatorUrl: simulator.url }
}
