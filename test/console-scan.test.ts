import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import t from 'tap'
import { createTokenFor } from '../services/orders/core/access/token-commands.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth } from './browser.ts'
import { openConsole, signIn, startConsole, tabTo } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders, notifier } = await startConsole(t)
  /** This markup must appear as text, whatever its source. */
  const attack = '<img src=x onerror=alert(1)>'
  const newToken = 'EAA<b>secret-of-a-channel</b>9876'
  const staff = (await createTokenFor(orders.pool, { tenant: 'demo', staff: attack })).token
  const make = async (...fields: object[]): Promise<string[]> =>
    (await orders.bulk(batch(fields.map(each => order({ initial_status_key: 'key_2', ...each }))))).body.data
  const moveElsewhere = (waybill: string, status_key: string) =>
    orders.app.inject({
      method: 'POST',
      url: '/api/staff/order/status',
      headers: { authorization: `Bearer ${staff}`, 'x-tenant': 'demo' },
      payload: { waybill_numbers: [waybill], status_key, note: attack },
    })
  const readStatuses = async (waybills: string[]): Promise<string[]> => {
    const text = 'select status_key from orders where waybill_number = any($1) order by waybill_number'
    return (await orders.rows(text, [waybills])).map(({ status_key }: { status_key: string }) => status_key)
  }
  const openScan = async (options: Parameters<typeof openConsole>[3] = {}) => {
    const opened = await openConsole(t, browser, url, options)
    const { page } = opened
    await signIn(page)
    await page.addInitScript(`
      tones = []
      const start = OscillatorNode.prototype.start
      OscillatorNode.prototype.start = function (...times) {
        tones.push(this.frequency.value)
        return start.apply(this, times)
      }`)
    await page.goto(`${url}#/scan`)
    await page.reload()
    await page.locator('#scan:focus').waitFor()
    return opened
  }
  /** Enters a text; if `types`, key by key, as a barcode reader does. Returns the text that the page then shows. */
  const scan = async (page: Page, text: string, types = false): Promise<string> => {
    const before = await page.evaluate<number>('tones.length')
    if (types) await page.keyboard.type(text)
    else await page.locator('#scan').fill(text)
    await page.keyboard.press('Enter')
    // The page's content policy forbids the script of waitForFunction.
    while ((await page.evaluate<number>('tones.length')) === before) await page.waitForTimeout(10)
    await page.waitForTimeout(30)
    return (await page.locator('.scanned').textContent()) ?? ''
  }
  const [high, low] = [1320, 165]
  /** Leaves out the browser's messages about responses with 404 or 422, which the tests provoke. */
  const findErrors = (problems: string[]) => problems.filter(text => !/status of (404|422)/.test(text))
  const { page, problems, urls } = await openScan()

  t.test('scans and moves parcels without a mouse; names refused ones and leaves them out', async t => {
    const [first = '', second = '', third = ''] = await make({ customer_name: attack }, {}, {})
    t.match(await scan(page, first, true), /^✓ Accepted.*CONFIRMED/)
    t.match(await scan(page, `https://courier.example/t/demo/${second}`), `✓ Accepted ${second} CONFIRMED`)
    t.match(await scan(page, third, true), /^✓ Accepted/)
    t.match(await scan(page, third), /^✓ Accepted.*already in the list/, 'a repeated scan is no error')
    t.match(await scan(page, 'DM99999999'), /^✗ Refused.*No parcel has this number/)
    t.match(await scan(page, attack), `✗ Refused ${attack} This is not a waybill number of this company.`)
    t.strictSame(await page.evaluate('tones'), [high, high, high, high, low, low])
    t.match(await scan(page, `https://courier.example/t/other/${second}`), /^✗ Refused.*of this company/)
    t.match(await scan(page, first.toLowerCase()), `✓ Accepted ${first} It is already in the list.`)
    await tabTo(page, '#scan-status')
    await page.keyboard.press('ArrowDown')
    t.equal(await page.locator('#scan-status').inputValue(), 'key_3', 'the first move that the parcels may make')
    await page.locator('#scan-status').selectOption('key_5')
    await page.getByText('1 cannot be moved:').waitFor()
    await tabTo(page, '.notice button')
    await page.keyboard.press('Enter')
    await page.locator('#scan:focus').waitFor()
    await moveElsewhere(third, 'key_9')
    await tabTo(page, '#scan-note')
    await page.keyboard.type(attack)
    await tabTo(page, 'button.primary')
    await page.keyboard.press('Enter')
    await page
      .locator('.refused', { hasText: `${third} is key_9 RECEIVED TO ORIGIN WAREHOUSE: it may move to` })
      .waitFor()
    t.strictSame(await readStatuses([first, second, third]), ['key_2', 'key_2', 'key_9'], 'all or none')
    await tabTo(page, '.notice button')
    await page.keyboard.press('Enter')
    await tabTo(page, 'button.primary')
    await page.keyboard.press('Enter')
    await page.locator('tbody .badge', { hasText: 'PICKUP RIDER ASSIGNED' }).nth(1).waitFor()
    t.strictSame(await readStatuses([first, second, third]), ['key_5', 'key_5', 'key_9'])
    t.match((await page.locator('.scanned').textContent())?.trim(), /^✓ 2 moved to PICKUP RIDER ASSIGNED\s*$/)
    await page.getByRole('button', { name: 'Clear the list' }).click()
    await page.getByRole('button', { name: 'Press again: clear 2' }).waitFor()
    await page.locator('#scan').focus()
    await page.getByRole('button', { name: 'Clear the list' }).waitFor()
    await page.reload()
    await page.locator('tbody .badge', { hasText: 'PICKUP RIDER ASSIGNED' }).nth(1).waitFor()
    t.strictSame(
      await page.evaluate(
        `JSON.parse(Object.entries(sessionStorage).find(([key]) => key.startsWith('courier.scan'))[1])`,
      ),
      [first, second],
    )
    t.strictSame(findErrors(problems), [])
    t.notMatch(urls.join('\n'), /courier_|token/i)
  })

  t.test('a fast reader that ends with Tab loses nothing while responses arrive out of order', async t => {
    const waybills = await make({}, {}, {})
    const waits = [400, 200, 0]
    await page.route('**/api/staff/order/DM*', async route => {
      await page.waitForTimeout(waits.shift() ?? 0)
      await route.continue()
    })
    for (const waybill of waybills) {
      await page.keyboard.type(waybill)
      await page.keyboard.press('Tab')
    }
    await page.locator('tbody .badge', { hasText: 'CONFIRMED' }).nth(2).waitFor()
    t.match(await page.locator('.scanned').textContent(), waybills.at(-1), 'shows the waybill that was scanned last')
    t.equal(await page.evaluate('document.activeElement.id'), 'scan')
    await page.unroute('**/api/staff/order/DM*')
  })

  t.test(
    'a second scan of a number that no parcel has stays refused; a confirmed clearing empties the list',
    async t => {
      const { page: other } = await openScan()
      for (let scans = 0; scans < 2; scans++)
        t.match(await scan(other, 'DM99999999'), /^✗ Refused.*No parcel has this number/)
      await other.getByRole('button', { name: 'Clear the list' }).click()
      await other.getByRole('button', { name: 'Press again: clear 1' }).click()
      await other.getByText('Nothing has been scanned yet.').waitFor()
      await other.close()
    },
  )

  t.test('a move that is refused because of its reason code shows the reason', async t => {
    const [waybill = ''] = await make({})
    await orders.rows(`update orders set status_key = 'key_12' where waybill_number = $1`, [waybill])
    const { page: other } = await openScan()
    await scan(other, waybill)
    await other.locator('#scan-status').selectOption('key_15')
    await other.locator('#reason').selectOption('refused')
    await orders.rows(`update tenants set failure_reasons = '[{"code": "closed", "name": "Closed"}]'`)
    await other.getByRole('button', { name: /Move/ }).click()
    await other.getByText('The reason_code may be closed.').waitFor({ timeout: 10_000 })
    await orders.rows('update tenants set failure_reasons = null')
    t.strictSame(await readStatuses([waybill]), ['key_12'])
    await other.close()
  })

  t.test('labels and the run sheet of scanned parcels arrive as PDFs', async t => {
    for (const name of ['Labels (PDF)', 'Labels, four on A4', 'Run sheet (PDF)']) {
      const button = page.getByRole('button', { name, exact: true })
      const [download] = await Promise.all([page.waitForEvent('download'), button.click()])
      t.equal(
        readFileSync(await download.path())
          .subarray(0, 5)
          .toString(),
        '%PDF-',
        name,
      )
      t.match(download.suggestedFilename(), /\.pdf$/)
    }
  })

  t.test('checks and resumes a paused channel, and never shows its new token', async t => {
    await notifier.rows(`update channels set state = 'paused', paused_reason = $1, name = $1`, [attack])
    await page.goto(`${url}#/channels`)
    await page.getByText(attack).first().waitFor()
    await tabTo(page, 'button.primary')
    await page.keyboard.press('Enter')
    await page.locator('.badge.good', { hasText: 'Active' }).waitFor()
    t.match(await notifier.rows('select state from channels'), [{ state: 'active' }])
    await tabTo(page, 'details:has([id^=token]) > summary')
    await page.keyboard.press('Enter')
    await tabTo(page, '[id^=token]')
    await page.keyboard.type(newToken)
    await page.keyboard.press('Enter')
    await page.getByText('…9876').waitFor()
    t.equal(await page.locator('input[id^=token]').inputValue(), '')
    t.notMatch(await page.content(), 'secret-of-a-channel')
    await page.getByRole('button', { name: 'Check' }).click()
    await page.locator('.notice', { hasText: /The number can(not)? send/ }).waitFor()
    t.strictSame(findErrors(problems), [])
    t.notMatch(urls.join('\n'), /secret-of-a-channel|courier_/)
  })

  t.test('no screen has barriers or exceeds the window, and text from other people stays text', async t => {
    const waybills = await make({ customer_name: attack }, {})
    await orders.rows('update merchants set name = $1', [`${attack} & Sons`])
    await orders.rows('update businesses set name = $1', [attack])
    await orders.rows(`update cities set name = $1 where city_id = 3000`, [attack])
    await orders.rows('update tenants set version = version + 1')
    await orders.bulk(batch(Array(3).fill(order({ destination_city_id: 3000 }))))
    const components = JSON.stringify([{ type: 'BODY', text: `${attack} {{1}}` }])
    await notifier.rows('update templates set components = $1::jsonb', [components])
    const screens = {
      orders: 'tbody',
      channels: '.panel',
      templates: 'tbody',
      merchants: 'tbody',
      gaps: 'tbody',
      scan: 'tbody',
    }
    for (const { language, width, colorScheme } of [
      { language: 'en', width: 1280, colorScheme: 'light' as const },
      { language: 'si', width: 390, colorScheme: 'dark' as const },
    ]) {
      const { page, problems } = await openScan({ language, colorScheme, viewport: { width, height: 844 } })
      for (const waybill of [...waybills, 'DM99999999']) await scan(page, waybill)
      for (const [screen, content] of Object.entries(screens)) {
        await page.goto(`${url}#/${screen}`)
        await page.locator(content, { hasText: attack }).first().waitFor()
        t.strictSame(await findBarriers(page), [], `${screen} ${width}`)
        t.ok((await measureWidth(page)) <= width, `${screen} fits ${width} px`)
        if (process.env.SCREENSHOTS)
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/${screen}-${width}.png`, fullPage: true })
      }
      t.strictSame(findErrors(problems), [])
    }
  })
}
