import { Secret, TOTP } from 'otpauth'
import type { Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { findFreePort } from '../dev/ports.ts'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { type Account, clientSecret, startProvider } from '../services/orders/test/provider.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { launchBrowser, showScreen } from './browser.ts'
import { openConsole, startConsole } from './console.ts'

// Two people walk to a provider and back several times.
t.setTimeout(300_000)

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

  interface Walker {
    readonly who: string
    readonly name: string
    readonly setActive: (isActive: boolean) => Promise<unknown>
    readonly refusal: string
    /** Is open when the person goes to the provider, and `shows` this. */
    readonly hash: string
    readonly shows: string
  }

  /** Signs in, out, in again, and is deactivated: once at the provider, once at work. */
  const walk = async (
    t: Test,
    face: string,
    address: string,
    { who, name, setActive, refusal, hash, shows }: Walker,
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
    await page.evaluate(`location.hash = '${hash}'`)
    await goToProvider(page)
    await setActive(false)
    await comeBack(page)
    await page.getByText(refusal).waitFor()
    await showScreen(t, page, `${face}-deactivated`)
    await setActive(true)
    await goToProvider(page)
    await comeBack(page)
    await page.getByText(name).waitFor()
    await page.locator(shows).waitFor()
    t.equal(page.url(), address + hash, 'what was open is open again')
    t.equal(await page.evaluate(`sessionStorage.getItem('courier.open')`), null, 'once')
    const deactivatedAt = Date.now()
    await setActive(false)
    const heading = page.getByRole('heading', { name: 'Sign in' })
    while (!(await heading.isVisible()) && Date.now() - deactivatedAt < 8_000) {
      await page.evaluate(`location.hash = '#/' + ['people', 'orders', 'access'][Math.floor(Math.random() * 3)]`)
      await page.waitForTimeout(200)
    }
    t.ok(await heading.isVisible())
    const seconds = (Date.now() - deactivatedAt) / 1000
    t.ok(seconds < 5, `out after ${seconds} s`)
    await goToProvider(page)
    await comeBack(page)
    await page.getByText(refusal).waitFor()
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
    const screen = { hash: '#/people', shows: 'a[href="#/people"][aria-current=page]' }
    const refusal = 'You are deactivated. Ask your admin.'
    await walk(t, 'console', url, { who: 'viewer', name: 'Saman Fernando', setActive, refusal, ...screen })
  })

  t.test("so does a merchant's person", async t => {
    const merchant = '/api/public/merchant'
    const login = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
    const { token } = (await orders.send('POST', `${merchant}/login`, login, { token: '' })).body
    const person = { name: 'Nimali', email: 'nimali@example.com', role: 'clerk' }
    const { id } = (await orders.send('POST', `${merchant}/person`, person, { token })).body.data
    const setActive = (is_active: boolean) => orders.send('PATCH', `${merchant}/person/${id}`, { is_active }, { token })
    const consent = { hash: '#/agent/x', shows: 'text=Connect the agent again.' }
    const refusal = 'You are deactivated. Ask an owner.'
    await walk(t, 'desk', `${ordersUrl}/desk/`, { who: 'nimali', name: 'Nimali', setActive, refusal, ...consent })
  })

  t.test('an invitation is accepted by the provider, or by a password', async t => {
    const { token } = await createTokenFor(orders.pool, { tenant: 'demo', staff: 'Operator' })
    const invite = async (name: string) => {
      const email = `${name.toLowerCase()}@courier.example`
      accounts[name] = { email, email_verified: true }
      const body = { name, email, roles: ['viewer'] }
      return (await orders.send('POST', '/api/staff/people', body, { token })).body.invitation.url as string
    }
    const link = await invite('Ruwan')
    const { page, problems } = await openConsole(t, browser, link)
    await page.locator('#new-password').waitFor()
    await page.getByRole('button', { name: 'Sign in with Example' }).waitFor()
    await showScreen(t, page, 'invitation')
    provider.state.who = 'Ruwan'
    await goToProvider(page)
    await comeBack(page)
    await page.getByText('Ruwan').waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.goto(link)
    await page.reload()
    await page.locator('#new-password').fill('a-password-of-tests')
    await page.getByRole('button', { name: 'Set your password' }).click()
    await page.getByText('does not work any more').waitFor()
    await orders.apply(tenantFile({ sign_in: { password: false } }))
    await page.goto(await invite('Kamala'))
    await page.reload()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByRole('button', { name: 'Sign in with Example' }).waitFor()
    t.equal(await page.locator('input, [type=submit]').count(), 0, 'the company has no passwords')
    await showScreen(t, page, 'invitation-provider')
    await orders.apply(tenantFile())
    t.strictSame(
      problems.filter(text => !text.includes('status of 422')),
      [],
    )
  })

  t.test("a merchant's person sets up a second factor in the desk, and an owner resets it", async t => {
    await orders.apply(tenantFile({ sign_in: { merchants: { second_factor: 'all' } } }))
    const person = { name: 'Kasun', email: 'kasun@example.com', role: 'clerk', password: 'a-password-of-tests' }
    const merchant = '/api/public/merchant'
    const login = { email: 'shop@example.com', password: 'lanka-shoes-demo' }
    const { token } = (await orders.send('POST', `${merchant}/login`, login, { token: '' })).body
    await orders.send('POST', `${merchant}/person`, person, { token })
    const logIn = async (given: { email: string; password: string }) => {
      const { page, problems } = await openConsole(t, browser, `${ordersUrl}/desk/`)
      await page.locator('#tenant').fill('demo')
      await page.locator('#email').fill(given.email)
      await page.locator('#password').fill(given.password)
      await page.keyboard.press('Enter')
      return { page, problems }
    }
    const { page } = await logIn(person)
    await page.getByRole('img', { name: 'QR code' }).waitFor()
    t.equal(await page.locator('.notice li').count(), 10)
    await showScreen(t, page, 'desk-second-factor')
    const secret = await page.locator('#secret').inputValue()
    await page.locator('#code').fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate())
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Kasun').waitFor()
    const { page: owner, problems } = await logIn(login)
    await owner.getByRole('link', { name: 'Programs and people' }).click()
    const row = owner.getByRole('row', { name: /Kasun/ })
    await row.getByRole('button', { name: 'Reset second factor' }).waitFor()
    await showScreen(t, owner, 'desk-people')
    await row.getByRole('button', { name: 'Reset second factor' }).click()
    await row.getByRole('button', { name: 'Press again to confirm' }).click()
    const count = async () => (await orders.rows('select from second_factors')).length
    for (let tries = 0; tries < 50 && (await count()) > 0; tries++) await owner.waitForTimeout(100)
    t.equal(await count(), 0)
    t.strictSame(problems, [])
    await orders.apply(tenantFile())
  })
}
