import t from 'tap'
import { processEvents } from '../services/notifier/core/events/process.ts'
import { orderEvent } from '../services/notifier/test/orders-stand-in.ts'
import { giveRules } from '../services/notifier/test/rules-of-demo.ts'
import { startWebhookReceiver } from '../services/orders/test/webhook-receiver.ts'
import { launchBrowser } from './browser.ts'
import { startConsole } from './console.ts'
import { openDesk, showDesk, showInLanguages } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { orders, notifier, ordersUrl } = await startConsole(t)
  const url = `${ordersUrl}/desk/`
  const { open, problems } = await openDesk(t, browser, url)
  const receiver = await startWebhookReceiver(t)

  t.test('a webhook is added, tested, paused, changed and deleted, gets events and shows its deliveries', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Webhooks' }).click()
    await page.getByText('There are no webhooks yet.').waitFor()
    await page.getByLabel('Address (https)').fill(receiver.url)
    await page.getByLabel('order.edited').uncheck()
    await page.getByRole('button', { name: 'Add a webhook' }).click()
    receiver.secret = await page.getByLabel('Secret that signs the events').inputValue()
    t.match(receiver.secret, /^whsec_/)
    await page.getByRole('link', { name: receiver.url }).waitFor()
    await showDesk(t, page, 'webhooks')
    await showInLanguages(t, page, 'webhooks', 'td a')
    await page.getByRole('link', { name: receiver.url }).click()
    // The list has boxes with the same names, which its page shows until the webhook's page is drawn.
    await page.getByRole('button', { name: 'Save the change' }).waitFor()
    t.equal(await page.getByLabel('order.created').isChecked(), true)
    t.equal(await page.getByLabel('order.edited').isChecked(), false)
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.locator('.notice strong', { hasText: '204' }).waitFor()
    t.match(receiver.requests, [{ type: 'ping' }])

    receiver.react = () => ({ status: 503, body: 'Down for maintenance' })
    const [waybill = ''] = await orders.book(1)
    orders.sender.start()
    await page.getByText('Down for maintenance').waitFor()
    await showDesk(t, page, 'webhook')
    await showInLanguages(t, page, 'webhook', 'td .badge')
    receiver.react = () => ({})
    await page.getByRole('button', { name: 'Pause' }).click()
    await page.locator('.badge', { hasText: 'Paused' }).waitFor()
    await page.getByRole('button', { name: 'Enable' }).click()
    await page.locator('td .badge', { hasText: 'Delivered' }).waitFor({ timeout: 40_000 })
    t.equal(receiver.accepted.filter(message => message.waybill === waybill).length, 1)

    await page.getByLabel('Events from').fill('2026-01-01T00:00')
    await page.getByRole('button', { name: 'Send again' }).click()
    for (let waits = 0; waits < 100 && receiver.accepted.length < 3; waits++) await page.waitForTimeout(100)
    t.strictSame(
      receiver.accepted.map(message => message.type),
      ['ping', 'order.created', 'order.created'],
      'the event is sent again',
    )
    t.equal(receiver.forged, 0)
    await page.getByLabel('order.status_changed').uncheck()
    const saved = page.waitForResponse(response => response.request().method() === 'PATCH')
    await page.getByRole('button', { name: 'Save the change' }).click()
    await saved
    await page.getByRole('button', { name: 'Delete' }).press('Enter')
    t.strictSame(await orders.rows('select events from webhook_endpoints'), [
      {
        events: [
          'order.created',
          'order.instructed',
          'money.paid',
          'invoice.submitted',
          'invoice.deposited',
          'bank_account.changed',
          ...['requested', 'assigned', 'done', 'missed'].map(step => `pickup.${step}`),
        ],
      },
    ])
    await page.keyboard.press('Enter')
    await page.getByText('There are no webhooks yet.').waitFor()
    t.strictSame((await orders.request('/webhook')).body, { data: [] })
    await page.close()
  })

  t.test('a program gets a token that is shown once, uses it, and loses it', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Programs and people' }).click()
    const tokens = page.getByRole('region', { name: 'Tokens for programs' })
    await tokens.getByLabel('Name').fill('Web shop')
    await page.getByLabel('Last day (optional)').fill('2020-01-01')
    await page.getByRole('button', { name: 'Create a token' }).click()
    await page.getByText('must be a future time').waitFor()
    await page.getByLabel('Last day (optional)').fill('2090-01-01')
    await page.getByRole('button', { name: 'Create a token' }).click()
    const token = await page.getByLabel('Token', { exact: true }).inputValue()
    const row = page.getByRole('row').filter({ hasText: 'Web shop' })
    await row.getByText('Never').waitFor()
    await showDesk(t, page, 'access')
    await showInLanguages(t, page, 'access', 'td:has-text("Web shop")')
    t.equal((await orders.request('/order', undefined, { token })).status, 200)
    t.equal((await orders.request('/token', undefined, { token })).status, 403)
    await row.getByRole('button', { name: 'Revoke' }).click()
    await row.getByRole('button', { name: 'Press again to confirm' }).click()
    await row.waitFor({ state: 'detached' })
    t.match(await orders.rows(`select revoked_at from tokens where name = 'Web shop'`), [{ revoked_at: Date }])
    await page.close()
  })

  t.test('a parcel shows the messages to its recipient between its statuses', async t => {
    await giveRules(notifier.pool)
    const [waybill = ''] = await orders.book(1)
    await processEvents(notifier.pool, { tenant: 'demo', events: [orderEvent('m', { waybill_number: waybill })] })
    const page = await open()
    await page.goto(`${url}#/parcel/${waybill}`)
    const entry = page.getByRole('listitem').filter({ hasText: 'order_created' })
    await entry.getByText('Queued').waitFor()
    const entries = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem')
    t.equal(await entries.count(), 2)
    t.match(await entries.last().innerText(), 'order_created', 'the oldest entry comes first')
    await showDesk(t, page, 'messages')
    await showInLanguages(t, page, 'messages', '.timeline code')
    await page.close()
  })

  t.test('an owner adds a clerk, who sees orders but manages nothing, and ends the clerk’s access', async t => {
    const page = await open()
    await page.getByRole('link', { name: 'Programs and people' }).click()
    const people = page.getByRole('region', { name: 'People' })
    await people.getByLabel('Name').fill('Dilani Silva')
    await people.getByLabel('E-mail').fill('dilani@example.com')
    await people.getByLabel('New password').fill('a-long-password')
    await people.getByRole('button', { name: 'Add the person' }).click()
    const row = page.getByRole('row').filter({ hasText: 'Dilani Silva' })
    await row.getByText('Clerk', { exact: true }).waitFor()
    await row.getByRole('button', { name: 'New password', exact: true }).click()
    await showDesk(t, page, 'people')
    await showInLanguages(t, page, 'people', 'td:has-text("Dilani")')
    const clerk = await open('dilani@example.com', 'a-long-password')
    await clerk.getByText('Dilani Silva').waitFor()
    t.equal(await clerk.getByRole('link', { name: 'Webhooks' }).count(), 0)
    t.equal(await clerk.getByRole('link', { name: 'Programs and people' }).count(), 0)
    await clerk.goto(`${url}#/access`)
    await clerk.getByRole('heading', { name: 'Upload', exact: true }).waitFor()
    await clerk.getByRole('link', { name: 'Orders', exact: true }).click()
    await clerk.getByRole('link', { name: /^DM/ }).first().waitFor()
    await row.getByRole('button', { name: 'End access' }).click()
    await row.getByRole('button', { name: 'Press again to confirm' }).click()
    await row.getByText('No access').waitFor()
    await clerk.getByText('Your session has ended.').waitFor({ timeout: 60_000 })
    await clerk.close()
    await page.close()
  })

  t.test('the pages have no problems other than refused requests', async t => {
    t.strictSame(
      problems.filter(problem => !/40[13]|422/.test(problem)),
      [],
    )
  })
}
