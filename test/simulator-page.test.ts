import t from 'tap'
import { build, message } from '../simulator/test/build.ts'
import { findBarriers, launchBrowser, measureWidth, openPage } from './browser.ts'

const browser = await launchBrowser(t)
if (browser) {
  const texts = (...values: string[]) => values.map(text => ({ type: 'text', text }))
  const created = (to: string, name: string) =>
    message({
      to,
      template: {
        name: 'order_created',
        language: { code: 'en_US' },
        components: [
          { type: 'header', parameters: texts('DM00000001') },
          { type: 'body', parameters: texts(name, 'Lanka Shoes Online', 'LKR 0') },
        ],
      },
    })

  for (const width of [1280, 390])
    t.test(`the simulator's page works at ${width} pixels, empty, with customers and by keyboard`, async t => {
      const { url, send, control } = await build(t, { behaviour: { delay_factor: 0.001 } })
      const { page, problems } = await openPage(t, browser, `${url}/`, width)
      const screenshot = async (name: string): Promise<void> => {
        const { SCREENSHOTS: folder } = process.env
        if (folder) await page.screenshot({ path: `${folder}/simulator-${name}-${width}.png`, fullPage: true })
      }
      await page.getByText('No messages yet. Run npm run demo').waitFor()
      await screenshot('empty')

      await send(created('94770000101', 'Nimali Perera'))
      await send(created('94770000102', 'Kamal Silva'))
      const nimali = page.locator('#people button', { hasText: 'Nimali Perera' })
      await nimali.focus()
      await page.keyboard.press('Enter')
      await page.locator('#name', { hasText: 'Nimali Perera · +94770000101' }).waitFor()
      await page.locator('#chat', { hasText: 'To pay the rider: LKR 0.' }).waitFor()

      const focused = page.locator('#people button:focus', { hasText: 'Nimali Perera' })
      await send(created('94770000101', 'Nimali Perera'))
      await page.locator('#chat .bubble').nth(1).waitFor()
      t.equal(await focused.count(), 1, 'the focus survives a new message')

      await page.locator('#chat button', { hasText: 'Stop messages' }).first().focus()
      await page.keyboard.press('Enter')
      await page.locator('#chat .mine', { hasText: 'Stop messages' }).waitFor()
      t.equal(await page.locator('#chat button:focus').count(), 1, 'the focus survives the reply')
      t.match(control.inbox(), [{ from: '94770000101', text: 'Stop messages' }])

      t.strictSame(await findBarriers(page), [], 'axe finds nothing serious')
      const widest = await measureWidth(page)
      t.ok(widest <= width, `${widest} px fit`)
      await screenshot('customers')
      t.strictSame(problems, [])
    })
}
