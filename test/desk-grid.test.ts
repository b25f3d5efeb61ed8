import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { batch, order, tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { waitUntil } from './courier.ts'
import { chooseOrigin, openDesk, showDesk, showInLanguages } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const file = tenantFile()
  const [colombo] = file.states
  const towns = Array.from({ length: 15 }, (_, n) => ({
    id: 1601 + n,
    name: `Colombo ${String(n + 1).padStart(2, '0')}`,
  }))
  colombo?.cities.push(...towns)
  file.states[2]?.cities.push({ id: 3001, name: 'Hikkaduwa' })
  const orders = await ordersFixture(t, { file })
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open, problems } = await openDesk(t, browser, url)
  const headings = 'Ref No,Receiver,Mobile,Street,Town,Amount to collect'
  const toCheck = async (page: Page, rows: readonly string[]) => {
    await page.getByRole('textbox', { name: 'Rows' }).fill([headings, ...rows].join('\n'))
    await page.getByRole('button', { name: /^Read/ }).click()
    if (!(await page.getByLabel('Parcels start in').inputValue())) await chooseOrigin(page)
    await page.getByRole('button', { name: 'Check the rows' }).click()
    await page.locator('strong', { hasText: 'Ready to book' }).waitFor({ timeout: 20_000 })
  }
  const row = (number: number, town = 'Galle', cod = '100', name = 'Nimali Perera') =>
    `G-${number},${name},07700${10_000 + number},12 Temple Road,${town},${cod}`
  const ready = (page: Page, count: string) =>
    page.locator('strong', { hasText: `Ready to book: ${count}.` }).waitFor({ timeout: 20_000 })
  const checkAgain = (page: Page) => page.getByRole('button', { name: 'Check again' }).click()
  const cell = (page: Page, line: number, field: string) => page.locator(`#row-${line}-${field}`)
  const find = async (like: string) =>
    orders.rows(
      `select order_no, customer_name, customer_phone, cod, status_key, destination_city_id as city from orders
        where order_no like '${like}' order by order_no`,
    )
  const uploadMore = async (page: Page) => {
    await page.getByRole('button', { name: 'Upload more' }).click()
    const sure = page.getByRole('button', { name: 'Press again' })
    if (await sure.isVisible()) await sure.click()
    await page.getByRole('textbox', { name: 'Rows' }).waitFor()
  }

  t.test('every row is shown and editable, and errors name the row, the heading and the candidates', async t => {
    const page = await open()
    await toCheck(page, [
      row(101),
      row(102, 'Colombo'),
      row(103, 'Galle', '#N/A'),
      row(104, 'Galle', 'free'),
      row(105, 'Galle', ''),
      row(106, 'Galle', '2.000'),
      row(107, 'Jaffna'),
      row(108, 'Galle', '0', ' '),
      row(109, 'Galle', '99'.repeat(8)),
      row(110, 'Galle', '10', 'N'.repeat(300)),
      row(111, 'Galle', 'US$45'),
      row(112, 'Galle', '-500'),
      ',Total,,,,9999',
    ])
    await ready(page, '1')
    await page.getByText('Left out: Sum of other rows (1)').waitFor()
    for (let line = 2; line <= 13; line++)
      for (const field of ['customer_name', 'customer_phone', 'customer_address', 'destination', 'cod', 'weight'])
        t.ok(await cell(page, line, field).isEditable(), `${line} ${field}`)
    const sentences = {
      '3-destination': 'Row 3, Town: This matches no single city.',
      '4-cod': 'Row 4, Amount to collect: The sheet shows an error here, or a formula',
      '5-cod': 'Row 5, Amount to collect: This is no number.',
      '6-cod': 'Row 6, Amount to collect: This is missing.',
      '7-cod': 'Row 7, Amount to collect: This can be read as two amounts',
      '8-destination': 'Row 8, Town: The company has no price for parcels to Jaffna, Jaffna.',
      '9-customer_name': 'Row 9, Receiver: This is missing.',
      '10-cod': 'Row 10, Amount to collect: This amount is too large.',
      '11-customer_name': 'Row 11, Receiver: Write at most 255 characters.',
    }
    for (const [id, sentence] of Object.entries(sentences))
      t.match(await page.locator(`#row-${id}-error`).textContent(), sentence)
    t.match(await page.locator('main').innerText(), /^(?!.*(order_data|2147483647|_phone|_name))/s)
    t.equal(await page.locator('#row-3-city option').count(), 18, 'all cities of Colombo, and the question')
    t.equal(await cell(page, 3, 'customer_phone').inputValue(), '0770010102')
    t.equal(await cell(page, 3, 'customer_address').inputValue(), '12 Temple Road')
    await showDesk(t, page, 'grid')
    await page.emulateMedia({ colorScheme: 'dark' })
    await showDesk(t, page, 'grid-dark')
    await page.emulateMedia({ colorScheme: 'light' })
    await showInLanguages(t, page, 'grid', '#row-4-cod-error')
    await page.locator('#row-3-city').selectOption('1607')
    await page.getByRole('button', { name: 'Prepaid: nothing to collect for 3 rows' }).click()
    await ready(page, '4')
    for (const line of [4, 5, 6]) t.equal(await cell(page, line, 'cod').inputValue(), '0')
    for (const [line, amount] of [
      [7, '2.000'],
      [12, 'US$45'],
      [13, '-500'],
    ] as const)
      t.equal(await cell(page, line, 'cod').inputValue(), amount, 'an amount is no prepaid parcel')
    t.ok(await cell(page, 14, 'cod').isDisabled())
    await page.getByLabel('Book row 14').check()
    t.ok(await cell(page, 14, 'cod').isEditable(), 'a person takes it back')
    await page.getByLabel('Book row 14').uncheck()
    await checkAgain(page)
    await ready(page, '5')
    await page.getByText('COD LKR 200 in all; without COD: 3.').waitFor()
    await page.getByRole('button', { name: /^To correct/ }).click()
    t.equal(await page.locator('.grid tbody tr').count(), 7)
    await page.close()
  })

  t.test('uncorrected rows are still there after booking and a reload, and can be booked then, once', async t => {
    const page = await open()
    await toCheck(page, [row(201), row(202, 'Galle', 'free'), row(203, 'Nowhere'), row(204)])
    await page.getByRole('checkbox', { name: 'Book row 5' }).uncheck()
    await ready(page, '1')
    await page.getByRole('button', { name: 'Book and confirm 1 parcels' }).click()
    await page.locator('strong', { hasText: '1 of 1 parcels are booked.' }).waitFor()
    await page.getByRole('button', { name: 'To correct (2)' }).waitFor()
    await cell(page, 3, 'cod').fill('250')
    await checkAgain(page)
    await ready(page, '1')
    await page.close()

    const [again, second] = [await open(), await open()]
    for (const each of [again, second]) await ready(each, '1')
    t.equal(await cell(again, 3, 'cod').inputValue(), '250', 'a checked correction is kept')
    t.match(await again.locator('#row-4-destination-error').textContent(), 'Row 4, Town: This matches no single city.')
    t.equal(await again.getByRole('checkbox', { name: 'Book row 5' }).isChecked(), false)
    await cell(again, 4, 'destination').fill('Dehiwala')
    await checkAgain(again)
    await again.getByRole('button', { name: 'Book and confirm 2 parcels' }).click()
    await again.locator('strong', { hasText: '3 of 3 parcels are booked.' }).waitFor()
    await second.getByRole('button', { name: 'Book and confirm 1 parcels' }).click()
    await second.getByText('Another tab').waitFor()
    t.strictSame(
      (await find('G-20_')).map(({ order_no, cod, city }) => [order_no, cod, city]),
      [
        ['G-201', 100, 2100],
        ['G-202', 250, 2100],
        ['G-203', 100, 1501],
      ],
    )
    const download = again.waitForEvent('download')
    await again.getByRole('button', { name: 'Waybills (CSV)' }).click()
    const csv = readFileSync(await (await download).path(), 'utf8')
    for (const line of ['"2"', '"3"', '"4"']) t.match(csv, line, 'the rows of both steps, by their lines')
    await uploadMore(again)
    await again.close()
    await second.close()
  })

  t.test('a warned row is edited, a row is left out, and a changed row is checked before it is booked', async t => {
    t.equal((await orders.bulk(batch([order({ order_no: 'G-301' })]))).status, 200)
    const page = await open()
    await toCheck(page, [row(301), row(302), row(303), row(302, 'Dehiwela')])
    await ready(page, '1')
    await page.getByText('are they one parcel or several? (2)').waitFor()
    await page.getByRole('button', { name: 'Several parcels', exact: true }).click()
    await ready(page, '3')
    await page.getByText(/Ref No: DM\d+, booked on [\d-]{10}, has the same number./).waitFor()
    await page.getByText('Left out: Booked before (1)').waitFor()
    await page.getByRole('checkbox', { name: 'Book row 2' }).check()
    await ready(page, '4')
    await page.getByText('Ref No: Row 3 has the same number.').waitFor()
    await page.getByRole('button', { name: /^Unusual/ }).click()
    await page.locator('.grid', { hasText: 'Dehiwala, Colombo' }).waitFor()
    await cell(page, 2, 'order_no').fill('G-311')
    const book = page.getByRole('button', { name: /^Book and confirm/ })
    t.ok(await book.isDisabled())
    await page.getByText('Changed rows are not checked yet: 1. Press “Check again” first.').waitFor()
    await checkAgain(page)
    await ready(page, '4')
    t.equal(await page.getByText(/of the last 24 hours|booked on/).count(), 0)
    await page.getByRole('button', { name: /^All/ }).click()
    await page.getByRole('checkbox', { name: 'Book row 3' }).uncheck()
    await ready(page, '3')
    t.ok(await cell(page, 3, 'cod').isDisabled())
    await book.click()
    await page.locator('strong', { hasText: '3 of 3 parcels are booked.' }).waitFor()
    await page.locator('.badge', { hasText: 'CONFIRMED' }).waitFor()
    t.strictSame(
      (await find('G-3%')).map(({ order_no, status_key }) => [order_no, status_key]),
      [
        ['G-301', 'key_1'],
        ['G-302', 'key_2'],
        ['G-303', 'key_2'],
        ['G-311', 'key_2'],
      ],
    )
    await uploadMore(page)
    await page.close()
  })

  t.test('drafts say so and are confirmed in one action, except one that somebody has cancelled', async t => {
    const page = await open()
    await toCheck(page, [row(401), row(402, 'Kotte'), row(403, 'Kotte')])
    await page.getByRole('button', { name: 'Book 3 only as DRAFT' }).click()
    await page.getByText('3 parcels: nothing is picked up before they are confirmed.').waitFor()
    await page.locator('.badge', { hasText: 'DRAFT' }).waitFor()
    t.strictSame(new Set((await find('G-40_')).map(({ status_key }) => status_key)), new Set(['key_1']))
    await showDesk(t, page, 'booked-drafts')
    await orders.rows(`update orders set status_key = 'key_3' where order_no = 'G-402'`)
    await page.getByRole('button', { name: 'Confirm all 3' }).click()
    await page.locator('.badge', { hasText: 'CONFIRMED' }).waitFor()
    t.strictSame(
      (await find('G-40_')).map(({ status_key }) => status_key),
      ['key_2', 'key_3', 'key_2'],
    )
    await page.getByText('1 parcels were confirmed or cancelled elsewhere').waitFor()
    await page.getByText('2 parcels: on their way').waitFor()
    await page.reload()
    await page.locator('.badge', { hasText: 'CONFIRMED' }).waitFor()
    await uploadMore(page)
    await page.close()
  })

  t.test('where the company does not let merchants confirm, the upload books drafts and says so', async t => {
    const page = await open()
    await page.route('**/order/status-list', async route => {
      const response = await route.fetch()
      const { data } = await response.json()
      const withoutMoves = data.map((status: object) => ({ ...status, before_statuses: [] }))
      await route.fulfill({ response, json: { data: withoutMoves } })
    })
    await toCheck(page, [row(501)])
    await page.getByRole('button', { name: 'Book 1 parcels' }).click()
    await page.locator('.badge', { hasText: 'DRAFT' }).waitFor()
    t.equal(await page.getByRole('button', { name: /Confirm/ }).count(), 0)
    t.match(await find('G-501'), [{ status_key: 'key_1' }])
    await uploadMore(page)
    await page.close()
  })

  t.test(
    'an exact name typed and left is taken, however late its row comes; a name of two cities is asked',
    async t => {
      const page = await open()
      await page.getByRole('link', { name: 'Book a parcel' }).click()
      await page.route('**/city?name=*', async route => {
        await delay(500)
        await route.continue()
      })
      const city = page.getByLabel('City')
      const isTaken = () =>
        city.evaluate(input => (input as unknown as { validity: { valid: boolean } }).validity.valid)
      for (const [typed, label] of [
        ['Galle', 'Galle, Galle'],
        ['kotte', 'Kotte, Colombo'],
      ] as const) {
        await city.fill(typed)
        await city.blur()
        await waitUntil(
          `${label} is taken`,
          () => city.inputValue(),
          value => value === label,
        )
        t.ok(await isTaken())
      }
      await city.fill('Hikkaduwa')
      await city.blur()
      await page.getByText('Choose one from the list.').waitFor()
      t.notOk(await isTaken())
      await page.close()
    },
  )

  t.test('a grid of 10,000 rows stays fast', async t => {
    const page = await open()
    const rows = Array.from({ length: 10_000 }, (_, n) =>
      row(n, n === 9_000 ? 'Nowhere' : 'Galle')
        .replace('07700', '07710')
        .replace('G-', 'H-'),
    )
    const buffer = Buffer.from([headings, ...rows].join('\n'))
    await page.getByLabel('File (Excel').setInputFiles({ name: 'rows.csv', mimeType: 'text/csv', buffer })
    await page.getByRole('button', { name: 'Read 10,001 rows' }).click()
    await page.getByRole('button', { name: 'Check the rows' }).click()
    await page.locator('strong', { hasText: 'Ready to book: 9,999.' }).waitFor({ timeout: 60_000 })
    await page.getByText('1 / 200').waitFor()
    t.equal(await page.locator('.grid tbody tr').count(), 50)
    await page.getByRole('button', { name: 'To correct (1)' }).click()
    const before = Date.now()
    await cell(page, 9002, 'destination').pressSequentially(' or elsewhere in Galle')
    t.comment(`${(Date.now() - before) / 22} ms for each key`)
    await cell(page, 9002, 'destination').fill('Galle')
    await checkAgain(page)
    await ready(page, '10,000')
    await page.close()
  })

  t.test('no page had a problem', async t =>
    t.strictSame(
      problems.filter(problem => !/422/.test(problem)),
      [],
    ),
  )
}
