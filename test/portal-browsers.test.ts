import type { Page } from 'playwright-core'
import t from 'tap'
import { batch, order } from '../services/orders/test/tenant.ts'
import { launchBrowser, launchWithoutStorage, showScreen } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'
import { chooseOrigin, fillParcel, openDesk } from './desk.ts'

// Two Chromiums and two pairs of services start.
t.setTimeout(180_000)

const site = 'shop.lan'
const browser = await launchBrowser(t)

/** Fills in the form of the desk or the console. */
const logIn = async (page: Page, email: string, password: string): Promise<void> => {
  for (const [id, value] of Object.entries({ tenant: 'demo', email, password }))
    await page.locator(`#${id}`).fill(value)
  await page.keyboard.press('Enter')
  await page.locator('.console:not([hidden])').waitFor()
}
let booked = 0
/** Books a parcel unlike those before: the form stops once at a second one for the same phone. */
const bookOne = async (page: Page): Promise<void> => {
  await page.getByRole('link', { name: 'Book a parcel' }).click()
  await chooseOrigin(page)
  await fillParcel(page)
  await page.getByLabel('Phone', { exact: true }).fill(`07710000${10 + booked++}`)
  await page.getByLabel('COD').fill('1500')
  await page.getByRole('button', { name: 'Book and confirm' }).click()
  await page.locator('.notice a[href^="#/parcel/"]').waitFor()
}

