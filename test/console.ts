import { createServiceClient } from '@courier/shared/service-client.ts'
import { pino } from 'pino'
import type { Browser, Page } from 'playwright-core'
import type { Test } from 'tap'
import { findFreePort } from '../dev/ports.ts'
import { createOrdersClient } from '../services/notifier/core/orders-client/http-client.ts'
import { build as buildNotifier, serviceToken } from '../services/notifier/test/portal.ts'
import { addStaff } from '../services/orders/core/access/staff-commands.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { isError, openAddress } from './browser.ts'

const password = 'courier-demo'
const members = { admin: 'Dilani Perera', viewer: 'Saman Fernando' }
type Role = keyof typeof members

type OrdersSettings = NonNullable<Parameters<typeof buildOrders>[1]>
type NotifierSettings = NonNullable<Parameters<typeof buildNotifier>[4]>

/**
 * Starts both services in this process, each at an origin of its own, with staff and the simulator's templates.
 * Browsers reach them at the name `site`.
 */
export const startConsole = async (
  t: Test,
  ofOrders: OrdersSettings = {},
  ofNotifier: NotifierSettings = {},
  site = '127.0.0.1',
) => {
  const host = '127.0.0.1'
  const port = await findFreePort()
  const messages = createServiceClient({ baseUrl: `http://${host}:${port}`, serviceToken })
  const orders = await buildOrders(t, { serviceToken, portalOrigins: `http://${site}:${port}`, messages, ...ofOrders })
  const listening = await orders.app.listen({ host, port: Number(ofOrders.publicUrl?.split(':')[2] ?? 0) })
  const client = createOrdersClient({ url: listening, serviceToken, logger: pino({ level: 'silent' }) })
  const ordersUrl = listening.replace(host, site)
  t.teardown(() => client.close())
  const fixture = { wabaId: '102290129340398' }
  const notifier = await buildNotifier(t, undefined, client, fixture, { ordersPublicUrl: ordersUrl, ...ofNotifier })
  const url = `${(await notifier.app.listen({ host, port })).replace(host, site)}/portal/`
  await notifier.call('POST', '/api/templates/sync')
  for (const staff of ['Nimal', 'Sunil']) await createTokenFor(orders.pool, { tenant: 'demo', staff })
  for (const [role, name] of Object.entries(members))
    await addStaff(orders.pool, { tenant: 'demo', email: `${role}@courier.example`, name, role }, password)
  return { url, orders, ordersUrl, notifier }
}

interface Seen {
  /** Lists script errors, errors in the browser's console (such as breaches of the content policy), and dialogs. */
  readonly problems: string[]
  readonly urls: string[]
}

/** Is what the console asks of orders before anybody signs in: it learns from the 404 that passwords are all. */
export const isAskedInVain = (url: string): boolean => url.endsWith('/api/staff/sign-in/methods')

/** Opens a page of the console that records its problems and requests. */
export const openConsole = async (
  t: Test,
  browser: Browser,
  url: string,
  options: Parameters<Browser['newPage']>[0] & { language?: string } = {},
): Promise<{ page: Page } & Seen> => {
  const { language = 'en', ...of } = options
  const page = await browser.newPage({ viewport: { width: 1280, height: 844 }, ...of })
  t.teardown(() => page.close())
  const [problems, urls]: [string[], string[]] = [[], []]
  page.on('pageerror', error => problems.push(error.message))
  page.on('console', message => {
    if (isError(message) && !isAskedInVain(message.location().url)) problems.push(message.text())
  })
  page.on('dialog', dialog => {
    problems.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => urls.push(request.url()))
  await page.addInitScript(`localStorage.setItem('courier.language', '${language}')`)
  await openAddress(page, url)
  return { page, problems, urls }
}

export const signIn = async (page: Page, role: Role = 'admin'): Promise<void> => {
  await page.locator('#tenant').fill('demo')
  await page.locator('#email').fill(`${role}@courier.example`)
  await page.locator('#password').fill(password)
  await page.keyboard.press('Enter')
  await page.locator('.console:not([hidden])').waitFor()
}

/** Presses Tab until the focus is on the element, as a person without a mouse does. */
export const tabTo = async (page: Page, selector: string): Promise<void> => {
  for (let presses = 0; presses < 60; presses++) {
    if (await page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)})`)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`Tab does not reach ${selector}`)
}

/** Delivers the open parcel, whose COD `rider` has in cash. */
export const deliverFor = async (page: Page, rider = 'Nimal'): Promise<void> => {
  await page.getByRole('button', { name: 'DELIVERED', exact: true }).click()
  await page.getByLabel('Who has the cash').fill(rider)
  await page.getByRole('button', { name: 'Move to DELIVERED' }).click()
}
