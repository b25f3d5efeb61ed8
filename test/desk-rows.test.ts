import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser } from './browser.ts'
import { checkSheet, chooseOrigin, fillParcel, openDesk, press, waitForReady } from './desk.ts'

// The type check of portal/ covers these files.
const { parseSheet } = await import(join(root, 'portal/desk/read-sheet.js'))
const { chooseColumns } = await import(join(root, 'portal/desk/upload/columns.js'))
const { toRows } = await import(join(root, 'portal/desk/upload/to-rows.js'))
const { findFirstPhone, splitPhones } = await import(join(root, 'portal/desk/upload/numbers.js'))

interface Row {
  readonly line: number
  readonly values: Record<string, string>
  readonly marks: { field: string; code: string; ask?: boolean }[]
  readonly leftOut?: string
}
const fixture = (name: string): string => readFileSync(join(root, 'test/sheets', name), 'utf8')
const read = (text: string): Row[] => toRows(parseSheet(text), chooseColumns(parseSheet(text)), 'LKR')
const head = 'Name,Phone,Address,City,COD'
const person = 'Nimal,0770000001,1 Road,Galle,100'

t.test('two numbers of a phone become phone and second phone, and nothing is guessed', t => {
  const split = (customer_phone: string, isKept = true, more = {}) => {
    const values: Record<string, string> = { customer_phone, ...more }
    splitPhones({ values, marks: [] }, isKept)
    return [values.customer_phone, values.customer_secondary_phone]
  }
  const two = ['0772000004', '0112345678']
  for (const text of [
    '0772000004/0112345678',
    '0772000004, 0112345678',
    '0772000004 0112345678',
    '0772000004 (wife 0112345678)',
    '0772000004 (0112345678)',
    'Amma: 0772000004; thaththa 0112345678',
    '0772000004-0112345678',
    '0772000004\n0112345678',
    '٠٧٧٢٠٠٠٠٠٤ / ٠١١٢٣٤٥٦٧٨',
  ])
    t.strictSame(split(text), two, text)
  t.strictSame(split('+94 77 200 0004 / +94 11 234 5678'), ['+94 77 200 0004', '+94 11 234 5678'])
  for (const text of [
    '0772000004',
    '077/2000004',
    '077-200-0004',
    '(077) 2000004',
    '0112345678 ext 12',
    '0772000004/5',
    '0772000004/2345678',
    '0772000004/0112345678/0112345679',
    '077 200 0004 011 234 5678',
    'n/a',
    '',
  ])
    t.strictSame(split(text), [text, undefined], text)
  t.strictSame(split('0772000004/0112345678', false), ['0772000004/0112345678', undefined], 'not kept by the company')
  const other = { customer_secondary_phone: '0719999999' }
  t.strictSame(split('0772000004/0112345678', true, other), ['0772000004/0112345678', '0719999999'])
  t.equal(findFirstPhone('0772000004/5'), '0772000004')
  t.equal(findFirstPhone('0772000004/0112345678/0112345679'), '0772000004')
  t.equal(findFirstPhone('n/a'), '')
  t.end()
})

t.test('flags filled down and footers are left out; what may be a parcel waits', t => {
  t.strictSame(
    read(fixture('phones.csv')).map(({ leftOut = '' }) => leftOut),
    [...Array(5).fill(''), ...Array(7).fill('no_parcel'), ''],
  )
  const left = (cells: string) => read(`Ref,${head},Contents,Gift\nA-1,${person},Shoe,FALSE\n${cells}`)[1]?.leftOut
  for (const cells of [
    'A-2,,,,,0,,FALSE',
    ',,,,,0.00,,no',
    ',,,,,-,,',
    ',#,,,,,,',
    ',Prepared by,Nimal,,,,,',
    ',,,,Authorised by:,,,',
    ',................,,,...............,,,',
    'අත්සන,,,,,,,',
  ])
    t.equal(left(cells), 'no_parcel', cells)
  for (const cells of [
    ',Nimal,,1 Road,,,,',
    ',Nimal,,,Galle,0,,FALSE',
    ',,0770000001,,,,,',
    ',,,,,1500,,',
    ',,,,,#N/A,,FALSE',
    'A-1,,,,,,Socks,',
    ',,,,,,Socks,',
    ',Prepared by,0770000001,,,,,',
  ])
    t.equal(left(cells), undefined, cells)
  for (const cells of [
    ',නිමල්,,1 පාර,,,,',
    ',,,,,٤٥٠٠,,',
    ',,٠٧٧٠٠٠٠٠٠١,,,,,',
    ',রহিম,০১৭০০০০০০০১,১২ রোড,ঢাকা,৪৫০০,,',
    ',பிரியா,,,யாழ்ப்பாணம்,0,,',
  ])
    t.equal(left(cells), undefined, `letters and digits of any script: ${cells}`)
  t.equal(left(',,,,,٠,,'), 'no_parcel')
  t.equal(left('A-2,Nimal'), undefined, 'a broken row waits')
  t.end()
})

