import { loadCapabilities } from '@courier/shared/capabilities.ts'
import type { Page } from 'playwright-core'
import t from 'tap'
import { capabilities as ofNotifier } from '../services/notifier/capabilities.ts'
import { capabilities as ofOrders } from '../services/orders/capabilities.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { isAskedInVain, openConsole, signIn, startConsole } from './console.ts'
import { chooseOrigin, fillParcel, openDesk, uploadRows } from './desk.ts'

/** Starts both services with the named capabilities; lists responses that are no success. */
const start = async (t: Test, named: string, namedOfNotifier = named) => {
  const { url, ordersUrl, orders } = await startConsole(
    t,
    { capabilities: await loadCapabilities(ofOrders, named) },
    { capabilities: await loadCapabilities(ofNotifier, namedOfNotifier) },
  )
  const refused: string[] = []
  const watch = (page: Page) =>
    page.on('response', response => {
      if (response.status() >= 400 && !isAskedInVain(response.url()))
        refused.push(`${response.status()} ${response.url()}`)
    })
  return { url, deskUrl: `${ordersUrl}/desk/`, orders, refused, watch }
}
type Test = Parameters<typeof startConsole>[0]

const readMenu = async (page: Page): Promise<string[]> =>
  (await page.getByRole('navigation').getByRole('link').allInnerTexts()).map(text => text.trim())

const bookOne = async (page: Page): Promise<string> => {
  await page.getByRole('link', { name: 'Book a parcel' }).click()
  await chooseOrigin(page)
  await fillParcel(page)
  await page.getByLabel('COD').fill('1500')
  await page.getByRole('button', { name: 'Book and confirm' }).click()
  const link = page.locator('.notice a[href^="#/parcel/"]')
  await link.waitFor()
  return (await link.innerText()).trim()
}

