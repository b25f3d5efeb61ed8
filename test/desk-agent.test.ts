import { hash } from 'node:crypto'
import type { Page } from 'playwright-core'
import t from 'tap'
import { launchBrowser } from './browser.ts'
import { startConsole } from './console.ts'
import { openDesk, press, showDesk, showInLanguages } from './desk.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { orders, ordersUrl } = await startConsole(t)
  const { open, problems } = await openDesk(t, browser, `${ordersUrl}/desk/`)
  const resource = `${ordersUrl}/mcp/demo`
  const redirect_uri = 'https://agent.example/callback'
  const verifier = 'v'.repeat(43)
  const post = async (path: string, body: URLSearchParams | string) => {
    const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
    const response = await fetch(`${resource}/${path}`, { method: 'POST', headers, body })
    return (await response.json()) as Record<string, string>
  }
  const registered = await post('register', JSON.stringify({ client_name: 'Claude', redirect_uris: [redirect_uri] }))
  const client_id = String(registered.client_id)
  const asked = {
    response_type: 'code',
    client_id,
    redirect_uri,
    code_challenge: hash('sha256', verifier, 'base64url'),
  }
  const link = `${resource}/authorize?${new URLSearchParams({ ...asked, code_challenge_method: 'S256', state: 'mine' })}`
  const takeBack = async (page: Page): Promise<URLSearchParams> => {
    await page.waitForURL(`${redirect_uri}?**`)
    return new URL(page.url()).searchParams
  }
  const openLink = async (page: Page, ...person: string[]): Promise<void> => {
    await page.route('https://agent.example/**', route => route.fulfill({ body: 'Back at the agent' }))
    await page.goto(link)
    if (!person[0]) return
    await page.getByLabel('Company').fill('demo')
    await page.getByLabel('E-mail').fill(person[0])
    await page.getByLabel('Password').fill(String(person[1]))
    await press(page, 'Sign in')
  }

  t.test('a person signs in, reads what the agent asks for, allows a part of it, and ends it in the desk', async t => {
    const page = await open()
    const context = page.context()
    const tab = await context.newPage()
    await openLink(tab, 'shop@example.com', 'lanka-shoes-demo')
    await tab.getByRole('heading', { name: 'Claude asks for access' }).waitFor()
    for (const text of ['Lanka Shoes', 'agent.example', 'Access goes to']) await tab.getByText(text).first().waitFor()
    await showDesk(t, tab, 'agent')
    await showInLanguages(t, tab, 'agent', 'dd')
    await tab.getByLabel('It may also quote').uncheck()
    await tab.getByLabel('For how long').selectOption('7')
    await press(tab, 'Allow')
    const back = await takeBack(tab)
    t.match([back.get('state'), back.get('iss')], ['mine', resource])
    const form = { grant_type: 'authorization_code', client_id, redirect_uri, code_verifier: verifier }
    const made = await post('token', new URLSearchParams({ ...form, code: String(back.get('code')) }))
    t.match(made, { scope: 'parcels.read', expires_in: 3600 })
    const token = String(made.access_token)
    t.equal((await orders.request('/order', undefined, { token })).status, 200)

    await page.getByRole('link', { name: 'Programs and people' }).click()
    await page.getByText(resource).waitFor()
    const row = page.getByRole('row').filter({ hasText: 'Claude' })
    await showDesk(t, page, 'agents')
    await row.getByRole('button', { name: 'Revoke' }).click()
    await row.getByRole('button', { name: 'Press again to confirm' }).click()
    await row.waitFor({ state: 'detached' })
    await tab.waitForTimeout(3_200)
    t.equal((await orders.request('/order', undefined, { token })).status, 401)
    await tab.close()
    await page.close()
  })

  t.test('a person refuses; a clerk and a broken link get a sentence', async t => {
    const page = await open()
    await openLink(page)
    await press(page, 'Refuse')
    t.equal((await takeBack(page)).get('error'), 'access_denied')
    const clerk = { name: 'Sunil Silva', email: 'sunil@example.com', role: 'clerk', password: 'sunil-the-clerk' }
    const { token } = (
      await orders.request('/login', { email: 'shop@example.com', password: 'lanka-shoes-demo' }, { token: '' })
    ).body
    await orders.request('/person', clerk, { token })
    const tab = await page.context().newPage()
    await openLink(tab, clerk.email, clerk.password)
    await press(tab, 'Allow')
    await tab.getByText('Ask an owner of the merchant').waitFor()
    for (const request of ['broken', btoa('{"name":"Claude"}')]) {
      await tab.goto(`${ordersUrl}/desk/#/`)
      await tab.goto(`${ordersUrl}/desk/#/agent/${request}`)
      await tab.getByText('Connect the agent again.').waitFor()
    }
    await tab.close()
    await page.close()
    t.strictSame(
      problems.filter(problem => !/403/.test(problem)),
      [],
    )
  })
}