const browser = await launchBrowser(t)
if (browser) {
  const orders = await ordersFixture(t)
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open } = await openDesk(t, browser, url)
  const book = async (page: Page) => {
    await page.getByRole('button', { name: /^Book and confirm/ }).click()
    await page.getByRole('button', { name: 'Upload more' }).waitFor()
    return orders.rows(
      'select order_no, customer_phone, customer_secondary_phone from orders order by created_at desc, order_no',
    )
  }

  t.test('phones that no message reaches wait, and are booked as a person says', async t => {
    const page = await open()
    await checkSheet(page, fixture('phones.csv'))
    await waitForReady(page, 2)
    await page.getByText('Left out: No parcel (7)').waitFor()
    await press(page, 'Row 5: Book as shown')
    await press(page, 'Row 6: Keep the first number')
    await page.locator('#row-4-customer_phone').fill('0772000009/0112345670')
    await press(page, 'Check again')
    await waitForReady(page, 5)
    t.strictSame(
      (await book(page)).map((row: object) => Object.values(row)),
      [
        ['T1', '0772000004', '0112345678'],
        ['T2', '0772000005', '0712345678'],
        ['T3', '0772000009', '0112345670'],
        ['T4', 'n/a', null],
        ['T5', '0772000006', null],
      ],
    )
    await page.close()
  })

  t.test('the form books a second phone', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Book a parcel' }).click()
    await chooseOrigin(page)
    await fillParcel(page)
    await page.getByLabel('Second phone').fill('0112000109')
    await page.getByLabel('COD').fill('0')
    await press(page, 'Book and confirm')
    await page.getByText('The parcel is booked:').waitFor()
    const [row] = await orders.rows(
      "select customer_secondary_phone as second from orders where customer_phone = '0770000109'",
    )
    t.equal(row?.second, '0112000109')
    await page.close()
  })

  t.test('a company that keeps no second phone is asked, and keeps the first number', async t => {
    const file = tenantFile()
    file.tenant.secondary_phone = false
    const others = await ordersFixture(t, { file })
    const { open } = await openDesk(t, browser, `${await others.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`)
    const page = await open()
    await checkSheet(
      page,
      `${head}\nAmal,0772000004/0112345678,1 Road,Galle,100\nNimal,0772000005/0112345678,1 Road,Galle,100`,
    )
    await waitForReady(page, 0)
    await page.locator('.notice', { hasText: '(2)' }).getByRole('button', { name: 'Keep the first number' }).click()
    await waitForReady(page, 2)
    await page.getByRole('button', { name: /^Book and confirm/ }).click()
    await page.getByRole('button', { name: 'Upload more' }).waitFor()
    t.strictSame(
      (await others.rows('select customer_phone, customer_secondary_phone as second from orders order by 1')).map(
        Object.values,
      ),
      [
        ['0772000004', null],
        ['0772000005', null],
      ],
    )
    await press(page, 'Upload more')
    await checkSheet(page, `${head},Second phone\nMala,0772000006,2 Road,Galle,100,0112345679`)
    await waitForReady(page, 1)
    await page.getByText('Second phone: The company keeps no second phone: this number is not sent.').waitFor()
    await page.getByRole('link', { name: 'Book a parcel' }).click()
    await page.getByLabel('Phone', { exact: true }).waitFor()
    t.equal(await page.getByLabel('Second phone').count(), 0)
    await page.close()
  })
}
