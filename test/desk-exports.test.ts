import { join } from 'node:path'
import type { Page } from 'playwright-core'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { launchBrowser } from './browser.ts'
import { chooseOrigin, openDesk, showDesk, showInLanguages } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const orders = await ordersFixture(t)
  const url = `${await orders.app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open } = await openDesk(t, browser, url)

  const upload = async (page: Page, name: string) => {
    await page.getByLabel('File (Excel, CSV or TSV)').setInputFiles(join(root, 'examples/sheets', name))
    await page.getByRole('button', { name: /^Read [1-9]/ }).click()
    if (!(await page.getByLabel('Parcels start in').inputValue())) await chooseOrigin(page)
  }
  const check = (page: Page) => page.getByRole('button', { name: 'Check the rows' })

  t.test('the step that names the columns says what a known export holds', async t => {
    const page = await open()
    await upload(page, 'shopify-orders.csv')
    await page.getByText('This is the order export of Shopify.').waitFor()
    await page.getByText('Headings (79)').click()
    t.equal(await page.getByLabel('35. Shipping Name').inputValue(), 'customer_name')
    await page.getByText('Nimali Gunasekara · Card Payer · Half Payer').first().waitFor()
    await showDesk(t, page, 'columns-export')
    await showInLanguages(t, page, 'columns-export', '#headings')
    await page.getByRole('button', { name: 'Choose the columns myself' }).click()
    t.equal(await page.getByLabel('52. Outstanding Balance').inputValue(), 'cod')
    t.equal(await page.getByLabel('9. Subtotal').inputValue(), '')
    await page.close()
  })

  t.test('it cannot be left before the COD is chosen and each tie is answered; the choice is remembered', async t => {
    const page = await open()
    const rows = page.getByRole('textbox', { name: 'Rows' })
    const sheet = 'Orders\n\nName,Phone,Mobile,Address,City,Price\nAnoma,0770000101,0770000102,1 Road,Galle,100'
    await rows.fill(sheet)
    await page.getByRole('button', { name: 'Read 3 rows' }).click()
    if (!(await page.getByLabel('Parcels start in').inputValue())) await chooseOrigin(page)
    t.equal(await page.getByLabel('Headings').inputValue(), '1')
    t.ok(await check(page).isDisabled())
    await page.getByText('Still missing: Which column: Phone? · The COD column').waitFor()
    await showDesk(t, page, 'columns-asked')
    await page.getByLabel('Which column: Phone?').selectOption({ label: 'Mobile' })
    t.equal(await page.getByLabel('3. Mobile').inputValue(), 'customer_phone')
    await page.getByText('Still missing: The COD column').waitFor()
    await page.getByLabel('All parcels of this sheet are prepaid').check()
    t.notOk(await check(page).isDisabled())
    await page.getByLabel('6. Price').selectOption('cod')
    t.notOk(await page.getByLabel('All parcels of this sheet are prepaid').isChecked(), 'a COD column ends it')
    await check(page).click()
    await page.getByRole('button', { name: 'Begin again' }).click()
    await rows.fill(sheet)
    await page.getByRole('button', { name: 'Read 3 rows' }).click()
    t.equal(await page.getByLabel('6. Price').inputValue(), 'cod')
    t.equal(await page.getByLabel('3. Mobile').inputValue(), 'customer_phone')
    t.notOk(await check(page).isDisabled())
    await page.close()
  })

  /** Books the checked rows, and returns the orders that the desk sent, without the status that all have. */
  const bookAll = async (page: Page) => {
    const book = page.getByRole('button', { name: /^Book/ }).first()
    await book.waitFor()
    const request = page.waitForRequest(each => each.url().endsWith('/order/bulk'))
    await book.click()
    const body = (await request).postDataJSON()
    await page.getByText('parcels are booked.').waitFor()
    await page.getByRole('button', { name: 'Upload more' }).click()
    await page.getByRole('textbox', { name: 'Rows' }).waitFor()
    return body.order_data.map(({ initial_status_key, ...order }: Record<string, unknown>) => order)
  }

  t.test('the export of Shopify is booked as a clerk would have typed it', async t => {
    const page = await open()
    await upload(page, 'shopify-orders.csv')
    await check(page).click()
    const unclear = page.locator('#row-7-cod')
    await page.locator('#row-7-cod-error', { hasText: 'Row 7, Outstanding Balance' }).waitFor()
    await page.getByText('Left out: Part of the parcel above (1), Cancelled order (1)').waitFor()
    await page.getByRole('row', { name: '#2002' }).getByText('Paid order: nothing to collect.').waitFor()
    await showDesk(t, page, 'grid-export')
    await unclear.fill('0')
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.locator('strong', { hasText: 'Ready to book: 4.' }).waitFor()
    t.strictSame(await bookAll(page), [
      {
        ...{
          order_no: '#2001',
          customer_name: 'Nimali Gunasekara',
          customer_phone: '0770001302',
          cod: 6400,
          weight: 1,
        },
        ...{ customer_address: '7 Lake View, Upper floor', destination_city_id: 2100 },
        ...{ description: '3 x Linen shirt - Blue / M, Belt', customer_email: 'pays@example.com' },
      },
      {
        ...{ order_no: '#2002', customer_name: 'Card Payer', customer_phone: '0770001303', cod: 0, weight: 1 },
        ...{ customer_address: '2 Card Street', destination_city_id: 1500, description: 'Sandal' },
        customer_email: 'card@example.com',
      },
      {
        ...{ order_no: '#2003', customer_name: 'Half Payer', customer_phone: '+94 77 000 1304', cod: 4400, weight: 1 },
        ...{ customer_address: '3 Beach Road', destination_city_id: 2100, description: 'Boot', remark: 'Call before' },
      },
      {
        ...{ order_no: '#2005', customer_name: 'Not Captured', customer_phone: '0770001306', cod: 0, weight: 1 },
        ...{ customer_address: '5 Sea Street', destination_city_id: 2100, description: 'Cap' },
      },
    ])
    await page.close()
  })

  t.test('the export of WooCommerce is booked as a clerk would have typed it', async t => {
    const page = await open()
    await upload(page, 'woocommerce-orders.csv')
    await check(page).click()
    await page.locator('#row-6-cod-error').waitFor()
    await page.getByLabel('Book row 6').uncheck()
    await page.locator('strong', { hasText: 'Ready to book: 2.' }).waitFor()
    t.strictSame(await bookAll(page), [
      {
        ...{ order_no: '701', customer_name: 'Nimali Silva', customer_phone: '0112500701', cod: 3350, weight: 1 },
        ...{ customer_address: '9 Temple Road', destination_city_id: 2100, description: 'Shoe, 4 x Sock' },
        remark: 'Leave at the gate',
      },
      {
        ...{ order_no: '702', customer_name: 'Kasun Fernando', customer_phone: '0770001401', cod: 0, weight: 1 },
        ...{ customer_address: '12 Station Road', destination_city_id: 1500, description: '2 x Sandal' },
      },
    ])
    await page.close()
  })

  t.test('a sheet with sender and receiver is booked for the receiver; an empty COD waits for a person', async t => {
    const page = await open()
    await upload(page, 'sender-and-receiver.csv')
    await check(page).click()
    await page.locator('#row-6-cod-error', { hasText: 'Row 6, C.O.D.: ' }).waitFor()
    await page.getByRole('button', { name: /prepaid/i }).click()
    await page.locator('strong', { hasText: 'Ready to book: 2.' }).waitFor()
    t.strictSame(await bookAll(page), [
      {
        ...{ order_no: 'A-11', customer_name: 'Anoma Herath', customer_phone: '077-000 1507', cod: 4450, weight: 0.5 },
        ...{ customer_address: '15 Lake Road, Galle', destination_city_id: 2100 },
      },
      {
        ...{ order_no: 'A-12', customer_name: 'R. M. Bandara', customer_phone: '0770001508', cod: 0, weight: 1.5 },
        ...{ customer_address: '3 Main Street', destination_city_id: 1500 },
      },
    ])
    await page.close()
  })
}
