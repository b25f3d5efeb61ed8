import t from 'tap'
import { limitPortfolio, phone } from '../services/notifier/capabilities/account-limits/test/portfolio-fixture.ts'
import { giveRules } from '../services/notifier/test/rules-of-demo.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { startConsole } from './console.ts'

const rule = { on: 'order.created', template: 'order_delivered', language: 'en_US', body: ['{{customer_name}}'] }

t.test('a dry run says how many messages may leave, while a limit is known and the notifier is there', async t => {
  const { orders, notifier } = await startConsole(t)
  const asked: string[] = []
  notifier.app.server.on('request', ({ url = '' }) => asked.push(url))
  const dryRun = async (path = 'bulk', change = {}) => {
    const { status, body } = await orders.request(`/order/${path}?dry_run`, batch([order(change)]))
    return { status, messages: body.messages }
  }
  t.same(await dryRun(), { status: 200, messages: undefined }, 'no limit is known')

  const { acceptTo, settled, start, rows } = await limitPortfolio(notifier, 3)
  t.same(await dryRun(), { status: 200, messages: { may_leave_today: 3, opens_at: null } })
  await acceptTo(0, 2)
  start()
  await settled(2)
  t.same(await dryRun('single'), { status: 200, messages: { may_leave_today: 1, opens_at: null } })
  await acceptTo(2, 3)
  await settled(3)
  const { messages } = await dryRun()
  t.equal(messages.may_leave_today, 0)
  const hours = (Date.parse(messages.opens_at) - Date.now()) / 3_600_000
  t.ok(hours > 23.9 && hours < 48, `two messages wait before one more, which leaves in ${hours} hours`)
  await rows('update portfolios set max_people = 4')
  t.match((await dryRun()).messages, { may_leave_today: 0 }, 'the room is for the messages that wait')

  await rows(`insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, rate)
    select tenant_id, '200', 'Unlimited', plan, false, verify_token_hash, rate from channels`)
  await giveRules(notifier.pool, [{ ...rule, channel: '200' }])
  t.same(await dryRun(), { status: 200, messages: undefined }, 'the number of the rule about new orders has no limit')
  await giveRules(notifier.pool, [rule])
  t.match((await dryRun()).messages, { may_leave_today: 0 })

  asked.length = 0
  t.equal((await orders.request('/order/bulk', batch([order({ customer_phone: phone(9) })]))).status, 200)
  t.match(await dryRun('bulk', { cod: -1 }), { status: 422, messages: undefined })
  t.equal(asked.filter(url => url.includes('/internal/sending-room')).length, 0, 'a booking does not ask')
  await notifier.app.close()
  t.same(await dryRun(), { status: 200, messages: undefined }, 'the notifier is away')
})
