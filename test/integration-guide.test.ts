import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { findFreePort, toAddress } from '../dev/ports.ts'
import { runAdmin, ServiceProcess } from '../dev/service-process.ts'
import { root } from '../dev/settings.ts'
import { cloneDatabase } from '../dev/test-database.ts'

/** Lists the commands of the guide in order, each with the response that the guide shows. */
const steps = [
  ...readFileSync(join(root, 'docs/merchants/integration.md'), 'utf8').matchAll(
    /```sh\n([\s\S]*?)```(?:\s+```json\n([\s\S]*?)```)?/g,
  ),
].map(([, commands = '', response]) => ({ commands, response }))

/** Masks values that differ between runs. */
const mask = (text: string): string =>
  text
    .replace(/\bDM\d{8}\b/g, 'a waybill')
    .replace(/[0-9a-f-]{36}\.\d+/g, 'a cursor')
    .replace(/"ms":\d+/g, '"ms":0')

t.test('a developer who follows the guide gets its documented responses, from login to webhook', async t => {
  const database = await cloneDatabase(t, 'orders')
  const [port, receiverPort] = [await findFreePort(), await findFreePort()]
  const environment = {
    ORDERS_PORT: String(port),
    ORDERS_DATABASE_URL: database.url,
    ORDERS_MIGRATE_DATABASE_URL: database.ownerUrl,
    SERVICE_TOKEN: randomBytes(16).toString('hex'),
    WEBHOOK_KEYS: `test:${randomBytes(32).toString('base64')}`,
    WEBHOOK_PRIVATE_ADDRESSES: 'true',
  }
  const orders = new ServiceProcess('services/orders/main.ts', toAddress('127.0.0.1', port), environment)
  t.teardown(() => orders.stop())
  orders.start()
  await orders.ready()
  await runAdmin('orders', ['apply', join(root, 'examples/demo-tenant.json')], { env: environment })

  const log = join(t.testdir(), 'received.log')
  const script = steps
    .map(({ commands }, step) => `${commands}\nprintf '\\n### ${step}\\n'\n`)
    .join('')
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
    .replaceAll('127.0.0.1:4000', `127.0.0.1:${receiverPort}`)
    .replaceAll('received.log', log)
  const env = { PATH: process.env.PATH, PORT: String(receiverPort) }
  const { stdout, stderr } = await promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', script], {
    cwd: root,
    env,
  })
  t.equal(stderr, '')
  const outputs = stdout.split(/\n### \d+\n/)
  for (const [step, { commands, response }] of steps.entries())
    if (response !== undefined) {
      const last = outputs[step]?.trim().match(/\{.*\}$/)?.[0] ?? '{}'
      const actual = last.slice(last.lastIndexOf('}{') + 1)
      t.match(JSON.parse(mask(actual)), JSON.parse(mask(response)), commands)
    }
  t.match(outputs[steps.length - 1], /ping .*\norder\.status_changed DM\d{8} key_3\n/)
})
