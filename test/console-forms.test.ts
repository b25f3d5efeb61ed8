import t, { type Test } from 'tap'
import { batch, order } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth, showScreen } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders, notifier } = await startConsole(t)
  const booked = await orders.bulk(batch([order({ order_no: 'LS-1' }), order({ order_no: 'LS-2' })]))
  const [first, second] = booked.body.data as [string, string]
  const readOrder = async (waybill: string) =>
    (await orders.rows('select * from orders where waybill_number = $1', [waybill]))[0]
  const opened = await openConsole(t, browser, url)
  const { page } = opened
  await signIn(page)
  const edit = page.getByRole('button', { name: 'Edit' })
  const save = page.getByRole('button', { name: 'Save' })
  const checkSeen = async (t: Test, { page, problems } = opened) => {
    t.strictSame(problems, [])
    t.strictSame(await findBarriers(page), [])
  }

  t.test('an order is edited, and each error appears under its field', async t => {
    await page.goto(`${url}#/parcel/${first}`)
    await edit.click()
    await page.locator('#edit-customer_name:focus').waitFor()
    await page.getByLabel('Phone', { exact: true }).fill('')
    await page.getByLabel('COD', { exact: true }).fill('-1')
    await page.locator('#edit-reason').fill('The customer called')
    await save.click()
    await page.locator('#edit-cod-error', { hasText: 'integer from 0' }).waitFor()
    await page.locator('#edit-customer_phone-error').waitFor()
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
    await checkSeen(t)
    await page.getByLabel('Phone', { exact: true }).fill('0770000199')
    await page.getByLabel('COD', { exact: true }).fill('9900')
    await page.getByLabel('To', { exact: true }).fill('Kott')
    await page.locator('datalist option[value^="Kotte"]').waitFor({ state: 'attached' })
    await page.getByLabel('To', { exact: true }).press('Tab')
    await save.click()
    await page.locator('h1:focus').waitFor()
    await page.locator('.details', { hasText: '0770000199' }).waitFor()
    t.match(await readOrder(first), { customer_phone: '0770000199', cod: 9900, destination_city_id: '1500' })
    await page.locator('.timeline', { hasText: 'The customer called' }).waitFor()
  })

  t.test('a message may use any of more than 250 approved templates', async t => {
    await notifier.rows(`
      insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
      select tenant_id, waba_id, 'zz_' || n, language, status, parameter_format, components
      from templates, generate_series(1, 250) n where name = 'order_delivered' and language = 'en_US'`)
    t.teardown(() => notifier.rows(`delete from templates where name like 'zz!_%' escape '!'`))
    await page.goto(`${url}#/parcel/${second}`)
    await page.locator('#template option', { hasText: 'zz_99 · en_US' }).waitFor({ state: 'attached' })
    t.ok((await page.locator('#template option').count()) > 250)
    await checkSeen(t)
  })

  t.test('shows another person’s change instead of overwriting it', async t => {
    await page.goto(`${url}#/parcel/${second}`)
    await edit.click()
    await page.getByLabel('Customer', { exact: true }).fill('Nimali Silva')
    await page.locator('#edit-reason').fill('Married')
    await orders.rows(`update orders set customer_address = '99 Sea Street' where waybill_number = $1`, [second])
    await save.click()
    await page.getByText('Somebody else has changed the order.').waitFor()
    t.strictSame(opened.problems.splice(0).length, 1, 'the 412')
    t.equal(await page.getByLabel('Address').inputValue(), '99 Sea Street')
    t.equal(await page.getByLabel('Customer', { exact: true }).inputValue(), 'Nimali Silva')
    await save.click()
    await page.locator('.details', { hasText: 'Nimali Silva' }).waitFor()
    t.match(await readOrder(second), { customer_name: 'Nimali Silva', customer_address: '99 Sea Street' })
    await orders.rows(`update orders set status_key = 'key_6' where waybill_number = $1`, [second])
    await page.reload()
    await edit.click()
    t.equal(await page.getByLabel('COD', { exact: true }).count(), 0, 'the COD of a parcel under way is fixed')
    await orders.rows(`update orders set status_key = 'key_13' where waybill_number = $1`, [second])
    await page.reload()
    await page.locator('.details').waitFor()
    t.equal(await edit.count(), 0)
  })

  t.test('a partial delivery asks what was collected, and books it', async t => {
    const [partly] = (await orders.bulk(batch([order({ cod: 900 })]))).body.data
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [partly])
    await page.goto(`${url}#/parcel/${partly}`)
    const deliver = page.getByRole('button', { name: 'PARTIALLY DELIVERED' })
    await deliver.click()
    const move = page.getByRole('button', { name: 'Move to PARTIALLY DELIVERED' })
    t.equal(await page.getByLabel(`${partly}: Amount collected`).inputValue(), '', 'the page never fills money in')
    t.equal(await move.getAttribute('aria-disabled'), 'true')
    await page.getByLabel(`${partly}: Amount collected`).fill('450.5')
    await page.getByLabel(`${partly}: How it was paid`).selectOption('qr')
    await page.getByLabel(`${partly}: Reason`).fill('Kept one of two')
    await checkSeen(t)
    await move.click()
    await page.locator('.timeline', { hasText: 'PARTIALLY DELIVERED' }).waitFor()
    const lines = await orders.rows('select cod, method, reason from money_lines where waybill_number = $1', [partly])
    t.strictSame(lines, [{ cod: '450.5', method: 'qr', reason: 'Kept one of two' }])
  })

  t.test('on a phone the moves come first, and default statuses are in the person’s language', async t => {
    const options = { language: 'si', viewport: { width: 390, height: 844 } }
    const phone = await openConsole(t, browser, `${url}#/parcel/${first}`, options)
    await phone.page.locator('#tenant').fill('demo')
    await phone.page.locator('#email').fill('admin@courier.example')
    await phone.page.locator('#password').fill('wrong')
    await phone.page.keyboard.press('Enter')
    await phone.page.locator('.error', { hasText: 'මුරපදය වැරදියි' }).waitFor()
    phone.problems.length = 0
    await signIn(phone.page)
    const move = phone.page.getByRole('button', { name: 'තහවුරු කර ඇත' })
    const box = await move.boundingBox()
    t.ok(box && box.y + box.height < 844, 'the move is visible without scrolling')
    await phone.page.locator('.details').waitFor()
    t.ok((await measureWidth(phone.page)) <= 390)
    await checkSeen(t, phone)
    await orders.rows(`update statuses set name = 'Rider on the way' where status_key = 'key_2'`)
    await orders.rows('update tenants set version = version + 1')
    await phone.page.reload()
    await phone.page.getByRole('button', { name: 'Rider on the way' }).waitFor()
  })

  t.test('asks whether messaging works, and subscribes the app', async t => {
    await page.goto(`${url}#/channels`)
    const number = (await notifier.call('GET', '/api/channels')).body.data[0].phone_number_id
    notifier.control.putNumber(number, { subscribed: false, waba_id: '102290129340398' })
    await notifier.call('PUT', `/api/channels/${number}`, { waba_id: '102290129340398' })
    const channel = page.locator('section', { hasText: number })
    await channel.getByRole('button', { name: 'Does messaging work?' }).click()
    await channel.getByText('is not subscribed to account 102290129340398').waitFor()
    await showScreen(t, page, 'doctor')
    await channel.getByRole('button', { name: 'Subscribe the app' }).click()
    await channel.getByText('The app is subscribed').waitFor()
    t.equal(await channel.getByRole('button', { name: 'Subscribe the app' }).count(), 0)
  })

  t.test('adds and registers a number, and never shows its secrets again', async t => {
    const secrets = ['demo-access-token', 'demo-app-secret', 'secret-verify-token', '123456', 'demo-certificate']
    await page.goto(`${url}#/channels`)
    await page.getByText('Add a number').click()
    const number = (await notifier.call('GET', '/api/channels')).body.data[0].phone_number_id
    await page.getByLabel('Phone number ID').fill(number)
    await page.locator('#channel-access_token').fill('demo-access-token')
    const store = page.locator('details.panel').getByRole('button', { name: 'Store' })
    await store.click()
    await page.getByText('This number is already a channel.').waitFor()
    await page.getByLabel('Phone number ID').fill('2222')
    await page.locator('#channel-name').fill('Night shift')
    await page.locator('#channel-app_secret').fill('demo-app-secret')
    await page.locator('#channel-verify_token').fill('secret-verify-token')
    await store.click()
    await page.locator('section', { hasText: 'Night shift' }).waitFor()
    const channel = page.locator('section', { hasText: number })
    await channel.getByText('Register the number').first().click()
    await channel.getByLabel('PIN').fill('12')
    await channel.getByLabel('Certificate').fill('demo-certificate')
    const register = channel.getByRole('button', { name: 'Register the number' })
    await register.click()
    await channel.locator(`#register-${number}-pin-error`).waitFor()
    t.equal(opened.problems.splice(0).length, 1, 'the 422')
    await channel.getByLabel('PIN').fill('123456')
    await register.click()
    await page.locator('#live', { hasText: 'Channel Registered Successfully' }).waitFor({ state: 'attached' })
    t.equal(await channel.getByLabel('PIN').inputValue(), '')
    t.type((await notifier.call('GET', '/api/channels')).body.data[0].registered_at, 'string')
    const shown = await page.evaluate<string>(
      `document.body.innerText + [...document.querySelectorAll('main input')].map(each => each.value)`,
    )
    for (const secret of secrets) t.notMatch(shown, secret)
    t.notMatch(opened.urls.join(), /secret|123456/)
    await checkSeen(t)
    const viewer = await openConsole(t, browser, `${url}#/channels`)
    await signIn(viewer.page, 'viewer')
    await viewer.page.locator('section.panel').first().waitFor()
    t.equal(await viewer.page.locator('main form, main button, main details').count(), 0)
  })
}
