import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { findFreePort, toAddress } from '../dev/ports.ts'
import { ServiceProcess } from '../dev/service-process.ts'
import { cloneDatabase } from '../dev/test-database.ts'
import { applyTenant } from '../services/orders/core/provisioning/apply.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { waitUntil } from './courier.ts'
import { openDesk, uploadRows } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const database = await cloneDatabase(t, 'orders')
  const pool = createPool({ url: database.superuserUrl, name: 'test', connections: 2 })
  t.teardown(() => pool.end())
  const file = tenantFile()
  for (const merchant of file.merchants) merchant.rate_card = 'standard'
  await applyTenant(pool, file, false)
  const port = await findFreePort()
  const orders = new ServiceProcess('services/orders/main.ts', toAddress('127.0.0.1', port), {
    ORDERS_DATABASE_URL: database.url,
    ORDERS_MIGRATE_DATABASE_URL: database.ownerUrl,
    ORDERS_PORT: String(port),
    SERVICE_TOKEN: 'a-service-token-of-tests',
    RATE_LIMIT_PER_MINUTE: '1000000',
  })
  t.teardown(() => orders.stop('SIGKILL'))
  const start = async () => {
    orders.start()
    await orders.ready()
  }
  const count = async (): Promise<number> => (await pool.query('select count(*)::int from orders')).rows[0].count
  const killAt = async (booked: number) => {
    await waitUntil(`${booked} orders are booked`, count, rows => rows >= booked)
    await orders.stop('SIGKILL')
  }

  t.test('10,000 rows are booked once, although the service is killed three times while it books them', async t => {
    await start()
    const { open } = await openDesk(t, browser, `${orders.url}/desk/`)
    const page = await open()
    await uploadRows(page, 10_000)
    await page.getByRole('button', { name: 'Book and confirm 10,000 parcels' }).click()
    for (const booked of [1_000, 4_000]) {
      await killAt(booked)
      await delay(500)
      await start()
    }
    await killAt(7_000)
    const left = await count()
    t.ok(left < 10_000, `${left} were booked before the last kill`)
    const button = page.getByRole('button', { name: 'Continue' })
    await button.waitFor({ timeout: 60_000 })
    await start()
    await button.click()
    await page.locator('strong', { hasText: '10,000 of 10,000 parcels are booked.' }).waitFor({ timeout: 60_000 })
    t.equal(await count(), 10_000)
    const { rows } = await pool.query(`select count(distinct order_no)::int as different from orders`)
    t.strictSame(rows, [{ different: 10_000 }])
  })
}
