import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { findFreePort } from '../dev/ports.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { type Account, clientSecret, startProvider } from '../services/orders/test/provider.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { openConsole, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const publicUrl = `http://127.0.0.1:${await findFreePort()}`
  const accounts: Record<string, Account> = {
    viewer: { email: 'viewer@courier.example', email_verified: true },
    nimali: { email: 'nimali@example.com', email_verified: true },
  }
  const redirectUri = `${publicUrl}/api/public/sign-in/callback`
  // Another site than the pages: the way there and back changes Chromium's browsing context group.
  const provider = await startProvider(t, () => redirectUri, accounts, 'localhost')
  const describe = (of: 'staff' | 'merchants') => ({
    ...{ id: of, name: 'Example', issuer: provider.issuer, client_id: 'courier', client_secret: clientSecret },
    ...{ tenants: ['demo'], for: of },
  })
  const signInProviders = JSON.stringify([describe('staff'), describe('merchants')])
  const { url, orders, ordersUrl } = await startConsole(t, { publicUrl, signInProviders })
  const goToProvider = async (page: Page) => {
    // The provider keeps its own session, and would ask nothing the second time.
    await page.context().clearCookies({ domain: 'localhost' })
    await page.getByRole('button', { name: 'Sign in with Example' }).click()
    await page.getByRole('button', { name: 'Continue' }).waitFor()
  }
  const comeBack = (page: Page) => page.getByRole('button', { name: 'Continue' }).click()

  /** Signs in, out, in again, and is deactivated: once at the provider, once at work. */
  const walk = async (
    t: Test,
    face: string,
    address: string,
    { who, name, setActive }: { who: string; name: string; setActive: (isActive: boolean) => Promise<unknown> },
  ) => {
    const { page, problems, urls } = await openConsole(t, browser, address)
    provider.state.who = who
    await page.locator('#tenant').fill('demo')
    await page.locator('#tenant').blur()
    await page.getByRole('button', { name: 'Sign in with Example' }).waitFor()
    await showScreen(t, page, `${face}-provider`)
    await goToProvider(page)
    t.match(page.url(), /^http:\/\/localhost:/)
    await comeBack(page)
    await page.getByText(name).waitFor()
    t.equal(page.url().split('#')[0], address, 'at the page that began')
    t.notMatch(page.url(), /provider/, 'the code leaves the address')
    await page.reload()
    await page.getByText(name).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await goToProvider(page)
    await setActive(false)
    await comeBack(page)
    await page.getByText('You are deactivated. Ask your admin.').waitFor()
    await showScreen(t, page, `${face}-deactivated`)
    await setActive(true)
    await goToProvider(page)
    await comeBack(page)
    await page.getByText(name).waitFor()
    const deactivatedAt = Date.now()
    await setActive(false)
    const heading = page.getByRole('heading', { name: 'Sign in' })
    while (!(await heading.isVisible()) && Date.now() - deactivatedAt < 8_000) {
      await page.locator('nav a').first().click()
      await page.locator('nav a').nth(1).click()
      await page.waitForTimeout(200)
    }
    t.ok(await heading.isVisible())
    const seconds = (Date.now() - deactivatedAt) / 1000
    t.ok(seconds < 5, `out after ${seconds} s`)
    await goToProvider(page)
    await comeBack(page)
    await page.getByText('You are deactivated. Ask your admin.').waitFor()
    // Chromium reports the requests that a deactivated person still sends.
    t.strictSame(
      problems.filter(text => !text.includes('status of 401')),
      [],
    )
    t.notOk(
      urls.some(each => /[?&](token|browser)=/.test(each)),
      'no secret in an address',
    )
  }

  t.test('a member of staff signs in by the provider, out, and is deactivated', async t => {
    const { token } = await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Operator' })
    const [{ id }] = await orders.rows(`select staff_id as id from staff where email = 'viewer@courier.example'`)
    const setActive = (is_active: boolean) => orders.send('PATCH', `/api/staff/people/${id}`, { is_active }, { token })
    await walk(t, 'console', url, { who: 'viewer', name: 'Saman Fernando', setActive })
  })

  t.test("so does a merchant's person", async t => {
    const merchant = '/api/public/merchant'
    const login = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
    const { token } = (await orders.send('POST', `${merchant}/login`, login, { token: '' })).body
    const person = { name: 'Nimali', email: 'nimali@example.com', role: 'clerk' }
    const { id } = (await orders.send('POST', `${merchant}/person`, person, { token })).body.data
    const setActive = (is_active: boolean) => orders.send('PATCH', `${merchant}/person/${id}`, { is_active }, { token })
    await walk(t, 'desk', `${ordersUrl}/desk/`, { who: 'nimali', name: 'Nimali', setActive })
  })
}
