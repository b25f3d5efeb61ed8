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
    await page.getByText('This is the order export of Shopify: 4 parcels.').waitFor()
    for (const line of ['part of its parcel: 1', 'which are prepaid: 1', 'left out: 1', 'for you to enter: 1'])
      await page.getByText(line).waitFor()
    await page.getByText('All columns: 79').click()
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
}
