import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../dev/settings.ts'
import { superuserAddress } from '../dev/test-database.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { type Stack, startStack } from '../test/stack.ts'
import { query, unlimited } from './orders-stage.ts'
import type { TrustOptions } from './promise.ts'

export interface Courier extends Stack {
  merchant: { url: string; token: string }
  staffToken: string
  rows: (service: 'orders' | 'notifier', text: string) => Promise<Record<string, unknown>[]>
  /** How many messages the simulator accepted. */
  countAccepted: () => Promise<number>
}

type Environment = Record<string, string>
const simulatorSettings = { SIMULATOR_THROUGHPUT_PER_SECOND: '0', SIMULATOR_MAGIC_RECIPIENTS: 'false' }

/** Both services and the simulator as processes, with the tenant demo: each order makes a message. */
export const stageCourier = async (
  t: TrustOptions,
  more: { orders?: Environment; notifier?: Environment } = {},
): Promise<Courier> => {
  const stack = await startStack(t, {
    orders: { LOG_LEVEL: 'error', ...unlimited, ...more.orders },
    notifier: { LOG_LEVEL: 'error', ...unlimited, RECIPIENT_PAUSE_SECONDS: '0', ...more.notifier },
    simulator: { LOG_LEVEL: 'error', SIMULATOR_DELAY_FACTOR: '0', ...simulatorSettings },
  })
  const folder = await mkdtemp(join(tmpdir(), 'courier-trust-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const apply = async (service: 'orders' | 'notifier', file: object): Promise<void> => {
    const path = join(folder, `${service}.json`)
    await writeFile(path, JSON.stringify(file))
    await stack.admin(service, 'apply', path)
  }
  const notifierFile = JSON.parse(await readFile(join(root, 'examples/demo-notifier.json'), 'utf8'))
  notifierFile.channels[0].messages_per_second = 1000
  await apply('orders', tenantFile())
  await apply('notifier', notifierFile)
  const words = ['token', 'create', '--tenant', 'demo']
  const { token } = (await stack.admin('orders', ...words, '--merchant', 'shop@example.com')) as { token: string }
  const staff = (await stack.admin('orders', ...words, '--staff', 'Ruwan')) as { token: string }
  return {
    ...stack,
    merchant: { url: stack.orders.url, token },
    staffToken: staff.token,
    rows: (service, text) => query(superuserAddress(stack.databases[service]), text),
    countAccepted: async () => {
      const answer = await fetch(`${stack.simulator.url}/control`)
      return ((await answer.json()) as { accepted: number }).accepted
    },
  }
}
