// npm run screenshots: starts the demo on free ports, in a folder of its own, gives it a month of orders, and draws
// docs/images/.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { onServer } from './databases.ts'
import { readTokens, request } from './demo-data.ts'
import { demoEmail, demoPassword } from './demo-tenant.ts'
import { findFreePort } from './ports.ts'
import { embeddedPassword, root } from './settings.ts'

const folder = await mkdtemp(join(tmpdir(), 'courier-screenshots-'))
await chmod(folder, 0o755)
const settings = ['ORDERS_PORT', 'NOTIFIER_PORT', 'SIMULATOR_PORT', 'EMBEDDED_POSTGRES_PORT']
const ports = Object.fromEntries(
  await Promise.all(settings.map(async name => [name, String(await findFreePort())] as const)),
)
const [orders, notifier] = [ports.ORDERS_PORT, ports.NOTIFIER_PORT].map(port => `http://127.0.0.1:${port}`)
const serviceToken = 'courier-screenshots'

const startDemo = async () => {
  const env = { ...process.env, ...ports, DATA_DIR: folder, LOG_LEVEL: 'warn', SERVICE_TOKEN: serviceToken }
  const child = spawn(process.execPath, ['dev/start.ts'], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: child.stdout })) if (line === 'courier is ready') return child
  throw new Error('The demo did not start.')
}

const inDatabase = (name: string, text: string): Promise<unknown> => {
  const address = `127.0.0.1:${ports.EMBEDDED_POSTGRES_PORT}/${name}`
  return onServer(`postgres://postgres:${embeddedPassword}@${address}`, client => client.query(text))
}

/** Spreads the orders over the last month. Ten in eleven of those older than a day are delivered; the others failed. */
const giveMonth = (): Promise<unknown> =>
  inDatabase(
    'orders',
    `create temporary table aged as select waybill_number, created_at - interval '1 day' * (29 - n * 30 / 590)
      - interval '1 minute' * (n * 7 % 300) as at, n from (
        select waybill_number, created_at, row_number() over (order by waybill_number) as n from orders) numbered
          where n < 570;
    update orders o set created_at = at, status_key = case when n % 11 = 0 then 'key_15' else 'key_13' end
      from aged where aged.waybill_number = o.waybill_number;
    insert into order_events (tenant_id, waybill_number, status_key, staff_name, happened_at)
      select 'demo', waybill_number, case when n % 11 = 0 then 'key_15' else 'key_13' end, 'Nimali Silva',
        least(at + interval '20 hours', now()) from aged`,
  )

/** Spreads the month's messages, which all leave within seconds, over the hours before. */
const giveDay = (): Promise<unknown> =>
  inDatabase(
    'notifier',
    `update message_events set happened_at = happened_at - interval '1 minute' * (abs(hashtext(message_id)) % 600)
      where status = 'accepted'`,
  )

const fill = async () => {
  const tokens = await readTokens(folder)
  if (!tokens) throw new Error('The demo has no tokens.')
  const { order_data, general_data } = JSON.parse(await readFile(join(root, 'examples/batch.json'), 'utf8'))
  const book = (count: number, from: number) =>
    request<{ data: string[] }>(`${orders}/api/public/merchant/order/bulk`, tokens.merchant.token, {
      general_data,
      order_data: Array.from({ length: count }, (_, index) => ({
        ...order_data[index % order_data.length],
        order_no: `LS-${10_000 + from + index}`,
        customer_phone: `077${String(from * 1000 + index).padStart(7, '0')}`,
      })),
    })
  await book(590, 0)
  await giveMonth()
  const { data } = await book(12, 1)
  const [waybill] = data
  for (const [status_key, note] of [['key_2'], ['key_9'], ['key_10', 'Van 4'], ['key_11'], ['key_12', 'Rider Saman']])
    await request(`${orders}/api/staff/order/status`, tokens.staff.token, {
      waybill_numbers: [waybill],
      status_key,
      ...(note && { note }),
    })
  await request(`${orders}/api/staff/order/status`, tokens.staff.token, {
    waybill_numbers: data.slice(1, 12),
    status_key: 'key_2',
  })
  const actions = ['call_me', 'reschedule'].map((action, index) => ({
    id: action,
    waybill_number: data[index + 2],
    action,
    happened_at: new Date().toISOString(),
  }))
  await request(`${orders}/internal/customer-actions`, serviceToken, { tenant: 'demo', actions })
  await delay(20_000)
  await giveDay()
  await delay(6_000)
  return data.slice(0, 5)
}

const draw = async ([waybill = '', ...scanned]: string[]): Promise<void> => {
  const executablePath = process.env.CHROME ?? '/usr/bin/chromium'
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  const page = await browser.newPage({ viewport: { width: 1100, height: 700 }, colorScheme: 'light' })
  await page.goto(`${notifier}/portal/`)
  await page.locator('#tenant').fill('demo')
  await page.locator('#email').fill(demoEmail('admin'))
  await page.locator('#password').fill(demoPassword)
  await page.keyboard.press('Enter')
  const save = (name: string) => page.screenshot({ path: join(root, `docs/images/${name}.png`) })
  await page.locator('.decision').first().waitFor()
  await page.locator('.chart .sent, .chart rect').nth(90).waitFor({ state: 'attached' })
  await save('today')
  await page.goto(`${notifier}/portal/#/parcel/${waybill}`)
  await page.locator('#template').selectOption('order_out_for_delivery · en_US')
  await page.locator('.preview .bubble').waitFor()
  await page.locator('h1').focus()
  await save('parcel')
  await page.goto(`${notifier}/portal/#/scan`)
  for (const text of [...scanned, 'DM09999999']) {
    await page.locator('#scan').fill(text)
    await page.keyboard.press('Enter')
    await page.locator('.scanned', { hasText: text }).waitFor()
  }
  await save('scan')
  await browser.close()
}

const demo = await startDemo()
try {
  await draw(await fill())
} finally {
  demo.kill('SIGTERM')
  await once(demo, 'exit')
  await rm(folder, { recursive: true, force: true })
}
