import t from 'tap'
import { ordersFixture } from '../services/orders/test/orders-fixture.ts'
import { launchBrowser } from './browser.ts'
import { chooseOrigin, openDesk } from './desk.ts'

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
    await page.getByRole('heading', { name: 'Rows to correct: 12' }).waitFor()
    await page.locator('#row-14-destination-error', { hasText: 'from Kotte in Colombo to Jaffna in Jaffna.' }).waitFor()
    for (let line = 3; line <= 14; line++) await page.locator(`#row-${line}-destination`).fill('Galle')
    await page.getByRole('button', { name: 'Check again' }).click()
    await page.locator('strong', { hasText: 'Ready to book: 14.' }).waitFor()
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

  t.test('a cleared COD or weight means what an untouched one means', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Book a parcel' }).click()
    await chooseOrigin(page)
    await page.getByLabel('Recipient').fill('Saman Kumara')
    await page.getByLabel('Phone', { exact: true }).fill('0770000109')
    await page.getByLabel('Address').fill('9 Hill Street')
    await page.getByLabel('City').fill('Galle')
    await page.locator('#book-destination_city_id-options option').first().waitFor({ state: 'attached' })
    await page.getByLabel('City').fill('Galle, Galle')
    for (const name of ['COD', 'Weight (kg)']) {
      await page.getByLabel(name).fill('2')
      await page.getByLabel(name).fill('')
    }
    await page.getByText('Charge: LKR 450').waitFor()
    await page.getByRole('button', { name: 'Book the parcel' }).click()
    await page.getByText('The parcel is booked:').waitFor({ timeout: 5_000 })
    await page.close()
  })
}
