import t, { type Test } from 'tap'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { openConsole, signIn, startConsole, tabTo } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders } = await startConsole(t)
  const make = async (...fields: object[]): Promise<string[]> =>
    (await orders.bulk(batch(fields.map(each => order({ initial_status_key: 'key_2', ...each }))))).body.data
  const setStatus = (waybills: string[], key: string) =>
    orders.rows('update orders set status_key = $2 where waybill_number = any($1)', [waybills, key])
  const readStatuses = async (waybills: string[]): Promise<string[]> => {
    const text = 'select status_key from orders where waybill_number = any($1) order by waybill_number'
    return (await orders.rows(text, [waybills])).map(({ status_key }: { status_key: string }) => status_key)
  }
  const readLines = (waybills: string[]) =>
    orders.rows(
      `select waybill_number as waybill, cod::float, method, cash_account as by, reason from money_lines
       where waybill_number = any($1) order by waybill_number`,
      [waybills],
    )
  const opened = await openConsole(t, browser, url)
  const { page } = opened
  await signIn(page)
  const show = (t: Test, screen: string) => showScreen(t, page, screen)
  const chosen = page.getByRole('region', { name: 'Selected parcels' })
  const findErrors = () => opened.problems.filter(problem => !problem.includes('422'))

  t.test('staff choose parcels without a mouse and move all of them or none', async t => {
    const waybills = await make({}, {}, {})
    const [first = '', second = '', third = ''] = waybills
    await page.goto(`${url}#/orders`)
    await page.getByRole('link', { name: third }).waitFor()
    await tabTo(page, `input[aria-label=${second}]`)
    await page.keyboard.press('Space')
    await chosen.getByText('Selected: 1').waitFor()
    await page.getByRole('button', { name: 'Select this page' }).click()
    await chosen.getByText('Selected: 3').waitFor()
    await tabTo(page, '.chosen summary')
    await page.keyboard.press('Enter')
    await tabTo(page, '#scan-status')
    await page.locator('#scan-status').selectOption('key_5')
    await show(t, 'orders-chosen')
    await setStatus([first], 'key_13')
    await chosen.getByRole('button', { name: 'Move 3' }).click()
    await chosen.getByText(`${first} is key_13 DELIVERED: it may not move any more.`).waitFor()
    await show(t, 'orders-refused')
    t.strictSame(await readStatuses(waybills), ['key_13', 'key_2', 'key_2'], 'all or none')
    await chosen.getByRole('button', { name: 'Remove them from the list' }).click()
    await chosen.getByRole('button', { name: 'Move 2' }).click()
    await page.locator('tbody .badge', { hasText: 'PICKUP RIDER ASSIGNED' }).nth(1).waitFor()
    t.strictSame(await readStatuses(waybills), ['key_13', 'key_5', 'key_5'])
    const labels = page.waitForEvent('download')
    await chosen.getByRole('button', { name: 'Labels (PDF)', exact: true }).click()
    t.match((await labels).suggestedFilename(), /\.pdf$/)
    await chosen.getByRole('button', { name: 'Clear the selection' }).click()
    await chosen.waitFor({ state: 'detached' })
    t.strictSame(findErrors(), [])
  })

  t.test('printing names the characters that no font has, in a list and on a parcel', async t => {
    const [waybill = ''] = await make({ customer_name: '李 Perera', order_no: 'ODD' })
    const warning = `No font has these characters, so they are printed as their codes: ${waybill}: U+674E`
    await page.goto(`${url}#/orders?order_no=ODD`)
    await page.getByLabel(waybill).check()
    await chosen.getByRole('button', { name: 'Labels (PDF)' }).click()
    await chosen.getByText(warning).waitFor()
    await chosen.getByRole('button', { name: 'Clear the selection' }).click()
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.getByRole('button', { name: 'Label (PDF)' }).click()
    await page.getByText(warning).waitFor()
    await show(t, 'parcel-printed')
    t.strictSame(findErrors(), [])
  })

  t.test('a selection keeps parcels of other pages and says how many there are', async t => {
    await make(...Array.from({ length: 50 }, () => ({ order_no: 'MANY' })))
    await page.goto(`${url}#/orders?order_no=MANY`)
    await page.locator('tbody tr').nth(49).waitFor()
    await page.getByRole('button', { name: 'Select this page' }).click()
    await chosen.getByText('Selected: 50').waitFor()
    await page.getByRole('link', { name: 'Clear the filters' }).click()
    await page.getByRole('button', { name: 'Next' }).click()
    await page.locator('tbody tr').first().getByRole('checkbox').check()
    await chosen.getByText('Selected: 51, of which 50 are not on this page').waitFor()
    await chosen.getByRole('button', { name: 'Clear the selection' }).click()
    const viewer = await openConsole(t, browser, `${url}#/orders`)
    await signIn(viewer.page, 'viewer')
    await viewer.page.locator('tbody tr').first().waitFor()
    t.equal(await viewer.page.getByRole('checkbox').count(), 0, 'a viewer can do nothing with a selection')
  })

  t.test("a tour's cash goes to the rider, and each payment is booked as it was made", async t => {
    const waybills = await make({ cod: 1000 }, { cod: 2500 }, { cod: 700 }, { cod: 0 })
    const [first = '', second = '', third = '', prepaid = ''] = waybills
    await setStatus(waybills, 'key_12')
    await page.goto(`${url}#/scan`)
    for (const waybill of waybills) {
      await page.locator('#scan').fill(waybill)
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: waybill }).waitFor()
    }
    await page.locator('#scan-status').selectOption('key_13')
    const move = page.getByRole('button', { name: 'Move 4' })
    t.equal(await move.getAttribute('aria-disabled'), 'true', 'nobody is said to have the cash')
    t.equal(await page.getByLabel('Who has the cash').inputValue(), '')
    await page.getByText('Cash to hand over: LKR 4,200').waitFor()
    await page.getByLabel('Who has the cash').fill('Nimal')
    await page.getByLabel(`${second}: How it was paid`).selectOption('card')
    await page.getByText('Cash to hand over: LKR 1,700').waitFor()
    await page.getByLabel(`${third}: Amount collected`).fill('650')
    t.equal(await move.getAttribute('aria-disabled'), 'true', 'another amount needs a reason')
    await page.getByLabel(`${third}: Reason`).fill('The shop gave a discount')
    await show(t, 'scan-cash')
    for (const language of ['si', 'ta']) {
      await page.locator('select.quiet').selectOption(language)
      await page.locator('legend').waitFor()
      await show(t, `scan-cash-${language}`)
    }
    await page.locator('select.quiet').selectOption('en')
    await move.click()
    await page.locator('tbody .badge', { hasText: 'DELIVERED' }).nth(3).waitFor()
    t.match(await readLines(waybills), [
      { waybill: first, cod: 1000, method: 'cash', by: 'rider:Nimal', reason: null },
      { waybill: second, cod: 2500, method: 'card', by: 'clearing' },
      { waybill: third, cod: 650, method: 'cash', by: 'rider:Nimal', reason: 'The shop gave a discount' },
      { waybill: prepaid, cod: 0 },
    ])
    await page.getByRole('button', { name: 'Clear the list' }).click()
  })

  t.test('a COD that changed meanwhile is refused, not booked', async t => {
    const waybills = await make({ cod: 1000 }, { cod: 1000 })
    const [first = ''] = waybills
    await setStatus(waybills, 'key_12')
    await page.goto(`${url}#/orders`)
    for (const waybill of waybills) await page.getByLabel(waybill).check()
    await chosen.locator('summary').first().click()
    await page.locator('#scan-status').selectOption('key_13')
    await page.getByLabel('Who has the cash').fill('Nimal')
    await orders.rows('update orders set cod = 1200 where waybill_number = $1', [first])
    await chosen.getByRole('button', { name: 'Move 2' }).click()
    await chosen.getByText(`The amount 1000 is not the COD of ${first}, 1200: give a reason.`).waitFor()
    t.strictSame(await readLines(waybills), [])
    t.strictSame(findErrors(), [])
  })

  t.test('a parcel asks for the cash before it is delivered, and not for a prepaid one', async t => {
    const [paid = '', prepaid = ''] = await make({ cod: 900 }, { cod: 0 })
    await setStatus([paid, prepaid], 'key_12')
    await page.goto(`${url}#/parcel/${paid}`)
    await page.getByRole('button', { name: 'DELIVERED', exact: true }).click()
    await page.getByLabel('Who has the cash').fill('Sunil')
    await show(t, 'parcel-cash')
    t.strictSame(await readStatuses([paid]), ['key_12'])
    await page.getByRole('button', { name: 'Move to DELIVERED' }).click()
    await page.locator('.timeline', { hasText: 'DELIVERED' }).waitFor()
    t.match(await readLines([paid]), [{ cod: 900, method: 'cash', by: 'rider:Sunil' }])
    await page.goto(`${url}#/parcel/${prepaid}`)
    await page.getByRole('button', { name: 'DELIVERED', exact: true }).click()
    await page.locator('.timeline', { hasText: 'DELIVERED' }).waitFor()
    t.strictSame(findErrors(), [])
  })

  t.test('a console that waits for a service says so after five seconds, and goes on', async t => {
    const isWaiting = page.getByText('Still waiting for the service.')
    let release = () => {}
    const held = new Promise<void>(resolve => {
      release = resolve
    })
    await page.route('**/api/staff/merchant*', async route => {
      await held
      await route.continue()
    })
    const begun = Date.now()
    await page.goto(`${url}#/merchants`)
    await page.waitForTimeout(3_000)
    t.equal(await isWaiting.count(), 0)
    await isWaiting.waitFor()
    t.ok(Date.now() - begun >= 4_900)
    await show(t, 'waiting')
    release()
    await page.locator('tbody tr').first().waitFor()
    t.equal(await isWaiting.count(), 0)
  })

  t.test('filters are closed on a phone, also in a window that became narrow, until the person opens them', async t => {
    const details = page.locator('details.filters')
    await page.goto(`${url}#/orders`)
    await page.locator('details.filters[open]').waitFor()
    await page.setViewportSize({ width: 390, height: 844 })
    await page.locator('details.filters:not([open])').waitFor()
    await details.locator('summary').click()
    await page.locator('#filter-order_no').fill('MANY')
    await page.keyboard.press('Enter')
    await page.waitForURL(/order_no=MANY/)
    await page.locator('tbody tr').nth(49).waitFor()
    t.equal(await details.getAttribute('open'), '')
    const phone = await openConsole(t, browser, `${url}#/orders?order_no=MANY`, {
      viewport: { width: 390, height: 844 },
    })
    await signIn(phone.page)
    await phone.page.locator('tbody tr').first().waitFor()
    t.equal(await phone.page.locator('details.filters[open]').count(), 0)
  })
}
