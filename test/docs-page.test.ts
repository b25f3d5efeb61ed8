import type { Page } from 'playwright-core'
import t from 'tap'
import { build as buildNotifier } from '../services/notifier/test/portal.ts'
import { build as buildOrders } from '../services/orders/test/build.ts'
import { findBarriers, launchBrowser, measureWidth, openPage } from './browser.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { app: orders, token, rows } = await buildOrders(t)
  const { app: notifier } = await buildNotifier(t)
  const urls = {
    orders: await orders.listen({ host: '127.0.0.1', port: 0 }),
    notifier: await notifier.listen({ host: '127.0.0.1', port: 0 }),
  }

  const shoot = async (page: Page, name: string) => {
    if (process.env.SCREENSHOTS)
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}.png`, fullPage: true })
  }

  // The other pages differ only in their operations.
  const pages = [
    `${urls.orders}/`,
    `${urls.orders}/docs/merchants`,
    `${urls.orders}/docs/internal`,
    `${urls.notifier}/docs/staff/`,
  ]
  for (const url of pages)
    t.test(`${new URL(url).pathname} on port ${new URL(url).port} works at 1280 and 390 pixels`, async t => {
      const { page, problems } = await openPage(t, browser, url)
      const { port, pathname } = new URL(url)
      const isList = pathname === '/'
      const service = port === new URL(urls.orders).port ? 'orders' : 'notifier'
      const checkLayout = async (width: number) => {
        await page.setViewportSize({ width, height: 844 })
        const widest = await measureWidth(page)
        t.ok(widest <= width, `${widest} px fit`)
        await shoot(page, `${service}${pathname.replaceAll('/', '-')}-${width}`)
        if (isList || width === 1280) t.strictSame(await findBarriers(page), [], 'axe finds nothing serious')
      }
      if (!isList) await page.locator('.opblock-summary').first().waitFor()
      for (const width of [1280, 390]) await checkLayout(width)
      if (!isList) {
        await page.locator('.opblock-summary').first().click()
        await page.locator('.opblock-body').first().waitFor()
        t.strictSame(await findBarriers(page), [], 'axe finds nothing serious in an open request')
        await shoot(page, `${service}${pathname.replaceAll('/', '-')}-open`)
      }
      t.strictSame(problems, [])
    })

  t.test('Authorize accepts one token, in its focused field, and a request that books asks first', async t => {
    const { page } = await openPage(t, browser, `${urls.orders}/docs/merchants`)
    await page.locator('.btn.authorize').click()
    t.equal(await page.locator('.dialog-ux input').count(), 1)
    await page.locator('.dialog-ux input:focus').waitFor()
    await page.keyboard.type(token)
    await page.keyboard.press('Enter')
    t.match(await page.locator('.dialog-ux').innerText(), /Logout/)
    await page.locator('.dialog-ux .btn-done').click()
    const bulk = page.locator('.opblock', { hasText: '/order/bulk' })
    await bulk.locator('.opblock-summary').click()
    await bulk.getByRole('button', { name: 'Try it out' }).click()
    const execute = async (accept: boolean): Promise<string> => {
      const asked = new Promise<string>(resolve =>
        page.once('dialog', async dialog => {
          await (accept ? dialog.accept() : dialog.dismiss())
          resolve(dialog.message())
        }),
      )
      await bulk.getByRole('button', { name: 'Execute' }).click()
      return asked
    }
    const count = async () => (await rows('select count(*)::int as orders from orders'))[0]
    t.match(await execute(false), /This request is real.*\n\nPOST .*\/order\/bulk/)
    t.equal(await bulk.locator('.live-responses-table').count(), 0)
    t.strictSame(await count(), { orders: 0 })
    await bulk.locator('[data-param-name="dry_run"] select').selectOption('true')
    await bulk.getByRole('button', { name: 'Execute' }).click()
    await bulk.locator('.live-responses-table', { hasText: 'this was a dry run' }).waitFor()
    t.strictSame(await count(), { orders: 0 }, 'a dry run needs no question')
    await bulk.locator('[data-param-name="dry_run"] select').selectOption('false')
    await execute(true)
    await bulk.locator('.live-responses-table', { hasText: 'Orders Created Successfully' }).waitFor()
    t.strictSame(await count(), { orders: 1 })
  })

  t.test('/ lists the addresses for programs', async t => {
    t.strictSame(await (await fetch(urls.notifier)).json(), {
      name: 'Courier notifier',
      docs: { staff: '/docs/staff', internal: '/docs/internal' },
      openapi: '/openapi.json',
      health: '/health/ready',
    })
    t.equal((await fetch(`${urls.notifier}/docs/staff/static/x.css`)).status, 404)
    for (const path of ['/', '/docs', '/docs/']) {
      const page = await fetch(urls.notifier + path, { headers: { accept: 'text/html' } })
      const links = [...(await page.text()).matchAll(/<a href="([^"]+)"/g)].map(
        ([, link = '']) => new URL(link, page.url),
      )
      t.strictSame(
        [...new Set(links.map(({ pathname }) => pathname))],
        ['/docs/staff', '/docs/internal', '/openapi.json', '/health/ready'],
        path,
      )
    }
  })
}
