import t from 'tap'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { waitUntil } from './courier.ts'
import { openDesk, showDesk as show, showInLanguages } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const orders = await ordersFixture(t, { publicUrl: 'https://courier.example' })
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const desk = await openDesk(t, browser, url)
  const make = async (count: number): Promise<string[]> =>
    (await orders.bulk(batch(Array.from({ length: count }, () => order())))).body.data
  const readStatuses = async (waybills: string[]): Promise<string[]> => {
    const text = 'select status_key from orders where waybill_number = any($1) order by waybill_number'
    return (await orders.rows(text, [waybills])).map(({ status_key }) => status_key)
  }

  t.test('a merchant confirms and cancels chosen orders, all of them or none', async t => {
    const waybills = await make(3)
    const [first = '', second = '', third = ''] = waybills
    const page = await desk.open()
    await page.goto(`${url}#/orders`)
    const chosen = page.getByRole('region', { name: 'Selected parcels' })
    await page.getByLabel(third).focus()
    await page.keyboard.press('Space')
    await chosen.getByText('Selected: 1').waitFor()
    await page.getByRole('button', { name: 'Select this page' }).click()
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [first])
    await chosen.getByRole('button', { name: 'Confirm 3' }).click()
    await chosen.getByText(`${first} is key_12 ASSIGNED TO DESTINATION RIDER: you may only confirm`).waitFor()
    t.strictSame(await readStatuses(waybills), ['key_12', 'key_1', 'key_1'], 'all or none')
    await show(t, page, 'orders-refused')
    await showInLanguages(t, page, 'orders-refused', '.chosen .notice')
    await chosen.getByRole('button', { name: 'Remove them from the list' }).click()
    await chosen.getByRole('button', { name: 'Confirm 2' }).click()
    await page.locator('tbody .badge', { hasText: 'CONFIRMED' }).nth(1).waitFor()
    t.strictSame(await readStatuses(waybills), ['key_12', 'key_2', 'key_2'])
    await chosen.getByRole('button', { name: 'Confirm' }).waitFor({ state: 'detached' })
    await orders.rows(`update orders set customer_name = '李 Perera' where waybill_number = $1`, [second])
    const labels = page.waitForEvent('download')
    await chosen.getByRole('button', { name: 'Labels for 2 (PDF)' }).click()
    t.equal((await labels).suggestedFilename(), 'labels-1.pdf', 'the confirmed orders are still chosen')
    await chosen
      .getByText(`No font has these characters, so they are printed as their codes: ${second}: U+674E`)
      .waitFor()
    await show(t, page, 'orders-printed')
    await showInLanguages(t, page, 'orders-printed', '.chosen .notice')
    await page.getByLabel(third).uncheck()
    await chosen.getByRole('button', { name: 'Cancel 1' }).click()
    t.strictSame(await readStatuses([second]), ['key_2'], 'the first press asks')
    await chosen.getByRole('button', { name: 'Press again: cancelling 1 is final' }).click()
    await page.locator('tbody .badge', { hasText: 'CANCELLED' }).waitFor()
    t.strictSame(await readStatuses(waybills), ['key_12', 'key_3', 'key_2'])
    t.strictSame(
      desk.problems.filter(problem => !problem.includes('422')),
      [],
    )
    await page.close()
  })

  t.test('one press copies the tracking link; where the browser refuses, the link is shown', async t => {
    const [waybill = ''] = await make(1)
    const page = await desk.open()
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy tracking link' }).click()
    await page.getByText('The tracking link is copied.').waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    t.match(copied, new RegExp(`^https://courier\\.example/t/demo/${waybill}/[\\w-]{11}$`))
    t.match(await orders.app.inject({ url: new URL(copied).pathname }), { statusCode: 200 })
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('refused'))`)
    await page.getByRole('button', { name: 'Copy tracking link' }).click()
    t.equal(await page.getByLabel('Tracking link').inputValue(), copied)
    await page.close()
  })

  t.test("the desk shows the company's clock, wherever the person is, and reads times by it", async t => {
    await orders.rows(`update orders set created_at = '2026-02-19T20:15:00Z'`)
    const context = await browser.newContext({ timezoneId: 'Pacific/Kiritimati' })
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.goto(url)
    for (const [label, value] of Object.entries({
      Company: 'demo',
      'E-mail': 'shop@example.com',
      Password: 'lanka-shoes-demo',
    }))
      await page.getByLabel(label).fill(value)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Upload', exact: true }).waitFor()
    await page.goto(`${url}#/orders`)
    // In Colombo it is the next day at a quarter to two.
    await page.locator('tbody time', { hasText: '20 Feb, 01:45' }).first().waitFor()
    await page.getByRole('link', { name: 'Programs and people' }).click()
    await page.getByRole('region', { name: 'Tokens for programs' }).getByLabel('Name').fill('Web shop')
    await page.getByLabel('Last day (optional)').fill('2030-06-30')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByRole('cell', { name: '2030-06-30' }).waitFor()
    const ends = () => orders.rows(`select expires_at from tokens where name = 'Web shop'`)
    const [row] = await waitUntil('the token is stored', ends, rows => rows.length === 1)
    t.equal(row.expires_at.toISOString(), '2030-06-30T18:29:59.000Z', 'the end of the day in Colombo')
  })
}