const browser = await launchBrowser(t)
if (browser) {
  t.test('without capabilities a merchant books, confirms, cancels and tracks', async t => {
    const { deskUrl, refused, watch } = await start(t, 'none')
    const { open, problems } = await openDesk(t, browser, deskUrl)
    const page = await open()
    watch(page)
    t.strictSame(await readMenu(page), ['Upload', 'Book a parcel', 'Orders', 'Programs'])
    const waybill = await bookOne(page)
    await page.getByRole('link', { name: waybill }).click()
    await page.getByRole('heading', { name: 'Timeline' }).waitFor()
    await page.locator('.timeline strong', { hasText: 'CONFIRMED' }).waitFor()
    await page.getByRole('button', { name: 'Cancel the order' }).waitFor()
    for (const name of ['Change', 'Label (PDF)'])
      t.equal(await page.getByRole('button', { name, exact: true }).count(), 0, name)
    await showScreen(t, page, 'none-desk-parcel')
    await page.getByRole('link', { name: 'Upload' }).click()
    await uploadRows(page, 2)
    await page.getByRole('button', { name: /^Book 2 only as/ }).click()
    await page.getByRole('button', { name: 'Confirm all 2' }).click()
    await page.getByText('2 parcels: on their way to the pickup.').waitFor()
    t.equal(await page.getByRole('button', { name: 'Labels (PDF)' }).count(), 0)
    await showScreen(t, page, 'none-desk-booked')
    await page.getByRole('link', { name: 'Orders', exact: true }).click()
    await page.getByRole('checkbox').first().check()
    const chosen = page.getByRole('region', { name: 'Selected parcels' })
    t.strictSame(await chosen.getByRole('button').allInnerTexts(), ['Clear the selection', 'Cancel 1'])
    await chosen.getByRole('button', { name: 'Cancel 1' }).click()
    await chosen.getByRole('button', { name: 'Press again: cancelling 1 is final' }).click()
    await page.locator('tbody', { hasText: 'CANCELLED' }).waitFor()
    await showScreen(t, page, 'none-desk-orders')
    await page.getByRole('link', { name: 'Programs', exact: true }).click()
    await page.getByRole('heading', { name: 'Tokens for programs' }).waitFor()
    t.equal(await page.getByRole('heading', { name: 'People', exact: true }).count(), 0)
    for (const screen of ['money', 'failures', 'webhooks']) {
      await page.goto(`${deskUrl}#/${screen}`)
      await page.getByRole('heading', { name: 'Upload', exact: true }).waitFor()
    }
    t.strictSame([refused, problems], [[], []])
  })

  t.test('without capabilities staff find, move and scan parcels', async t => {
    const { url, deskUrl, refused, watch } = await start(t, 'none')
    const { open } = await openDesk(t, browser, deskUrl)
    const waybill = await bookOne(await open())
    const { page, problems } = await openConsole(t, browser, url)
    watch(page)
    await signIn(page)
    t.strictSame(await readMenu(page), ['Today', 'Orders', 'Messages', 'Scan', 'Channels', 'Templates', 'Merchants'])
    await page.getByRole('heading', { name: 'Sent per minute today' }).waitFor()
    t.equal(await page.getByRole('heading', { name: 'Unread messages' }).count(), 0)
    await showScreen(t, page, 'none-today')
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.getByRole('button', { name: 'PICKUP RIDER ASSIGNED' }).click()
    await page.locator('.timeline', { hasText: 'PICKUP RIDER ASSIGNED' }).waitFor()
    for (const name of ['Edit', 'Label (PDF)'])
      t.equal(await page.getByRole('button', { name, exact: true }).count(), 0)
    t.equal(await page.getByRole('heading', { name: 'Money' }).count(), 0)
    await page.locator('summary', { hasText: 'Take the last move back' }).click()
    await page.getByLabel('Reason').fill('Wrong parcel')
    await page.getByRole('button', { name: 'Take the last move back' }).click()
    await page.getByRole('button', { name: 'PICKUP RIDER ASSIGNED' }).waitFor()
    await showScreen(t, page, 'none-parcel')
    for (const step of ['PICKUP RIDER ASSIGNED', 'PICKED UP']) {
      await page.getByRole('button', { name: step, exact: true }).click()
      await page.locator('.timeline li').last().getByText(step, { exact: true }).waitFor()
    }
    await page.goto(`${url}#/scan`)
    await page.locator('#scan').fill(waybill)
    await page.keyboard.press('Enter')
    await page.locator('.scanned.good').waitFor()
    for (const step of [
      'DISPATCH TO ORIGIN WAREHOUSE',
      'RECEIVED AT DESTINATION WAREHOUSE',
      'ASSIGNED TO DESTINATION RIDER',
    ]) {
      await page.getByLabel('New status').selectOption({ label: step })
      await page.getByRole('button', { name: 'Move 1' }).click()
      await page.locator('tbody', { hasText: step }).waitFor()
    }
    await showScreen(t, page, 'none-scan')
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.locator('#template').selectOption({ label: 'order_out_for_delivery · en_US' })
    await page.getByRole('button', { name: 'Send' }).click()
    await page.locator('.notice.good').getByRole('link', { name: 'Queued' }).waitFor()
    // Where no money is booked, nobody asks who has the cash.
    await page.getByRole('button', { name: 'DELIVERED', exact: true }).click()
    await page.locator('.timeline li').last().getByText('DELIVERED', { exact: true }).waitFor()
    await showScreen(t, page, 'none-delivered')
    await page.locator('.notice.good').getByRole('link', { name: 'Queued' }).click()
    await page.locator('tbody', { hasText: 'order_out_for_delivery' }).waitFor()
    await page.goto(`${url}#/channels`)
    await page.getByRole('button', { name: 'Check' }).first().waitFor()
    t.equal(await page.getByRole('button', { name: 'Does messaging work?' }).count(), 0)
    await page.goto(`${url}#/orders`)
    await page.locator('tbody tr').first().waitFor()
    await showScreen(t, page, 'none-orders')
    await page.goto(`${url}#/merchants`)
    await page.getByText('Lanka Shoes', { exact: true }).waitFor()
    t.equal(await page.getByRole('link', { name: 'Missing rates' }).count(), 0)
    for (const screen of ['cash', 'conversations', 'failures', 'gaps', 'invoices']) {
      await page.goto(`${url}#/${screen}`)
      await page.getByRole('heading', { name: 'Today', exact: true }).waitFor()
    }
    t.strictSame([refused, problems], [[], []])
  })

  t.test('without books the console shows balances, and no statement', async t => {
    const { url, refused, watch } = await start(t, 'labels,money', 'none')
    const { page, problems } = await openConsole(t, browser, url)
    watch(page)
    await signIn(page)
    await page.goto(`${url}#/merchants/1`)
    await page.getByRole('region', { name: 'Balance' }).getByText('LKR 0').first().waitFor()
    await page.getByRole('heading', { name: 'Bank account' }).waitFor()
    t.equal(await page.getByRole('heading', { name: 'Statement of account' }).count(), 0)
    await showScreen(t, page, 'no-books-merchant')
    t.strictSame([refused, problems], [[], []])
  })

  t.test('some capabilities bring only their own buttons', async t => {
    const { url, deskUrl, refused, watch } = await start(t, 'labels,editing', 'timeline,inbox')
    const { open, problems: ofDesk } = await openDesk(t, browser, deskUrl)
    const desk = await open()
    watch(desk)
    t.strictSame(await readMenu(desk), ['Upload', 'Book a parcel', 'Orders', 'Programs'])
    const waybill = await bookOne(desk)
    await desk.getByRole('link', { name: waybill }).click()
    await desk.getByRole('button', { name: 'Change' }).click()
    await desk.getByLabel('Recipient').fill('Saman Silva')
    await desk.getByRole('button', { name: 'Save the change' }).click()
    await desk.getByText('Saman Silva').waitFor()
    const download = desk.waitForEvent('download')
    await desk.getByRole('button', { name: 'Label (PDF)' }).click()
    t.equal((await download).suggestedFilename(), `${waybill}.pdf`)
    const { page, problems } = await openConsole(t, browser, url)
    watch(page)
    await signIn(page)
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.locator('.timeline', { hasText: 'Changed: customer name' }).waitFor()
    for (const name of ['Edit', 'Label (PDF)'])
      t.equal(await page.getByRole('button', { name, exact: true }).count(), 1, name)
    for (const name of ['Money', 'Requests from customers']) t.equal(await page.getByText(name).count(), 0, name)
    await showScreen(t, page, 'some-parcel')
    t.strictSame([refused, problems, ofDesk], [[], [], []])
  })
}