if (browser) {
  const { url, orders, ordersUrl } = await startConsole(t, {}, {}, site)
  const desk = `${ordersUrl}/desk/`
  const [waybill = '', other = ''] = (await orders.bulk(batch([order({ initial_status_key: 'key_2' }), order()]))).body
    .data

  t.test('where the browser stores nothing, both faces work and say what is lost', async t => {
    const context = await launchWithoutStorage(t)
    // The services of this test have the name that only the other browser resolves.
    const local = await startConsole(t)
    const page = await context.newPage()
    const problems: string[] = []
    page.on('pageerror', error => problems.push(error.message))
    await page.goto(`${local.ordersUrl}/desk/`)
    t.equal(
      await page.evaluate(`(() => { try { return String(localStorage) } catch (e) { return e.name } })()`),
      'SecurityError',
    )
    await page.getByText('This browser does not let the page store anything').waitFor()
    await showScreen(t, page, 'no-storage-sign-in')
    await page.setViewportSize({ width: 1280, height: 844 })
    await logIn(page, 'shop@example.com', 'lanka-shoes-demo')
    await page.getByText('An upload must be stored in the browser').waitFor()
    await showScreen(t, page, 'no-storage-upload')
    await bookOne(page)
    await page.goto(local.url)
    await logIn(page, 'admin@courier.example', 'courier-demo')
    await page.getByRole('link', { name: 'Scan' }).click()
    await page.locator('#scan').fill('DM00000001')
    await page.keyboard.press('Enter')
    await page.locator('.scanned.good').waitFor()
    t.strictSame(problems, [])
  })

  t.test('on plain http in a local network staff and merchants work; an upload says what it needs', async t => {
    const { open, problems } = await openDesk(t, browser, desk)
    const page = await open()
    t.equal(await page.evaluate('isSecureContext || "locks" in navigator || "randomUUID" in crypto'), false)
    await page.getByText('An upload needs an address that begins with https').waitFor()
    await showScreen(t, page, 'lan-upload')
    await bookOne(page)
    const { page: console, problems: ofConsole } = await openConsole(t, browser, url)
    await signIn(console)
    await console.goto(`${url}#/scan`)
    await console.locator('#scan').fill(waybill)
    await console.keyboard.press('Enter')
    await console.locator('.scanned.good').waitFor()
    await console.getByLabel('New status').selectOption('key_5')
    await console.getByRole('button', { name: 'Move 1' }).click()
    await console.locator('tbody', { hasText: 'PICKUP RIDER ASSIGNED' }).waitFor()
    // Chromium warns that it ignores a header of plain http.
    const own = [...problems, ...ofConsole].filter(text => !text.includes('Cross-Origin-Opener-Policy'))
    t.strictSame(own, [])
  })

  const younger = `for (const [of, names] of [[Map, ['groupBy']], [Object, ['groupBy']], [AbortSignal, ['any']],
    [Array, ['fromAsync']], [Array.prototype, ['toSorted', 'toReversed', 'toSpliced', 'with']],
    [Promise, ['withResolvers']], [URL, ['canParse']]])
      for (const name of names) delete of[name]
    delete window.BroadcastChannel`
  t.test('the oldest browsers lack nothing that the pages use', async t => {
    const context = await browser.newContext()
    t.teardown(() => context.close())
    await context.addInitScript(younger)
    const problems: string[] = []
    const open = async (address: string, email: string, password: string) => {
      const page = await context.newPage()
      page.on('pageerror', error => problems.push(error.message))
      await page.goto(address)
      await logIn(page, email, password)
      return page
    }
    const page = await open(url, 'admin@courier.example', 'courier-demo')
    for (const screen of ['orders', 'scan', 'channels', 'conversations', `parcel/${waybill}`]) {
      await page.goto(`${url}#/${screen}`)
      await page.locator('main .panel').first().waitFor()
      await page.waitForTimeout(300)
    }
    await page.goto(`${url}#/orders`)
    await page.getByLabel(other).check()
    await page.getByText('Selected: 1').waitFor()
    await bookOne(await open(desk, 'shop@example.com', 'lanka-shoes-demo'))
    t.strictSame(problems, [])
  })

  t.test('a browser that lacks what the page needs is told so, in three languages', async t => {
    const page = await browser.newPage()
    t.teardown(() => page.close())
    await page.addInitScript('delete Object.hasOwn; delete window.DecompressionStream')
    for (const [face, address] of Object.entries({ console: url, desk })) {
      await page.goto(address)
      await page.getByText('This browser is too old').waitFor()
      const text = (await page.locator('#late').textContent()) ?? ''
      t.match(text, /Object\.hasOwn, DecompressionStream/, face)
      t.match(text, /Chrome.* 109.*Firefox.* 115.*Safari.* 16\.4/s, face)
      t.equal(await page.locator('#late [lang=si], #late [lang=ta]').count(), 2, face)
      await showScreen(t, page, `too-old-${face}`)
    }
  })

  t.test('a page whose file is lost while the network changes loads again by itself', async t => {
    for (const [lost, address] of [
      ['kit/shell.js', url],
      ['settings.json', desk],
      ['texts/en.js', `${ordersUrl}/rider/`],
    ] as const) {
      const context = await browser.newContext({ locale: 'en-GB', serviceWorkers: 'block' })
      t.teardown(() => context.close())
      await context.route(`**/${lost}`, route => route.abort('connectionaborted'), { times: 1 })
      const page = await context.newPage()
      await page.goto(address)
      await page.locator('#tenant').waitFor()
      t.equal(await page.locator('#late').count(), 0, lost)
    }
  })

  t.test('a parcel that a person opens in another tab keeps the session, and nothing else does', async t => {
    const context = await browser.newContext()
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.goto(url)
    await logIn(page, 'admin@courier.example', 'courier-demo')
    await page.goto(`${url}#/orders`)
    const link = page.getByRole('link', { name: waybill })
    for (const options of [{ modifiers: ['Control' as const] }, { button: 'middle' as const }]) {
      const opening = context.waitForEvent('page')
      await link.click(options)
      const tab = await opening
      await tab.getByRole('heading', { name: waybill }).waitFor()
      await tab.getByRole('button', { name: 'Sign out' }).waitFor()
      t.notMatch(tab.url(), /courier_/)
      await tab.reload()
      await tab.getByRole('button', { name: 'Sign out' }).waitFor()
      await tab.close()
    }
    // The menu of the link opens a tab without a click on the link.
    await link.click({ button: 'right' })
    const tab = await context.newPage()
    await tab.goto(`${url}#/parcel/${waybill}`)
    await tab.getByRole('button', { name: 'Sign out' }).waitFor()
    await tab.close()
    const stranger = await context.newPage()
    for (const address of [`${url}#/parcel/${waybill}`, `${url}#/orders`, url]) {
      await stranger.goto(address)
      await stranger.reload()
      await stranger.locator('#password').waitFor()
    }
    await link.click({ button: 'right' })
    await page.keyboard.press('Escape')
    await stranger.goto(`${url}#/parcel/${other}`)
    await stranger.reload()
    await stranger.locator('#password').waitFor()
  })
}
