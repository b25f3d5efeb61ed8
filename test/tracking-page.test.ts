import t from 'tap'
import { build } from '../services/orders/test/build.ts'
import { batch, order, tenantFile } from '../services/orders/test/tenant.ts'
import { findBarriers, launchBrowser, measureWidth, openPage } from './browser.ts'

t.test('the page of a parcel works on a phone and on a desktop, in each language', async t => {
  const browser = await launchBrowser(t)
  if (!browser) return
  const { app, bulk } = await build(t, { file: tenantFile({ color: '#ffd400' }) })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const [waybill] = (await bulk(batch([order({ cod: 4500 })]))).body.data
  for (const width of [390, 1280])
    for (const language of ['en', 'si', 'ta']) {
      const { page, problems } = await openPage(t, browser, `${url}/t/demo/${waybill}?lang=${language}`, width)
      t.equal(await page.locator('h1').count(), 1)
      t.ok((await measureWidth(page)) <= width, `${language} fits ${width} px`)
      const color = await page.evaluate(`getComputedStyle(document.querySelector('header')).backgroundColor`)
      t.equal(color, 'rgb(255, 212, 0)', 'the content security policy allows the style')
      t.strictSame(await findBarriers(page), [])
      t.strictSame(problems, [])
    }
  const { page } = await openPage(t, browser, `${url}/t/demo/${waybill}`, 390)
  await page.getByRole('link', { name: 'தமிழ்' }).click()
  await page.waitForURL(/lang=ta/)
  t.equal(await page.locator('html').getAttribute('lang'), 'ta')
  const unknown = await openPage(t, browser, `${url}/t/demo/none`, 390)
  t.equal(await unknown.page.locator('h1').textContent(), 'There is no such parcel')
})
