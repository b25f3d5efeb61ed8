import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Route } from 'playwright-core'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { launchBrowser } from './browser.ts'
import { chooseOrigin, fillParcel, openDesk, readLoad, showDesk as show, slowDown, uploadRows } from './desk.ts'

// The type check of portal/ covers this file.
const { parseSheet, writeCsv } = await import(join(root, 'portal/desk/read-sheet.js'))

t.test('a spreadsheet reads no cell of a CSV file as a formula', async t => {
  const cells = ['=1+1', '@SUM(A1)', '+cmd', "-1+cmd|' /C calc'!A0", '-2.50', '+94 77 123 4567', 'a "b"']
  const text = await writeCsv([cells]).text()
  t.equal(
    text.replace(/^\uFEFF/, ''),
    `"'=1+1","'@SUM(A1)","'+cmd","'-1+cmd|' /C calc'!A0","-2.50","+94 77 123 4567","a ""b"""\r\n`,
  )
})

const browser = await launchBrowser(t)
if (browser) {
  const orders = await ordersFixture(t)
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open, problems } = await openDesk(t, browser, url)
  const count = async (): Promise<number> => (await orders.rows('select count(*)::int from orders'))[0].count

  t.test('the first visit loads little, and not the reader of workbooks', async t => {
    for (const network of ['loopback', '1.6 Mbit/s and 150 ms']) {
      const page = await (await browser.newContext()).newPage()
      if (network !== 'loopback') await slowDown(page, 1_600_000 / 8, 150)
      await page.goto(url)
      await page.getByRole('heading', { name: 'Sign in' }).waitFor()
      const { paint, bytes, files } = await readLoad(page)
      t.comment(`${network}: first contentful paint ${paint} ms, ${bytes} bytes in ${files.length} files`)
      t.ok(bytes > 10_000 && bytes < 65_000, `${bytes} bytes`)
      t.notOk(files.some(file => file.endsWith('/read-xlsx.js')))
      await page.context().close()
    }
  })

  t.test('a merchant gets from a sheet to waybills, corrects a row and follows an order', async t => {
    const page = await open()
    const file = page.getByLabel('File (Excel, CSV or TSV)')
    await file.setInputFiles({ name: 'broken.xlsx', mimeType: 'application/zip', buffer: Buffer.from('PK') })
    await page.getByText('This file cannot be read.').waitFor()
    t.equal(await page.getByRole('button', { name: 'Read 0 rows' }).isDisabled(), true)
    await page.locator('.hint', { hasText: 'Paste rows, or choose a file' }).waitFor()
    await file.setInputFiles(join(root, 'examples/sheets/courier-template.xlsx'))
    await page.getByRole('button', { name: 'Read 4 rows' }).click()
    t.equal(await page.getByLabel('5. Receiver Phone').inputValue(), 'customer_phone')
    await page.getByText('770000111').waitFor()
    await page.getByRole('button', { name: 'Begin again' }).click()
    const text = readFileSync(join(root, 'examples/sheets/courier-template.csv'), 'utf8')
    await page.getByRole('textbox', { name: 'Rows' }).fill(text.replace('Rs. 1250', 'free'))
    await show(t, page, 'paste')
    await page.getByRole('button', { name: 'Read 4 rows' }).click()
    await chooseOrigin(page)
    await show(t, page, 'columns')
    await page.getByRole('button', { name: 'Check the rows' }).click()
    await page.locator('strong', { hasText: 'Ready to book: 2.' }).waitFor()
    await page.getByRole('button', { name: 'To correct (1)' }).waitFor()
    await show(t, page, 'checked')
    t.equal(await count(), 0, 'nothing is booked before the merchant asks for it')
    await page.locator('#row-4-cod').fill('Rs. 1250')
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.locator('strong', { hasText: 'Ready to book: 3.' }).waitFor()
    await page.getByText('They cost LKR 1,').waitFor()
    await page.getByText('COD LKR 5,750 in all; without COD: 1.').waitFor()
    await page.getByRole('button', { name: 'Book and confirm 3 parcels' }).click()
    await page.locator('strong', { hasText: '3 of 3 parcels are booked.' }).waitFor()
    await show(t, page, 'booked')
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Labels (PDF)' }).click()
    t.equal((await download).suggestedFilename(), 'labels-1.pdf')
    const rows = await orders.rows(
      'select waybill_number, order_no, cod, customer_secondary_phone from orders order by order_no',
    )
    t.match(rows, [
      { order_no: 'LS-2001', cod: 4500 },
      { order_no: 'LS-2002', cod: 0 },
      { order_no: 'LS-2003', cod: 1250 },
    ])
    await page.getByRole('button', { name: 'Upload more' }).click()
    await page.getByRole('textbox', { name: 'Rows' }).waitFor()

    const [{ waybill_number: waybill }] = rows
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = '${waybill}'`)
    t.equal((await orders.move([waybill], 'key_15', { reason_code: 'not_home' })).status, 200)
    await page.getByRole('link', { name: 'Failed deliveries' }).click()
    await page.getByRole('button', { name: 'Decide' }).click()
    await page.getByLabel('Note for the rider').fill('Ring twice')
    await page.getByRole('button', { name: 'Save the instruction' }).click()
    await page.getByText('Ring twice').waitFor()
    await show(t, page, 'failures')
    await page.getByRole('link', { name: 'Orders', exact: true }).click()
    await page.getByRole('link', { name: waybill }).waitFor()
    await page.getByLabel('Search').fill('imali P')
    await page.keyboard.press('Enter')
    await page.getByText('Ruwan Silva').waitFor({ state: 'detached' })
    await page.getByLabel(waybill).check()
    const labels = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Labels for 1 (PDF)' }).click()
    t.match(readFileSync(await (await labels).path(), 'latin1'), /^%PDF-/)
    await show(t, page, 'orders-search')
    await page.getByRole('link', { name: 'Clear the filters' }).click()
    await page.getByText('Ruwan Silva').waitFor()
    await page.getByRole('button', { name: 'Select this page' }).click()
    await page.getByRole('button', { name: 'Labels for 3 (PDF)' }).waitFor()
    const list = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export the list (CSV)' }).click()
    const csv = parseSheet(readFileSync(await (await list).path(), 'utf8'))
    t.strictSame(
      csv.rows.map(({ cells }: { cells: string[] }) => cells[2]),
      ['order_no', 'LS-2003', 'LS-2002', 'LS-2001'],
    )
    await page.getByRole('link', { name: waybill }).click()
    await page.getByRole('heading', { name: 'Failed attempts: 1' }).waitFor()
    await page.getByText('The messages to your customer cannot be read now.').waitFor()
    await show(t, page, 'parcel')
    const delivered = rows[2].waybill_number
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = '${delivered}'`)
    t.equal((await orders.move([delivered], 'key_13')).status, 200)
    await page.getByRole('link', { name: 'Money' }).click()
    await page.getByText('Payable now').waitFor()
    const owed = page.getByRole('region', { name: 'What you are owed' })
    const texts = await owed.locator('dd').allTextContents()
    const [total, ...amounts] = texts
      .slice(0, 7)
      .map(text => Number(text.replace(/[^\d.-]/g, '')))
      .reverse()
    t.match(texts[0], 'LKR 1,250')
    t.ok(total && total < 1250)
    t.equal(
      amounts.reduce((sum, amount) => sum + amount, 0),
      total,
      'the amounts add up to the total',
    )
    await show(t, page, 'money')
    await page.getByRole('link', { name: 'Book a parcel' }).click()
    await fillParcel(page)
    await page.getByLabel('City').blur()
    await page.getByText('Charge: LKR 450').waitFor()
    await page.getByLabel('Weight (kg)').fill('1.2')
    await page.getByText('Charge: LKR 540.50').waitFor()
    await page.getByLabel('COD').fill('free')
    await page.getByRole('button', { name: 'Book and confirm' }).click()
    await page.getByText('This is no number.').waitFor()
    await page.getByLabel('COD').fill('2,000')
    await page.getByLabel('Only a draft').check()
    await page.getByRole('button', { name: 'Book the parcel' }).click()
    await page.getByText('The parcel is booked:').waitFor()
    await show(t, page, 'book')
    await page.locator('main').getByRole('link').click()
    await page.getByRole('button', { name: 'Change', exact: true }).click()
    await page.getByLabel('Address').fill('10 Hill Street')
    await page.getByRole('button', { name: 'Save the change' }).click()
    await page.getByText('10 Hill Street').waitFor()
    await page.getByRole('button', { name: 'Confirm' }).click()
    await page.locator('.badge', { hasText: 'CONFIRMED' }).waitFor()
    t.match(
      await orders.rows(`select cod, customer_address, status_key from orders where customer_name = 'Saman Kumara'`),
      [{ cod: 2000, customer_address: '10 Hill Street', status_key: 'key_2' }],
    )
    for (const language of ['si', 'ta']) {
      await page.getByRole('combobox').first().selectOption(language)
      await page.goto(`${url}#/orders`)
      await page.getByRole('link', { name: waybill }).waitFor()
      await show(t, page, `orders-${language}`)
    }
    await page.getByRole('combobox').first().selectOption('en')
    t.strictSame(
      problems.filter(problem => !/422|503/.test(problem)),
      [],
    )
    await page.close()
  })

  t.test('a person may choose a city and type another name before the row of the city is read again', async t => {
    const page = await open()
    await page.route('**/city?id=*', async route => {
      await delay(1_500)
      await route.continue()
    })
    await page.getByRole('link', { name: 'Book a parcel' }).click()
    const city = page.getByLabel('City')
    await city.fill('Galle')
    await page.locator('#book-destination_city_id-options option').first().waitFor({ state: 'attached' })
    await city.fill('Galle, Galle')
    await city.blur()
    t.ok(await city.evaluate(input => (input as unknown as { checkValidity(): boolean }).checkValidity()))
    await city.fill('Kot')
    await delay(2_000)
    t.equal(await city.inputValue(), 'Kot')
    await page.close()
  })

  t.test(
    'an upload of 10,000 rows continues after a lost response and a closed tab; no row is booked twice',
    async t => {
      const before = await count()
      const page = await open()
      await uploadRows(page, 10_000)
      let requests = 0
      const closed = Promise.withResolvers<void>()
      await page.route('**/order/bulk', async (route: Route) => {
        const response = await route.fetch()
        requests++
        // The service has booked these rows: first the response is lost, then the tab is closed.
        if (requests === 2) return route.abort()
        if (requests === 5) return closed.resolve()
        await route.fulfill({ response })
      })
      await page.getByRole('button', { name: 'Book and confirm 10,000 parcels' }).click()
      await closed.promise
      await page.close()
      t.equal((await count()) - before, 2_000, 'four chunks, one of them sent twice')

      const again = await open()
      await again.locator('strong', { hasText: '10,000 of 10,000 parcels are booked.' }).waitFor({ timeout: 60_000 })
      t.equal((await count()) - before, 10_000)
      t.strictSame(
        await orders.rows(`select count(distinct order_no)::int as different from orders where order_no like 'B-%'`),
        [{ different: 10_000 }],
      )
      const other = await open()
      await other.locator('strong', { hasText: '10,000 of 10,000 parcels are booked.' }).waitFor()
      await other.getByRole('button', { name: 'Upload more' }).click()
      await other.getByRole('textbox', { name: 'Rows' }).waitFor()
    },
  )
}
