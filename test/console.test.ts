import t, { type Test } from 'tap'
import { serviceToken } from '../services/notifier/test/portal.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth } from './browser.ts'
import { openConsole, signIn, startConsole, tabTo } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders, ordersUrl, notifier } = await startConsole(t)
  /** This markup must appear as text, whatever its source. */
  const attack = '<img src=x onerror=alert(1)>'
  const texts = { customer_name: attack, customer_address: attack, description: attack, remark: attack }
  const booked = await orders.bulk(
    batch([
      order({ order_no: 'LS-1' }),
      order({ order_no: attack, customer_phone: '0770000102', ...texts }),
      order({ order_no: 'LS-3', customer_phone: '0770000103' }),
    ]),
  )
  const [first, attacked, third] = booked.body.data as [string, string, string]
  await notifier.rows(
    `update templates set components = jsonb_build_array(jsonb_build_object('type', 'BODY', 'text', $1::text))
      where name = 'order_cancelled'`,
    [`Hello {{1}}, ${attack} {{2}}`],
  )
  const ask = (waybill: unknown, action: string) =>
    orders.app.inject({
      method: 'POST',
      url: '/internal/customer-actions',
      headers: { authorization: `Bearer ${serviceToken}` },
      payload: {
        tenant: 'demo',
        actions: [{ id: `${waybill} ${action}`, waybill_number: waybill, action, happened_at: '2026-02-19T19:06:23Z' }],
      },
    })
  const countMessages = async (waybill: unknown) =>
    (await notifier.rows('select count(*)::int from messages where waybill_number = $1', [waybill]))[0].count
  const writeOption = (name: string) => `${name} · en_US`
  /** Checks that the page has no problems, no address contains a secret, and only the services get requests. */
  const checkSeen = (t: Test, { problems, urls }: { problems: string[]; urls: string[] }) => {
    t.strictSame(problems, [])
    t.notMatch(urls.join('\n'), /courier_|token|password/i, 'no secret in an address')
    const origins = new Set(urls.map(each => new URL(each).origin))
    t.strictSame(
      [...origins].filter(origin => origin !== ordersUrl && !url.startsWith(origin) && origin !== 'null'),
      [],
    )
  }

  /** Serves the tests below that follow a person through a morning. */
  const session = await openConsole(t, browser, url)

  t.test('a person signs in, finds a parcel and sends a message without a mouse', async t => {
    const { page } = session
    await page.locator('#email').fill('admin@courier.example')
    await page.locator('#password').fill('wrong-password')
    await page.locator('#tenant').fill('demo')
    await page.keyboard.press('Enter')
    await page.locator('.error').waitFor()
    t.equal(await page.evaluate('sessionStorage.length'), 0, 'a wrong password stores no session')
    await page.evaluate(`sessionStorage.setItem('courier', '{')`)
    await page.route('**/settings.json', route => route.fulfill({ status: 502, body: 'Bad gateway' }))
    await Promise.all([page.waitForEvent('pageerror'), page.reload()])
    t.match(await page.locator('body').innerText(), 'reload the page', 'the page is not empty while a service is down')
    await page.unroute('**/settings.json')
    session.problems.length = 0
    await page.reload()
    await page.locator('#tenant:focus').waitFor()
    for (const text of ['demo', 'admin@courier.example', 'courier-demo']) {
      await page.keyboard.type(text)
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.locator('h1:focus', { hasText: 'Today' }).waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('077 000 0101')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: first }).waitFor()
    await tabTo(page, `a[href="#/parcel/${first}"]`)
    await page.keyboard.press('Enter')
    await page.locator('h1:focus', { hasText: first }).waitFor()
    await page.locator('#template').waitFor()
    await tabTo(page, '#template')
    await page.keyboard.type('order_out')
    await page.locator('.preview .bubble', { hasText: `Hello Nimali Perera, your parcel ${first}` }).waitFor()
    await page.locator('.notice', { hasText: 'Leaves now' }).waitFor()
    await tabTo(page, 'button[type=submit]')
    await page.keyboard.press('Enter')
    await page.locator('#message:focus').waitFor()
    await page.locator('.timeline', { hasText: 'order_out_for_delivery' }).waitFor()
    t.equal(await countMessages(first), 1)
    checkSeen(t, session)
  })

  t.test('a double click, and a repetition after a lost response, send once', async t => {
    const { page } = session
    await page.goto(`${url}#/parcel/${third}`)
    const send = page.getByRole('button', { name: 'Send' })
    const fill = async (template = 'order_delivered') => {
      await page.locator('#template').selectOption(writeOption(template))
      await page.locator('.preview .bubble').waitFor()
    }
    const loseResponse = async () => {
      await page.route('**/api/messages', async route => {
        await route.fetch()
        await route.abort()
      })
      await fill()
      await send.click()
      await page.getByText('The service cannot be reached').waitFor()
      await page.unroute('**/api/messages')
    }
    const sendQueued = async () => {
      await send.click()
      await page.getByText('Queued. Follow it in the timeline.').waitFor()
    }
    await fill()
    await send.dblclick()
    await page.getByText('Queued. Follow it in the timeline.').waitFor()
    t.equal(await countMessages(third), 1)
    await loseResponse()
    await sendQueued()
    t.equal(await countMessages(third), 2, 'the second message is sent once')
    await loseResponse()
    await fill('order_out_for_delivery')
    await sendQueued()
    await fill()
    await sendQueued()
    t.equal(await countMessages(third), 4, 'so is the third, with another message in between')
    session.problems.length = 0
  })

  t.test('text from other people stays text, and screens have no barriers, in dark mode and on a phone', async t => {
    await ask(attacked, 'call_me')
    const screens = ['#/today', '#/find?q=Lanka', `#/parcel/${attacked}`]
    for (const { language, width, colorScheme } of [
      { language: 'en', width: 1280, colorScheme: 'dark' as const },
      { language: 'ta', width: 390, colorScheme: 'light' as const },
    ]) {
      const options = { language, colorScheme, viewport: { width, height: 844 } }
      const { page, ...seen } = await openConsole(t, browser, url, options)
      t.strictSame(await findBarriers(page), [], 'axe finds nothing serious on the sign-in form')
      await signIn(page)
      for (const screen of screens) {
        await page.goto(url + screen)
        await page
          .locator('main')
          .getByText(screen === '#/today' ? String(attacked) : 'Lanka Shoes Online')
          .first()
          .waitFor()
        if (screen.includes('parcel')) {
          await page.locator('#template').selectOption(writeOption('order_cancelled'))
          for (const field of await page.locator('[id^=parameter-]').all()) await field.fill(attack)
          await page.locator('.preview .bubble', { hasText: attack }).waitFor()
          await page.getByText(attack).nth(5).waitFor()
        }
        t.equal(await page.locator('#app img').count(), 0)
        if (language === 'ta' || !screen.includes('find'))
          t.strictSame(await findBarriers(page), [], `${screen} ${width} ${language}`)
        const widest = await measureWidth(page)
        t.ok(widest <= width, `${screen}: ${widest} fits ${width}`)
        const { SCREENSHOTS: folder } = process.env
        const name = screen.replaceAll(/\W+/g, '-')
        if (folder) await page.screenshot({ path: `${folder}/console${name}-${width}.png`, fullPage: true })
      }
      checkSeen(t, seen)
    }
  })

  t.test('moves a parcel and decides on a request, and changes elsewhere leave the focus where it is', async t => {
    const { page } = session
    await page.goto(`${url}#/parcel/${third}`)
    await page.getByLabel('Note', { exact: true }).fill(attack)
    await page.getByRole('button', { name: 'CONFIRMED' }).click()
    await page.locator('h1 ~ .badge', { hasText: 'CONFIRMED' }).waitFor()
    await page.locator('.timeline', { hasText: attack }).waitFor()
    await ask(third, 'reschedule')
    await page.getByLabel('Note', { exact: true }).focus()
    await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await page.getByText('Another day', { exact: true }).waitFor()
    t.equal(await page.evaluate(`document.activeElement.getAttribute('aria-label')`), 'Note')
    await page.goto(`${url}#/today`)
    const row = page.getByRole('row', { name: third })
    await row.getByRole('textbox').fill('Tomorrow after 4 pm')
    await row.getByRole('button', { name: 'Accept' }).click()
    await row.waitFor({ state: 'detached' })
    t.match(await orders.rows('select status, note from customer_actions where waybill_number = $1', [third]), [
      { status: 'accepted', note: 'Tomorrow after 4 pm' },
    ])
    checkSeen(t, session)
  })

  t.test('an ended session leads to the sign-in form, and the open screen is kept', async t => {
    const { page } = session
    await page.goto(`${url}#/parcel/${first}`)
    await page.getByLabel('Note', { exact: true }).fill('half written')
    await page.route('**/api/staff/order/status', route =>
      route.fulfill({ status: 401, json: { message: 'Unauthenticated.' } }),
    )
    await page.getByRole('button', { name: 'CONFIRMED' }).click()
    await page.getByText('Your session has ended').waitFor()
    t.equal(await page.evaluate('sessionStorage.length'), 0)
    await page.locator('#password').fill('courier-demo')
    await page.keyboard.press('Enter')
    await page.locator('.console:not([hidden])').waitFor()
    t.equal(await page.getByLabel('Note', { exact: true }).inputValue(), 'half written')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.locator('#password').waitFor()
    t.equal(await page.locator('.console').count(), 0)
  })

  t.test(
    'the company signs in by its id in any letter case, and the search finds people by a part of the name',
    async t => {
      await orders.bulk(batch([order({ customer_name: 'Zoë Đặng'.normalize('NFD'), customer_phone: '0770000177' })]))
      const { page, problems } = await openConsole(t, browser, url)
      await page.locator('#tenant').fill(' Demo ')
      await page.locator('#email').fill('admin@courier.example')
      await page.locator('#password').fill('courier-demo')
      await page.keyboard.press('Enter')
      await page.locator('h1:focus', { hasText: 'Today' }).waitFor()
      await page.goto(`${url}#/find?q=${encodeURIComponent('zoë đặ'.normalize('NFC'))}`)
      await page.locator('main tbody tr', { hasText: '0770000177' }).waitFor()
      t.equal(await page.locator('main tbody tr').count(), 1)
      t.match(await page.locator('main section').innerText(), /^Customer\s+1\s/)
      t.strictSame(problems, [])
    },
  )

  t.test('a company name that a header cannot hold counts as wrong', async t => {
    const { page } = await openConsole(t, browser, url)
    await page.locator('#tenant').fill('කූරියර්')
    await page.locator('#email').fill('admin@courier.example')
    await page.locator('#password').fill('courier-demo')
    await page.keyboard.press('Enter')
    t.match(await page.locator('.error').innerText(), /^The company, the e-mail address or the password is wrong/)
  })

  t.test('a viewer gets no buttons that change anything', async t => {
    const { page, ...seen } = await openConsole(t, browser, `${url}#/parcel/${first}`)
    await signIn(page, 'viewer')
    await page.locator('.timeline li').first().waitFor()
    t.strictSame(await page.locator('main button').allInnerTexts(), ['Copy tracking link'])
    checkSeen(t, seen)
  })
}
