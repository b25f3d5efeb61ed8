import { join } from 'node:path'
import t, { type Test } from 'tap'
import { runCommand } from '../../dev/run-command.ts'
import { launch } from '../../dev/service-process.ts'
import { serviceToken } from './test/build.ts'
import { ordersFixture } from './test/orders-fixture.ts'

const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
/** Is the key of the test applications, another one under its id, and a proper newer one. */
const keys = { right: `test:${key(5)}`, wrong: `test:${key(6)}`, newer: `next:${key(6)},test:${key(5)}` }
const sentence =
  'key test of WEBHOOK_KEYS is not the one that sealed the stored secrets: correct it, or give a new key a new id'

const build = async (t: Test) => {
  const fixture = await ordersFixture(t)
  const { database } = fixture
  const environment = (WEBHOOK_KEYS: string) => ({
    ...{ ORDERS_DATABASE_URL: database.url, ORDERS_MIGRATE_DATABASE_URL: database.ownerUrl, ORDERS_PORT: '0' },
    ...{ SERVICE_TOKEN: serviceToken, NOTIFIER_URL: 'http://127.0.0.1:1', WEBHOOK_KEYS },
  })
  const isRefused = async (text: string) => {
    const { ended, listening, lines } = launch(t, 'services/orders/main.ts', environment(text))
    t.equal(await Promise.race([ended, listening().catch(() => ended)]), 1)
    t.match(JSON.parse(lines.at(-1) ?? '{}'), { level: 60, msg: `process.cannot_start: ${sentence}` })
  }
  const listens = (text: string) => launch(t, 'services/orders/main.ts', environment(text)).listening()
  const rotate = (text: string) =>
    runCommand(join(import.meta.dirname, 'admin.ts'), environment(text), ['keys', 'rotate'])
  return { ...fixture, isRefused, listens, rotate }
}

t.test('another key under the id of the one that sealed bank accounts stops the process and the rotation', async t => {
  const { request, staffToken: token, readFacts, rows, isRefused, listens, rotate } = await build(t)
  await listens(keys.wrong)
  const account = { bank: 'Bank of Ceylon', holder: 'Lanka Shoes', number: '0071234567' }
  const path = `/api/staff/merchant/${(await readFacts()).shop}/bank-account`
  t.equal((await request('POST', path, account, { token })).status, 200)
  await isRefused(keys.wrong)
  t.match(await rotate(keys.wrong), { status: 1, stderr: `orders: ${sentence}\n` })
  await listens(keys.right)
  await listens(keys.newer)

  await rows(`insert into bank_accounts
      (tenant_id, merchant_id, version, key_id, sealed, last_four, changed_by, changed_at)
    select tenant_id, merchant_id, version + 1, key_id, '\\x00', last_four, changed_by, changed_at from bank_accounts`)
  await listens(keys.right)
})

t.test('another key under the id of the one that sealed the secret of a webhook stops the process', async t => {
  const { request, isRefused, listens } = await build(t)
  t.equal((await request('POST', '/api/public/merchant/webhook', { url: 'http://127.0.0.1:1/' })).status, 201)
  await isRefused(keys.wrong)
  await listens(keys.right)
})
