import t from 'tap'
import { shopsFixture, wooOrder } from '../services/orders/test/shops-fixture.ts'
import { launchBrowser } from './browser.ts'
import { openDesk, press, showDesk, showInLanguages, waitForReady } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { app, call, list, rows, sign } = await shopsFixture(t)
  const url = `${await app.listen({ host: '127.0.0.1', port: 0 })}/desk/`
  const { open, problems } = await openDesk(t, browser, url)
  const page = await open()

  t.test('a person connects a shop by what the screen says, and the page turns green', async t => {
    await page.getByRole('link', { name: 'From the shop' }).click()
    await page.getByText('No shop is connected yet.').waitFor()
    await showDesk(t, page, 'shops-empty')
    await page.getByLabel('Name').fill('Shoes Online')
    const origin = page.getByLabel('Parcels start in')
    await origin.fill('Kotte')
    await page.locator('#shop-origin_city_id-options option').first().waitFor({ state: 'attached' })
    await origin.fill('Kotte, Colombo')
    await origin.blur()
    await page.getByLabel('Usual weight (kg)').fill('1')
    await press(page, 'Connect a shop')
    await page.getByText('Connect WooCommerce').waitFor()
    await page.getByText('Nothing has come yet').waitFor()
    await press(page, 'Make a secret')
    const secret = await page.getByLabel('Secret', { exact: true }).inputValue()
    const address = await page.locator('#shop-url').inputValue()
    t.match(address, /\/webhooks\/shops\/demo\/[\w-]{22}$/)
    await showDesk(t, page, 'shop-steps')
    const shop = sign('woocommerce', address, secret)
    await shop.post('webhook_id=1', { 'content-type': 'application/x-www-form-urlencoded' })
    await page.getByText('The address is right').waitFor({ timeout: 15_000 })
    await shop.deliver(wooOrder(11))
    await shop.deliver(
      wooOrder(12, { payment_method: 'bacs', billing: { ...wooOrder(1).billing, phone: '0770000102' } }),
    )
    await page.getByText('Orders arrive').waitFor({ timeout: 15_000 })
    await page.getByText('Orders that wait: 2').waitFor({ timeout: 15_000 })
  })

  t.test('what waits is checked and booked in the grid of the sheets; money that is unclear is asked', async t => {
    await press(page, 'Look at them and book')
    await waitForReady(page, 1)
    await page
      .getByText('It is not clear whether this was paid or is to be collected: bacs, not paid')
      .first()
      .waitFor()
    await showDesk(t, page, 'shop-grid')
    await showInLanguages(t, page, 'shop-grid', 'td input')
    await page
      .getByRole('button', { name: /Nothing to collect$/ })
      .first()
      .click()
    await press(page, 'Check again')
    await waitForReady(page, 2)
    await page.getByRole('button', { name: /^Book and confirm/ }).click()
    await page.getByText('2 of 2 parcels are booked.').waitFor()
    t.strictSame(await rows('select order_no, cod, status_key from orders order by order_no'), [
      { order_no: '11', cod: 4500, status_key: 'key_2' },
      { order_no: '12', cod: 0, status_key: 'key_2' },
    ])
    t.strictSame(await list(), [])
  })

  t.test('what the shop sent is listed, and an order that stays can be taken back', async t => {
    const [{ id, url: address }] = (await call('GET', '/shop')).body.data
    await call('POST', `/shop/${id}/secret`, { secret: 'a-third-secret' })
    const shop = sign('woocommerce', address, 'a-third-secret')
    await shop.deliver(wooOrder(13, { status: 'completed' }))
    await shop.deliver({ id: 'no order' })
    await page.goto(`${url}#/shops/${id}`)
    await page.getByText('What the shop sent', { exact: true }).first().click()
    await page.getByText('No order', { exact: true }).waitFor()
    await page.getByText('Orders that are no parcel now', { exact: true }).first().click()
    await page.getByText('The shop has ended it.').waitFor()
    await showDesk(t, page, 'shop-staying')
    await press(page, 'Let it wait')
    await page.getByText('Orders that wait: 1').waitFor({ timeout: 15_000 })
    t.match(await list(), [{ shop_order_id: '13' }])
  })

  t.test('a change in the shop stands beside the parcel, and is applied in one press', async t => {
    const [{ id, url: address }] = (await call('GET', '/shop')).body.data
    await call('POST', `/shop/${id}/secret`, { secret: 'another-secret' })
    const shop = sign('woocommerce', address, 'another-secret')
    const billing = { ...wooOrder(1).billing, address_1: '99 Hill Street' }
    await shop.deliver(wooOrder(11, { billing, date_modified_gmt: '2026-11-28T12:00:00' }))
    await page.goto(`${url}#/shops`)
    await page.getByText('99 Hill Street').waitFor({ timeout: 40_000 })
    await showDesk(t, page, 'shop-changed')
    await press(page, 'Change the parcel')
    await page.getByText('99 Hill Street').waitFor({ state: 'detached' })
    t.match(await rows(`select customer_address from orders where order_no = '11'`), [
      { customer_address: '99 Hill Street' },
    ])
    await shop.deliver(wooOrder(12, { status: 'cancelled', date_modified_gmt: '2026-11-28T13:00:00' }))
    await page.reload()
    await page.getByText('The order was cancelled in the shop.').waitFor()
    await press(page, 'Seen')
    await page.getByText('The order was cancelled in the shop.').waitFor({ state: 'detached' })
    t.strictSame(problems, [])
  })
}
