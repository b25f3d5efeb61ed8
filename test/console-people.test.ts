import { Secret, TOTP } from 'otpauth'
import t from 'tap'
import { tenantFile } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders, ordersUrl } = await startConsole(t)
  const { page, problems } = await openConsole(t, browser, url)
  await signIn(page)
  const password = 'a-password-of-tests'
  let link = ''

  t.test('an admin adds a person and copies the link', async t => {
    await page.goto(`${url}#/people`)
    await page.locator('#member-name').fill('Ruwan Silva')
    await page.locator('#member-email').fill('ruwan@courier.example')
    await page.locator('#member-dispatcher').check()
    await page.getByRole('button', { name: 'Add and invite' }).click()
    link = await page.locator('#invitation').inputValue()
    t.match(link, new RegExp(`^${url}#/password/demo/`))
    await page.getByRole('row', { name: /Ruwan Silva.*dispatcher.*Invited/ }).waitFor()
    t.same(await findBarriers(page), [])
    t.ok(await measureWidth(page))
  })

  t.test('the person sets a password, signs in, and is signed out once deactivated', async t => {
    const { page: person, problems } = await openConsole(t, browser, link)
    await person.locator('#new-password').fill(password)
    t.notMatch(person.url(), /password/, 'the code leaves the address')
    t.same(await findBarriers(person), [])
    await person.getByRole('button', { name: 'Set your password' }).click()
    await person.getByText('Your password is set.').waitFor()
    await person.locator('#email').fill('ruwan@courier.example')
    await person.locator('#password').fill(password)
    await person.keyboard.press('Enter')
    await person.getByText('Ruwan Silva').waitFor()
    t.equal(await person.getByRole('link', { name: 'People' }).count(), 1, 'own sessions')
    t.same(problems, [])
    await page.reload()
    await page
      .getByRole('row', { name: /Ruwan Silva/ })
      .getByRole('button', { name: 'Deactivate' })
      .click()
    await page
      .getByRole('row', { name: /Ruwan Silva/ })
      .getByRole('button')
      .first()
      .click()
    await page.getByRole('row', { name: /Ruwan Silva.*Deactivated/ }).waitFor()
    await new Promise(resolve => setTimeout(resolve, 3_200))
    await person.goto(`${url}#/orders`)
    await person.getByRole('heading', { name: 'Sign in' }).waitFor()
    await person.goto(link)
    await person.reload()
    await person.locator('#new-password').fill(password)
    await person.getByRole('button', { name: 'Set your password' }).click()
    await person.getByText('does not work any more').waitFor()
  })

  t.test('a second factor is set up at the next sign-in', async t => {
    await orders.apply(tenantFile({ sign_in: { second_factor: 'all' } }))
    const { page: person } = await openConsole(t, browser, url)
    for (const [field, value] of [
      ['tenant', 'demo'],
      ['email', 'viewer@courier.example'],
      ['password', 'courier-demo'],
    ])
      await person.locator(`#${field}`).fill(value ?? '')
    await person.keyboard.press('Enter')
    const secret = await person.locator('#secret').inputValue()
    await person.getByRole('img', { name: 'QR code' }).waitFor()
    t.same(await findBarriers(person), [])
    await person.locator('#code').fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate())
    await person.getByRole('button', { name: 'Sign in' }).click()
    await person.getByText('Saman Fernando').waitFor()
    await orders.apply(tenantFile())
  })

  t.test("an owner invites a merchant's person without a password", async t => {
    const { page: desk, problems } = await openConsole(t, browser, `${ordersUrl}/desk/`)
    await desk.locator('#tenant').fill('demo')
    await desk.locator('#email').fill('shop@example.com')
    await desk.locator('#password').fill('lanka-shoes-demo')
    await desk.keyboard.press('Enter')
    await desk.getByRole('link', { name: 'Programs and people' }).click()
    await desk.locator('#person-name').fill('Nimali')
    await desk.locator('#person-email').fill('nimali@example.com')
    await desk.getByRole('button', { name: 'Add the person' }).click()
    const link = await desk.locator('#invitation').inputValue()
    await desk.goto(link)
    await desk.reload()
    await desk.locator('#new-password').fill(password)
    await desk.getByRole('button', { name: 'Set your password' }).click()
    await desk.locator('#email').fill('nimali@example.com')
    await desk.locator('#password').fill(password)
    await desk.keyboard.press('Enter')
    await desk.getByText('Nimali').waitFor()
    t.same(problems, [])
  })

  t.test('no page had a problem', async t => t.same(problems, []))
}
