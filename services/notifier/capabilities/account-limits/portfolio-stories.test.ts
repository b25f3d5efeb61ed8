import type { OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { toUserId } from '../../../../simulator/messages/people.ts'
import { storeSecret } from '../../core/channels/secrets.ts'
import type { Tx } from '../../core/database/tables.ts'
import { messageTo, phoneNumberId, spawnWorker, until } from '../../test/fixture.ts'
import { orderEvent, standIn } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import { envelope, inbound, postWebhook } from '../../test/webhooks-fixture.ts'
import { limitPortfolio, phone, prepareLimit, wabaId } from './test/portfolio-fixture.ts'

const [first, second, third] = [0, 1, 2].map(phone) as [string, string, string]
const rule = (on: string, title: string) => ({
  ...{ on, template: 'order_delivered', language: 'en_US' },
  body: [`${title} {{customer_name}}`, '{{waybill_number}}'],
})

/** Starts the whole application at a limit of one person a day, with rules on two statuses. */
const prepare = async (t: Test) => {
  const { client } = await standIn(t)
  const built = await limitPortfolio(await build(t, undefined, client, { wabaId }), 1)
  await giveRules(built.pool, [rule('key_2', 'Confirmed'), { ...rule('key_13', 'Delivered'), supersedes: ['key_2'] }])
  await built.call('POST', '/api/templates/sync')
  const { deliver, control, call } = built
  let events = 0
  const report = (
    waybill_number: string,
    customer_phone: string,
    more: Partial<OrderSnapshot>,
    type?: 'order.edited',
  ) =>
    deliver(
      orderEvent(`event ${++events}`, { waybill_number, customer_phone, ...more }, type ?? 'order.status_changed'),
    )
  /** Returns the texts that arrived, oldest first. */
  const arrived = (): string[] =>
    control
      .messages()
      .map(({ rendered }) => String(rendered.body).replace(/^Hello (.*), your parcel (.*) was delivered.*$/, '$1 $2'))
      .toReversed()
  const messagesOf = async (waybill: string) => (await call('GET', `/api/messages?waybill_number=${waybill}`)).body.data
  return { ...built, report, arrived, messagesOf }
}

const waits = { status: 'queued', timeline: [{}, { detail: /leaves about/ }] }

t.test('a message above the limit leaves with the text of the order as it was edited meanwhile', async t => {
  const { report, arrived, messagesOf, settled, passDay, start, failed } = await prepare(t)
  start()
  await report('A', first, { status_key: 'key_2', customer_name: 'Nimali' })
  await settled(1)
  await report('B', second, { status_key: 'key_2', customer_name: 'Kamal' })
  await until('it waits', async () => (await messagesOf('B'))[0].timeline.length === 2)
  t.match(await messagesOf('B'), [waits])
  await report('B', second, { status_key: 'key_2', customer_name: 'Sunil' }, 'order.edited')
  await passDay()
  await settled(2)
  t.same(arrived(), ['Confirmed Nimali A', 'Confirmed Sunil B'])
  t.equal(failed(), 0)
})

t.test('a message above the limit that a later event supersedes never leaves; the later one does', async t => {
  const { report, arrived, messagesOf, settled, passDay, start, rows } = await prepare(t)
  start()
  await report('A', first, { status_key: 'key_2', customer_name: 'Nimali' })
  await settled(1)
  await report('B', second, { status_key: 'key_2', customer_name: 'Kamal' })
  await until('it waits', async () => (await messagesOf('B'))[0].timeline.length === 2)
  await report('B', second, { status_key: 'key_13', customer_name: 'Kamal' })
  await until('the later one waits', async () => (await messagesOf('B'))[0].timeline.length === 2)
  t.match(await messagesOf('B'), [waits, { status: 'cancelled', timeline: [{}, {}, { detail: /superseded/ }] }])
  await passDay()
  await settled(2)
  t.same(arrived(), ['Confirmed Nimali A', 'Delivered Kamal B'])
  t.same(await rows('select from portfolio_waiting'), [])
})

t.test(
  'a person counts once, by phone and by user id, also when the two are paired after the first message',
  async t => {
    const { accept, app, call, rows, settled, start, failed, pool, keyring } = await prepare(t)
    await inTenant(pool, 'demo', (tx: Tx) =>
      storeSecret(tx, keyring, { tenant: 'demo', phoneNumberId, kind: 'app_secret' }, 'demo-app-secret'),
    )
    const userId = toUserId(`94${third.slice(1)}`)
    start()
    await accept(messageTo(userId))
    await settled(1)
    const paired = { ...inbound({ from: `94${third.slice(1)}`, from_user_id: userId }), id: 'wamid.pair' }
    await postWebhook(app, envelope({ messages: [paired] }, phoneNumberId))
    await until(
      'they are paired',
      async () => (await rows('select from identities where recipient like $1', ['94%']))[0],
    )
    await rows('update conversations set last_inbound_at = null')
    await accept(messageTo(third), messageTo(userId))
    const preflight = await call('POST', '/api/messages/preflight', messageTo(third))
    t.match(preflight.body.data, [{ limit: null, waits_for: null }], 'a further message to the person takes no room')
    await settled(3)
    t.same(await rows('select used from portfolios'), [{ used: 1 }])
    t.equal(failed(), 0)
  },
)

t.test('a preflight says about when a message above the limit leaves, and the message leaves then', async t => {
  const { accept, call, rows, settled, start } = await prepare(t)
  const preflight = async (to: string) => (await call('POST', '/api/messages/preflight', messageTo(to))).body.data[0]
  t.match(await preflight(first), { limit: { max_people: 1, left: 1, opens_at: null }, waits_for: null })
  start()
  await accept(messageTo(first))
  await settled(1)
  t.match(await preflight(first), { limit: null, waits_for: null }, 'the person was reached today')
  for (const [index, to] of [second, third].entries()) {
    const { limit, leaves_at, waits_for } = await preflight(to)
    t.match({ limit, waits_for }, { limit: { left: 0, opens_at: leaves_at }, waits_for: /messaging limit is reached/ })
    const hours = (Date.parse(leaves_at) - Date.now()) / 3_600_000
    t.ok(Math.abs(hours - 24 * (index + 1)) < 0.1, `in ${hours} hours`)
    const [id] = await accept(messageTo(to))
    await settled(1)
    const [{ seconds }] = await rows(
      'select extract(epoch from due_at - $2::timestamptz)::float as seconds from messages where message_id = $1',
      [id, leaves_at],
    )
    t.ok(Math.abs(seconds) < 60, `${seconds} s beside the prediction`)
  }
})

t.test('two processes that claim at once for two numbers of a portfolio never exceed its limit', async t => {
  const limit = 25
  const fixture = await prepareLimit(t, limit)
  const { accept, control, pool, keyring, rows, passDay, isIdle, failed } = fixture
  control.putNumber('200', { registered: true })
  await rows(`insert into channels (tenant_id, phone_number_id, name, plan, waba_id, is_default, verify_token_hash,
      proven_at, rate, portfolio_id)
    select tenant_id, '200', name, plan, waba_id, false, verify_token_hash, proven_at, rate, portfolio_id
    from channels`)
  await inTenant(pool, 'demo', (tx: Tx) =>
    storeSecret(tx, keyring, { tenant: 'demo', phoneNumberId: '200', kind: 'access_token' }, 'demo-access-token'),
  )
  const messages = Array.from({ length: 4 * limit }, (_, index) =>
    messageTo(phone(index), index % 2 === 0 ? {} : { channel: '200' }),
  )
  await accept(...messages)
  for (let process = 0; process < 2; process++) await spawnWorker(t, fixture, { WINDOW: '8' })
  for (let day = 1; day <= 2; day++) {
    const sent = () => control.messages({ limit: 1_000 }).length
    await until(`day ${day}`, async () => sent() >= day * limit && (await isIdle()), 60)
    t.same([sent(), failed()], [day * limit, 0])
    t.same(await rows('select used from portfolios'), [{ used: limit }])
    await passDay()
  }
  t.ok(new Set(control.messages({ limit: 1_000 }).map(({ phone_number_id }) => phone_number_id)).size === 2)
})
