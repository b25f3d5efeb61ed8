import t from 'tap'
import { phoneNumberId } from '../services/notifier/test/fixture.ts'
import { launchBrowser } from './browser.ts'
import { openConsole, signIn, startConsole } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, notifier } = await startConsole(t)
  const opened = await openConsole(t, browser, url)
  const { page } = opened
  await signIn(page)

  t.test('a reply that is being written stays while older messages are read', async t => {
    const phone = '94770000101'
    await notifier.rows(
      `with opened as (
         insert into conversations (tenant_id, phone_number_id, recipient, last_inbound_at)
         values ('demo', $1, $2, now())
       )
       insert into inbound_messages (tenant_id, phone_number_id, inbound_id, recipient, type, text, happened_at)
       select 'demo', $1, n::text, $2, 'text', 'Message ' || n, now() - make_interval(mins => n)
       from generate_series(1, 120) n`,
      [phoneNumberId, phone],
    )
    await page.goto(`${url}#/conversations/${phone}`)
    await page.locator('#reply').fill('It arrives tomorrow')
    await page.getByRole('button', { name: 'Next' }).click()
    await page.getByText('Message 100').waitFor()
    t.equal(await page.locator('#reply').inputValue(), 'It arrives tomorrow')
  })
}
