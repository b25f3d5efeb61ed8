import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import type { Tx } from '../services/notifier/core/database/tables.ts'
import { phoneNumberId, until } from '../services/notifier/test/fixture.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { toUserId } from '../simulator/messages/people.ts'
import { findBarriers, launchBrowser, measureWidth, showScreen } from './browser.ts'
import { openConsole, signIn, startConsole, tabTo } from './console.ts'

const browser = await launchBrowser(t)
if (browser) {
  const { url, orders, notifier } = await startConsole(t)
  const [waybill = ''] = (await orders.bulk(batch([order()]))).body.data
  notifier.queue.start()
  /** This markup must appear as text, whatever its source. */
  const attack = '<img src=x onerror=alert(1)>'
  const write = async (id: string, recipient: string, text: string, hours = 0, type = 'text') => {
    await notifier.rows(
      `with opened as (
         insert into conversations as c (tenant_id, phone_number_id, recipient, last_inbound_at)
         values ('demo', $1, $3, now() - make_interval(hours => $5))
         on conflict (tenant_id, phone_number_id, recipient) do update set last_inbound_at = excluded.last_inbound_at
       )
       insert into inbound_messages (tenant_id, phone_number_id, inbound_id, recipient, type, text, happened_at)
       values ('demo', $1, $2, $3, $6, $4, now() - make_interval(hours => $5))`,
      [phoneNumberId, id, recipient, text, hours, type],
    )
    // The simulator accepts a text only to a person who has written to it.
    notifier.control.inbound({ from: recipient, text })
  }
  const waitUntilRead = (phone: string) =>
    until('all messages are read', async () => {
      const unread = 'select 1 from inbound_messages where recipient = $1 and read_at is null'
      return (await notifier.rows(unread, [phone])).length === 0
    })
  await write('1', '94770000102', 'Too long ago', 30)
  await write('2', '94770000101', attack, 1, 'image')
  await write('3', '94770000101', 'Where is my parcel?')

  t.test('staff find a customer’s message and reply without a mouse', async t => {
    const { page, problems } = await openConsole(t, browser, url)
    await signIn(page)
    await page.locator('[aria-labelledby=unread] td a').first().waitFor()
    t.equal(await page.locator('[aria-labelledby=unread] tbody tr').count(), 2)
    t.match(await page.locator('[aria-labelledby=unread]').innerText(), 'New: 2')
    await tabTo(page, '[aria-labelledby=unread] td a')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Nimali Perera' }).waitFor()
    await page.locator('.thread li').nth(1).waitFor()
    t.strictSame(
      (await page.locator('.thread .bubble > .lines').allInnerTexts()).map(text => text.replace(/^Picture\s*/, '')),
      [attack, 'Where is my parcel?'],
      'the oldest comes first',
    )
    t.match(await page.locator('.thread').innerText(), 'Nimali Perera · ')
    await tabTo(page, '#reply')
    await page.keyboard.type('It arrives tomorrow.')
    await tabTo(page, 'button[type=submit]')
    await page.keyboard.press('Enter')
    await page.locator('.thread .out').waitFor()
    t.match(await page.locator('.thread li').last().innerText(), 'It arrives tomorrow.', 'above the next reply')
    await until('the reply arrives', async () =>
      notifier.control.messages().some(({ rendered }) => rendered.body === 'It arrives tomorrow.'),
    )
    await waitUntilRead('94770000101')
    await page.goto(`${url}#/conversations?unread=true`)
    await page.locator('tbody tr').waitFor()
    t.equal(await page.locator('tbody tr').count(), 1)
    await page.goto(`${url}#/conversations/94770000102`)
    await page.locator('.notice').waitFor()
    t.match(await page.locator('.notice').innerText(), /^A text could be sent until/)
    t.equal(await page.locator('#reply').count(), 0)
    await waitUntilRead('94770000102')
    t.strictSame(problems, [])
  })

  t.test('staff read that their reply takes the conversation over from another responder, and it does', async t => {
    const person = '94770000103'
    await write('9', person, 'Is anybody there?')
    await notifier.rows(
      `update conversations set owner = 'other', owner_at = now() - interval '1 hour' where recipient = $1
       returning recipient`,
      [person],
    )
    const { page, problems } = await openConsole(t, browser, `${url}#/conversations/${person}`)
    await signIn(page)
    const notice = page.getByText(
      /^Another responder has answered this conversation since .*Your reply takes it over\.$/,
    )
    await notice.waitFor()
    t.match(await page.locator('form .hint').last().innerText(), /^This reply costs 0; free ones left this month: /)
    await showScreen(t, page, 'takes-over')
    await page.locator('#reply').fill('This is Kamal.')
    const request = page.waitForRequest(each => each.url().endsWith('/reply'))
    await page.getByRole('button', { name: 'Send' }).click()
    t.match((await request).postDataJSON(), { text: 'This is Kamal.', takes_over: true })
    await notice.waitFor({ state: 'detached' })
    t.match(await notifier.rows('select owner from conversations where recipient = $1', [person]), [{ owner: 'ours' }])
    await until('the reply arrives', async () =>
      notifier.control.messages().some(({ rendered }) => rendered.body === 'This is Kamal.'),
    )
    t.strictSame(problems, [])
  })

  t.test('staff read the messages of a person whose digits look like a national number', async t => {
    const moveTo = (country: string) =>
      inTenant(notifier.pool, 'demo', (tx: Tx) => tx.client.query('update tenants set country = $1', [country]))
    await moveTo('DE')
    t.teardown(() => moveTo('LK'))
    await write('5', '491701234567', 'Where is it?')
    const { page, problems } = await openConsole(t, browser, `${url}#/conversations/491701234567`)
    await signIn(page)
    await page.locator('#reply').waitFor()
    t.match(await page.locator('.thread').innerText(), 'Where is it?')
    await waitUntilRead('491701234567')
    await notifier.rows(
      `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status,
      due_at, expires_at) values ('demo', 'msg_0000000000000000000000000', $1, '491701234567', '{"text": "Hello"}',
        'failed', now(), now())`,
      [phoneNumberId],
    )
    await page.locator('a[href*="messages?to="]').click()
    await page.locator('tbody tr').waitFor()
    t.match(await page.locator('tbody').innerText(), '491701234567')
    t.strictSame(problems, [])
  })

  t.test('a template stands in the thread and the timeline as its customer read it', async t => {
    const body = {
      waybill_number: waybill,
      template: {
        name: 'order_delivered',
        language: { code: 'en_US' },
        components: [
          {
            type: 'body',
            parameters: [
              { type: 'text', text: '{{customer_name}}' },
              { type: 'text', text: '{{waybill_number}}' },
            ],
          },
        ],
      },
    }
    t.equal((await notifier.call('POST', '/api/messages', body)).status, 202)
    const said = `Hello Nimali Perera, your parcel ${waybill} was delivered. Thank you!`
    await until('it is delivered', async () =>
      notifier.control.messages().some(({ rendered }) => rendered.body === said),
    )
    const { page, problems } = await openConsole(t, browser, `${url}#/conversations/94770000101`)
    await signIn(page)
    await page.locator('.thread').getByText(said).waitFor()
    await showScreen(t, page, 'conversation')
    await page.goto(`${url}#/parcel/${waybill}`)
    await page.locator('.timeline').getByText(said).waitFor()
    await page.locator('.timeline').getByRole('link', { name: 'Nimali Perera' }).first().waitFor()
    const times = await page.evaluate<string[]>(
      `[...document.querySelectorAll('.timeline > li > time')].map(time => time.dateTime)`,
    )
    t.ok(times.length > 2)
    t.strictSame(times, times.toSorted(), 'the oldest entry comes first')
    const last = await page.locator('.timeline > li').last().innerText()
    t.match(last, said)
    t.match(last, /Queued[^→]*→/, 'so does the first status of a message')
    await showScreen(t, page, 'parcel-conversation')
    t.strictSame(problems, [])
  })

  t.test('staff answer a person without a number, ask for it, and see what the phone app sent', async t => {
    const [userId, phone] = [toUserId('94770000105'), '94770000105']
    await write('6', userId, 'Which parcel is mine?')
    notifier.control.inbound({ from: phone, text: 'opens the window of the simulator' })
    await notifier.rows(`insert into identities values ('demo', $1, $1, 'nimali.p')`, [userId])
    await notifier.rows(
      `insert into inbound_messages
         (tenant_id, phone_number_id, inbound_id, recipient, type, text, happened_at, read_at, kind)
       values ('demo', $1, '7', $2, 'text', 'Please wait a minute.', now(), now(), 'echo')`,
      [phoneNumberId, userId],
    )
    const { page, problems } = await openConsole(t, browser, `${url}#/conversations`)
    await signIn(page)
    await page.locator('tbody a', { hasText: '@nimali.p' }).click()
    await page.locator('.thread li').nth(1).waitFor()
    t.match(await page.locator('h1').innerText(), '@nimali.p')
    t.match(await page.locator('.thread .out').innerText(), /Please wait a minute\.\s+Sent from the phone app/)
    await page.locator('form button:not([type=submit])', { hasText: 'Ask for the number' }).click()
    await until('the question arrives', async () =>
      notifier.control.messages({ to: phone }).some(({ rendered }) => rendered.buttons.includes('Share phone number')),
    )
    await waitUntilRead(userId)
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 844 })
      t.ok((await measureWidth(page)) <= width)
      t.strictSame(await findBarriers(page), [])
      if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/person-${width}.png` })
    }
    t.strictSame(problems, [])
  })

  t.test('a viewer reads, but cannot reply or mark anything as read', async t => {
    await write('4', '94770000102', 'Still there?', 29)
    const { page, problems } = await openConsole(t, browser, `${url}#/conversations/94770000102`)
    await signIn(page, 'viewer')
    await page.locator('.thread li').nth(1).waitFor()
    t.equal(await page.locator('#reply, .notice').count(), 0)
    t.equal((await notifier.rows('select 1 from inbound_messages where read_at is null')).length, 1)
    t.strictSame(problems, [])
  })

  t.test('fits a phone and has no barriers, in each language', async t => {
    for (const language of ['en', 'si', 'ta']) {
      const options = { language, viewport: { width: 390, height: 844 } }
      const { page, problems } = await openConsole(t, browser, `${url}#/conversations`, options)
      await signIn(page)
      for (const hash of ['conversations', 'conversations/94770000101', 'conversations/94770000102', 'today']) {
        await page.goto(`${url}#/${hash}`)
        await page.locator('tbody tr, .thread li, .tiles').first().waitFor()
        t.ok((await measureWidth(page)) <= 390, `${language} ${hash}`)
        t.strictSame(await findBarriers(page), [], `${language} ${hash}`)
      }
      t.strictSame(problems, [])
    }
  })
}
