import t, { type Test } from 'tap'
import { batch, order } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'
import { waitUntil } from './courier.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders, notifier } = await startConsole(t)
  const booked = await orders.bulk(
    batch([
      order({ order_no: 'LS-1', initial_status_key: 'key_2' }),
      order({ order_no: 'LS-2', customer_phone: '0770000102' }),
      order({ order_no: 'LS-3', customer_phone: '0770000103' }),
    ]),
  )
  const [first, second, third] = booked.body.data as [string, string, string]
  const sendAbout = async (waybill: string) =>
    notifier.call('POST', '/api/messages', {
      waybill_number: waybill,
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
      template: {
        name: 'order_delivered',
        language: { code: 'en_US' },
        components: [
          {
            type: 'body',
            parameters: [
              { type: 'text', text: 'Nimali' },
              { type: 'text', text: waybill },
            ],
          },
        ],
      },
    })
  for (const waybill of [first, second]) await sendAbout(waybill)
  await notifier.rows(
    `update messages set status = 'failed', error_code = 131026, error_meaning = 'It cannot be delivered.'
      where waybill_number = $1`,
    [second],
  )
  await notifier.rows(
    `insert into message_events (tenant_id, message_id, status) select tenant_id, message_id, status from messages
      where status = 'failed'`,
  )
  const readStatus = async (waybill: string) =>
    (await notifier.rows('select status from messages where waybill_number = $1', [waybill]))[0].status
  const opened = await openConsole(t, browser, url)
  await signIn(opened.page)
  const { page } = opened
  const rows = page.locator('tbody tr')
  const checkSeen = async (t: Test) => {
    t.strictSame(opened.problems, [])
    t.strictSame(await findBarriers(page), [])
    t.ok((await measureWidth(page)) <= 1280)
  }

  t.test("today's counts lead to their lists", async t => {
    await page.getByRole('link', { name: 'New: 3' }).click()
    await page.locator('h1:focus', { hasText: 'Orders' }).waitFor()
    await rows.nth(2).waitFor()
    t.match(page.url(), /created_from=(\d{4}-\d\d-\d\d)&created_to=\1$/)
    await page.goto(`${url}#/today`)
    await page.getByRole('link', { name: 'Moving: 0' }).click()
    await page.getByText('No parcel matches').waitFor()
    t.equal(await page.getByLabel('Kind of status').inputValue(), 'under_way')
    await page.goto(`${url}#/today`)
    await page.getByRole('link', { name: 'Failed: 1' }).click()
    await page.locator('h1:focus', { hasText: 'Messages' }).waitFor()
    await rows.getByText('It cannot be delivered.').waitFor()
    t.equal(await rows.count(), 1)
    await checkSeen(t)
  })

  t.test('orders are filtered by status, date, city and merchant, and the address keeps the filters', async t => {
    await page.goto(`${url}#/orders`)
    await rows.nth(2).waitFor()
    await page.getByLabel('Status', { exact: true }).selectOption('CONFIRMED')
    await rows.nth(1).waitFor({ state: 'detached' })
    await rows.getByRole('link', { name: first }).waitFor()
    await page.getByLabel('To', { exact: true }).pressSequentially('gal')
    await page.locator('datalist option[value="Galle, Galle"]').waitFor({ state: 'attached' })
    await page.getByLabel('To', { exact: true }).fill('Galle, Galle')
    await page.getByLabel('Merchant', { exact: true }).pressSequentially('Lanka')
    await page.locator('datalist option[value^="Lanka Shoes"]').waitFor({ state: 'attached' })
    await page.keyboard.press('Enter')
    await page.getByLabel('Booked from').fill('2026-01-01')
    await page.waitForURL(/status=key_2&destination_city_id=\d+&merchant_id=\d+&created_from=2026-01-01$/)
    await rows.getByRole('link', { name: first }).waitFor()
    const shared = await openConsole(t, browser, page.url())
    await signIn(shared.page)
    await shared.page.locator('tbody').getByRole('link', { name: first }).waitFor()
    // The page's content policy forbids the script of waitForFunction.
    const readCity = () => shared.page.locator('#filter-destination_city_id').inputValue()
    await waitUntil('the filter shows its city', readCity, city => city === 'Galle, Galle')
    await page.getByLabel('To', { exact: true }).fill('Nowhere at all')
    await page.keyboard.press('Tab')
    await page.getByText('Choose one from the list.').waitFor()
    await page.getByRole('link', { name: 'Clear the filters' }).click()
    await rows.nth(2).waitFor()
    await page.getByLabel('Phone').fill('+94 77 000 0102')
    await page.keyboard.press('Enter')
    await rows.nth(1).waitFor({ state: 'detached' })
    await rows.getByRole('link', { name: second }).waitFor()
    await page.getByRole('link', { name: 'Clear the filters' }).click()
    await rows.nth(2).waitFor()
    await page.evaluate(`for (const name of ['created_from', 'created_to']) {
      const input = document.getElementById('filter-' + name)
      input.value = '2026-01-01'
      input.dispatchEvent(new Event('change', { bubbles: true }))
    }`)
    await page.waitForURL(/created_from=2026-01-01&created_to=2026-01-01$/)
    await checkSeen(t)
  })

  t.test('long lists have pages', async t => {
    await orders.bulk(batch(Array.from({ length: 50 }, () => order({ order_no: 'MANY' }))))
    await page.goto(`${url}#/orders`)
    await rows.nth(49).waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await rows.getByRole('link', { name: third }).waitFor()
    t.equal(await rows.count(), 3)
    await page.getByRole('button', { name: 'Previous' }).click()
    await rows.nth(49).waitFor()
  })

  t.test('cancels a message in the list, and resends a failed one on the page of its parcel', async t => {
    await page.goto(`${url}#/messages?waybill_number=${first}`)
    await rows.getByRole('button', { name: 'Cancel' }).dblclick()
    await rows.getByText('Cancelled').waitFor()
    t.equal(await readStatus(first), 'cancelled')
    t.equal(await rows.getByRole('button').count(), 0)
    await checkSeen(t)
    await page.goto(`${url}#/parcel/${second}`)
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('button', { name: 'Cancel' }).waitFor()
    t.equal(await readStatus(second), 'queued')
    const viewer = await openConsole(t, browser, `${url}#/messages`)
    await signIn(viewer.page, 'viewer')
    await viewer.page.locator('tbody tr').nth(1).waitFor()
    t.equal(await viewer.page.locator('tbody button').count(), 0)
  })
}
