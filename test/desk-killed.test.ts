import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { launchBrowser } from './browser.ts'
import { waitUntil } from './courier.ts'
import { openDesk, uploadRows } from './desk.ts'
import { prepareOrders } from './orders-process.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { pool, orders, start } = await prepareOrders(t)
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
