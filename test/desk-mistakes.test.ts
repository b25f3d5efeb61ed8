import type { Page } from 'playwright-core'
import t from 'tap'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { chooseOrigin, fillParcel, openDesk, showDesk } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const orders = await ordersFixture(t)
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open } = await openDesk(t, browser, url)

  t.test('a row to a city without a rate is corrected in place, like other bad rows', async t => {
    const page = await open()
    const row = (number: number, city: string) =>
      `B-${number},Nimali Perera,12 Temple Road,${city},0770000${number},100`
    const jaffna = Array.from({ length: 12 }, (_, n) => row(200 + n, 'Jaffna'))
    const sheet = ['Order no,Name,Address,City,Phone,COD', row(100, 'Galle'), ...jaffna, row(300, 'Kotte')].join('\n')
    await page.getByRole('textbox', { name: 'Rows' }).fill(sheet)
    await page.getByRole('button', { name: 'Read 15 rows' }).click()
    await chooseOrigin(page)
    await page.getByRole('button', { name: 'Check the rows' }).click()
    await page.locator('strong', { hasText: 'Ready to book: 2.' }).waitFor({ timeout: 8_000 })
    await page.getByRole('button', { name: 'To correct (12)' }).waitFor()
    const error = 'Row 14, City: The company has no price for parcels to Jaffna, Jaffna.'
    await page.locator('#row-14-destination-error', { hasText: error }).waitFor()
    for (let line = 3; line <= 14; line++) await page.locator(`#row-${line}-destination`).fill('Galle')
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.locator('strong', { hasText: 'Ready to book: 14.' }).waitFor()
    t.equal(await page.getByRole('button', { name: 'To correct' }).count(), 0)
    await page.close()
  })

  t.test('a year of five digits is refused by the form, which keeps what was typed', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Programs and people' }).click()
    const form = page.locator('form', { hasText: 'Create a token' })
    await form.getByLabel('Name').fill('Shop')
    await form.getByLabel('Last day').fill('20266-01-01')
    await form.getByRole('button', { name: 'Create a token' }).click()
    t.equal(await form.getByLabel('Name').inputValue(), 'Shop')
    await form.getByLabel('Last day').fill('2040-01-01')
    await form.getByRole('button', { name: 'Create a token' }).click()
    await page.getByLabel('Token', { exact: true }).waitFor({ timeout: 5_000 })
    await page.close()
  })

  t.test('the form asks for a cleared COD or weight, and books as confirmed what was typed', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Book a parcel' }).click()
    const book = page.getByRole('button', { name: 'Book and confirm' })
    if (await book.isDisabled()) await page.getByText('Still missing: Parcels start in').waitFor()
    await chooseOrigin(page)
    await fillParcel(page)
    t.equal(await page.getByLabel('Weight (kg)').inputValue(), '1', 'the usual weight is shown')
    await page.getByText('Charge: LKR 450').waitFor()
    for (const [name, typed] of [
      ['COD', '2.000'],
      ['Weight (kg)', '3 lbs'],
    ] as const) {
      await page.getByLabel(name).fill('')
      await book.click()
      t.notOk(
        await page
          .getByLabel(name)
          .evaluate(input => (input as unknown as { validity: { valid: boolean } }).validity.valid),
      )
      await page.getByLabel(name).fill(typed)
    }
    await book.click()
    await page.getByText('This can be read as two amounts').waitFor()
    await page.getByText('This unit or currency cannot be read.').waitFor()
    await page.getByLabel('COD').fill('0')
    await page.getByLabel('Weight (kg)').fill('1')
    await book.click()
    await page.getByText('The parcel is booked:').waitFor({ timeout: 5_000 })
    await page.locator('.badge', { hasText: 'CONFIRMED' }).waitFor()
    t.strictSame(
      await orders.rows(
        `select cod, weight::float8 as weight, status_key from orders where customer_name = 'Saman Kumara'`,
      ),
      [{ cod: 0, weight: 1, status_key: 'key_2' }],
    )
    await page.close()
  })

  t.test('the form names an older parcel of the same order number, and books once the person insists', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Book a parcel' }).click()
    await chooseOrigin(page)
    const book = page.getByRole('button', { name: 'Book and confirm' })
    const list = () => orders.rows(`select * from orders where order_no = 'OLD-1' order by created_at`)
    const fill = async () => {
      await fillParcel(page)
      await page.getByLabel('Phone', { exact: true }).fill('0770000888')
      await page.getByLabel('COD').fill('700')
      await page.getByLabel('Order no.').fill('OLD-1')
    }
    await fill()
    await book.click()
    await page.getByText('The parcel is booked:').waitFor()
    await orders.rows(`update orders set created_at = '2026-02-03T06:00:00Z' where order_no = 'OLD-1'`)
    await fill()
    await book.click()
    const [{ waybill_number: waybill }] = await list()
    await page.getByText(`${waybill}, booked on 2026-02-03, has the same number.`).waitFor()
    await page.getByText('Nothing is booked yet. Press again to book it as it is.').waitFor()
    t.equal((await list()).length, 1)
    await page.getByLabel('COD').fill('800')
    const isChecked = page.waitForResponse(/dry_run=true/)
    await book.click()
    await isChecked
    await page.getByText('Nothing is booked yet.').waitFor()
    t.equal((await list()).length, 1, 'another parcel is checked again')
    const isBooked = page.waitForResponse(/order\/single/)
    await book.click()
    await isBooked
    await page.getByText('Nothing is booked yet.').waitFor({ state: 'detached' })
    t.strictSame(
      (await list()).map(({ cod }) => Number(cod)),
      [700, 800],
    )
    await page.close()
  })

  const sheetOf = (rows: number, first = 1) => {
    const lines = Array.from(
      { length: rows },
      (_, n) => `B-${first + n},Nimali,12 Temple Road,Galle,07${10_000_000 + first + n},100`,
    )
    return ['Order no,Name,Address,City,Phone,COD', ...lines].join('\n')
  }
  const check = async (page: Page, text: string) => {
    await page.getByRole('textbox', { name: 'Rows' }).fill(text)
    await page.getByRole('button', { name: /^Read/ }).click()
    if (!(await page.getByLabel('Parcels start in').inputValue())) await chooseOrigin(page)
    await page.getByRole('button', { name: 'Check the rows' }).click()
  }
  const uploadMore = async (page: Page) => {
    await page.getByRole('button', { name: 'Upload more' }).click()
    const sure = page.getByRole('button', { name: 'Press again' })
    if (await sure.isVisible()) await sure.click()
    await page.getByRole('textbox', { name: 'Rows' }).waitFor()
  }
  const waitForBooked = (page: Page, count: string) =>
    page.locator('strong', { hasText: `${count} parcels are booked.` }).waitFor({ timeout: 10_000 })

  t.test('an upload in a second tab waits for the upload of the first', async t => {
    const [first, second] = [await open(), await open()]
    await check(first, sheetOf(501))
    await check(second, sheetOf(2, 1001))
    const sent = Promise.withResolvers<void>()
    const answered = Promise.withResolvers<void>()
    await first.route('**/order/bulk', async route => {
      sent.resolve()
      await answered.promise
      await route.continue()
    })
    await first.getByRole('button', { name: 'Book and confirm 501 parcels' }).click()
    await sent.promise
    await second.getByRole('button', { name: 'Book and confirm 2 parcels' }).click()
    await second.getByText('Another tab is booking').waitFor()
    answered.resolve()
    await waitForBooked(first, '501 of 501')
    await second.getByRole('button', { name: 'Book and confirm 2 parcels' }).click()
    await waitForBooked(second, '2 of 2')
    t.equal((await orders.rows(`select 1 from orders where order_no like 'B-100_'`)).length, 2)
    await uploadMore(second)
    await first.close()
    await second.close()
  })

  t.test('rows that could not be checked are listed after the others are booked', async t => {
    const page = await open()
    let requests = 0
    await page.route('**/order/bulk?dry_run=true', route => (++requests === 2 ? route.abort() : route.continue()))
    await check(page, sheetOf(502, 2001))
    await page.getByRole('button', { name: 'Book and confirm 500 parcels' }).click()
    await waitForBooked(page, '500 of 500')
    await page.getByRole('button', { name: 'To correct (2)' }).click()
    for (const line of [502, 503])
      t.equal(await page.locator(`#row-${line}-order_no`).inputValue(), `B-${line + 1999}`, 'not checked yet')
    await uploadMore(page)
    await page.close()
  })

  t.test('the check says that messages leave later than today', async t => {
    const page = await open()
    await page.route('**/order/bulk?dry_run=true', async route => {
      const response = await route.fetch()
      const messages = { may_leave_today: 0, opens_at: '2026-03-02T03:30:00.000Z' }
      await route.fulfill({ response, json: { ...(await response.json()), messages } })
    })
    await check(page, sheetOf(2, 4001))
    await page.getByText('Messages may reach only 0 more people today').waitFor()
    await page.getByText('Messages leave again from about 2 Mar, 09:00.').waitFor()
    await showDesk(t, page, 'later')
    await page.close()
  })

  t.test('a rate that was removed meanwhile is reported by the rows of the sheet', async t => {
    const page = await open()
    await check(page, sheetOf(2, 3001))
    await page.locator('strong', { hasText: 'Ready to book: 2.' }).waitFor()
    const file = tenantFile()
    const [card] = file.rate_cards
    const rates = card?.rates.filter(({ to }) => to !== 'outstation') ?? []
    await orders.apply({ ...file, rate_cards: file.rate_cards.map(each => ({ ...each, rates })) })
    t.teardown(() => orders.apply(file))
    await page.getByRole('button', { name: 'Book and confirm 2 parcels' }).click()
    await page.getByText('Rows were refused').waitFor({ timeout: 5_000 })
    for (const line of [2, 3]) await page.getByText(`Row ${line}, City: The company has no price`).waitFor()
    t.equal(await page.getByText('order_data').count(), 0)
    await uploadMore(page)
    await page.close()
  })

  t.test('a change shows what the company changed meanwhile, and overwrites nothing unseen', async t => {
    const [waybill] = await orders.make(['DM00900001'])
    const page = await open()
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByLabel('Phone', { exact: true }).fill('0770000108')
    const reason = { customer_phone: '0770000107', customer_address: '99 Sea Street', reason: 'The customer called.' }
    t.equal(
      (await orders.request('PATCH', `/api/staff/order/${waybill}`, reason, { token: orders.staffToken })).status,
      200,
    )
    await page.locator('.details', { hasText: '99 Sea Street' }).waitFor()
    const save = page.getByRole('button', { name: 'Save the change' })
    await save.click()
    await page.locator('.error').waitFor({ timeout: 5_000 })
    const phone = async () =>
      (await orders.rows('select customer_phone from orders where waybill_number = $1', [waybill]))[0].customer_phone
    t.equal(await phone(), '0770000107')
    t.equal(await page.getByLabel('Address').inputValue(), '99 Sea Street')
    t.equal(await page.getByLabel('Phone', { exact: true }).inputValue(), '0770000108')
    await orders.rows(`update orders set status_key = 'key_6' where waybill_number = $1`, [waybill])
    await page.locator('.badge', { hasText: 'PICKED UP' }).first().waitFor()
    t.equal(await page.getByLabel('Phone', { exact: true }).inputValue(), '0770000108', 'the form stays')
    await page.close()
  })
}
