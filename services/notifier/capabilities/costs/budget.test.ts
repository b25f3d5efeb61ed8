import { inTenant } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { applyAnnounced, applyDueCategories, reportCategories } from '../../core/templates/category-changes.ts'
import { messageTo, until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import { applyBudget } from './apply.ts'
import { checkBudgets } from './budget.ts'

const wabaId = '102290129340398'
const log: string[] = []
const { app, call, deliver, rows, pool, queue, control } = await build(t, 1_000_000, undefined, { wabaId })
queue.start()
await rows(`insert into tariffs values ('demo', 'utility', '*', '2026-01-01', 0.5)`)

const catalogue = (name: string, category: string) =>
  rows(
    `insert into templates (tenant_id, waba_id, name, language, status, category, parameter_format, components)
     values ('demo', $1, $2, 'en_US', 'APPROVED', $3, 'POSITIONAL', $4)`,
    [wabaId, name, category, JSON.stringify([{ type: 'BODY', text: '{{1}} {{2}}' }])],
  )
await catalogue('order_delivered', 'MARKETING')
await catalogue('order_cancelled', 'UTILITY')

const logger = pino({}, { write: line => log.push(JSON.parse(line).msg) })
/** Checks the budgets; returns the log lines about them. */
const check = async () => {
  log.length = 0
  await rows('update budgets set checked_at = null')
  await applyDueCategories(pool, logger)
  await checkBudgets(pool, logger)
  return log.join()
}
const setBudget = (monthly: string | undefined, warn_at_percent = 80) =>
  inTenant(pool, 'demo', (tx: Tx) =>
    applyBudget(tx, 'demo', monthly === undefined ? undefined : { monthly, warn_at_percent }),
  )
const budget = async () => (await call('GET', '/api/costs')).body.budget
const spend = (count: number) =>
  rows(
    `insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, country, is_free,
      template)
     select 'demo', gen_random_uuid(), '', now(), 'utility', 'LK', false, 'x' from generate_series(1, $1)`,
    [count],
  )
const template = (name: string) => ({
  name,
  language: { code: 'en_US' },
  components: [{ type: 'body' as const, parameters: ['Nimali', 'DM1'].map(text => ({ type: 'text' as const, text })) }],
})
const send = async (name: string, to = '0770000101', more: object = {}): Promise<string> =>
  (await call('POST', '/api/messages', { ...messageTo(to), template: template(name), ...more })).body.data.id
const messageOf = async (id: string) => (await call('GET', `/api/messages/${id}`)).body.data
const isAccepted = async (id: string) => (await messageOf(id)).status === 'accepted'

t.test('without a budget nothing is checked', async t => {
  t.equal(await check(), '')
  t.equal(await budget(), null)
})

t.test('sums a month and warns once, however many processes check it', async t => {
  t.strictSame(await setBudget('10', 80), [{ kind: 'budget', id: 'demo', change: 'added' }])
  t.strictSame(await setBudget('10.00', 80), [], 'the same budget changes nothing')
  await spend(15)
  t.equal(await check(), '')
  t.match(await budget(), { monthly: '10', spent: '7.5', warned_at: null, marketing_paused: false })
  await spend(1)
  log.length = 0
  await rows('update budgets set checked_at = null')
  await Promise.all(Array.from({ length: 4 }, () => checkBudgets(pool, logger)))
  t.strictSame(log, ['budget.nearly_used_up'])
  t.equal(await check(), '')
  t.match(await budget(), { spent: '8', warned_at: String, marketing_paused: false })
  await spend(1)
  await applyDueCategories(pool, logger)
  await checkBudgets(pool, logger)
  t.match(await budget(), { spent: '8' }, 'within a minute the month is not summed again')
  const metrics = await app.inject('/metrics')
  t.match(metrics.body, /budgets_nearly_used_up 1\n/)
  t.match(metrics.body, /budgets_used_up 0\n/)
})

t.test('at the limit only marketing messages wait, until the budget is raised', async t => {
  await spend(3)
  t.equal(await check(), 'budget.used_up')
  t.match(await budget(), { spent: '10', marketing_paused: true })
  const marketing = await send('order_delivered')
  const said = async () => (await messageOf(marketing)).timeline.map(({ detail }: { detail: string }) => detail)
  await until('the marketing message waits', async () => (await said()).length === 2)
  const utility = await send('order_cancelled')
  await until('the other one is sent', () => isAccepted(utility), 5)
  const parcel = await send('order_delivered', '0770000101', { waybill_number: 'DM1' })
  await until('marketing about a parcel is sent too', () => isAccepted(parcel), 5)
  await rows('update messages set due_at = now() where message_id = $1', [marketing])
  queue.wake()
  await until(
    'the marketing message waits again',
    async () => (await rows('select from messages where due_at > now() + interval $$9 minutes$$')).length > 0,
  )
  t.strictSame(await said(), [null, "waits: the month's budget is used up"], 'the timeline says so once')
  const [listed] = (await call('GET', '/api/templates?name=order_delivered')).body.data
  t.match(listed, { budget_paused_at: String, held: null })
  t.strictSame(
    control.messages().map(({ template }) => template?.name),
    ['order_delivered', 'order_cancelled'],
  )
  await setBudget('20')
  t.equal(await check(), 'budget.marketing_resumed')
  await rows('update messages set due_at = now() where message_id = $1', [marketing])
  queue.wake()
  await until('the marketing message is sent', () => isAccepted(marketing))
})

t.test('messages that wait for the budget do not hold up other messages', async t => {
  await rows(`update templates set budget_paused_at = now() where category = 'MARKETING'`)
  await rows('update channels set rate = 20, budget = 20, budget_at = now()')
  await rows(
    `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
     select tenant_id, 'msg_' || lpad(n::text, 25, '0'), phone_number_id, recipient, template, 'queued',
       now() - interval '1 minute', now() + interval '1 day'
     from messages, generate_series(1, 2000) n where template ->> 'name' = 'order_delivered'
       and waybill_number is null`,
  )
  const utility = await send('order_cancelled')
  await until('the other message is sent', () => isAccepted(utility), 30)
  const [{ waiting }] = await rows(
    `select count(*)::int as waiting from messages m join message_events e using (tenant_id, message_id)
     where m.status = 'queued' and due_at > now() + interval '9 minutes'
       and e.detail = 'waits: the month''s budget is used up'`,
  )
  t.equal(waiting, 2000)
  await rows(`update messages set status = 'cancelled' where status = 'queued'`)
  await rows('update templates set budget_paused_at = null')
})

t.test('a new month, or no budget, releases marketing messages', async t => {
  await setBudget('5')
  t.equal(await check(), 'budget.used_up')
  const paused = async () => (await rows('select from templates where budget_paused_at is not null')).length
  t.equal(await paused(), 1)
  await rows(`update budgets set month = month - interval '1 month'`)
  await rows(`update message_prices set priced_at = priced_at - interval '32 days'`)
  t.equal(await check(), 'budget.marketing_resumed')
  t.equal(await paused(), 0)
  t.match(await budget(), { spent: '0', marketing_paused: false, warned_at: null })
  await spend(10)
  t.equal(await check(), 'budget.used_up')
  t.strictSame(await setBudget(undefined), [{ kind: 'budget', id: 'demo', change: 'removed' }])
  t.equal(await paused(), 0)
  t.equal(await budget(), null)
})

t.test('a rule may stop when its template changes category, until the rule is applied again', async t => {
  const rule = (on: string, more: object = {}) => ({
    on,
    template: 'order_cancelled',
    language: 'en_US',
    body: ['{{customer_name}}', '{{waybill_number}}'],
    ...more,
  })
  const rules = [rule('key_3', { pause_on_category_change: true }), rule('key_4')]
  await giveRules(pool, rules)
  const at = new Date()
  const report = (isAnnounced: boolean) =>
    inTenant(pool, 'demo', (tx: Tx) =>
      reportCategories(tx, [
        {
          tenant: 'demo',
          wabaId,
          name: 'order_cancelled',
          language: 'en_US',
          from: 'UTILITY',
          to: 'MARKETING',
          at,
          isAnnounced,
          reportedAt: new Date(at.getTime() + Number(!isAnnounced)),
        },
      ]),
    )
  let events = 0
  const deliverTwo = async () => {
    const waybill_number = `W${++events}`
    const made = ['key_3', 'key_4'].map(status_key =>
      orderEvent(`${waybill_number} ${status_key}`, { waybill_number, status_key, merchant_name: 'Lanka Shoes' }),
    )
    await deliver(...made)
    return rows(
      `select status = 'failed' as failed, error_meaning, merchant from messages where waybill_number = $1
        order by message_id`,
      [waybill_number],
    )
  }
  t.match(await report(true), [{ pausedRules: 0 }])
  t.match(await deliverTwo(), [{ failed: false, merchant: 'Lanka Shoes' }, { failed: false }])
  t.match(await report(false), [{ pausedRules: 1 }])
  t.strictSame(await report(false), [], 'a repeated report changes nothing')
  t.match(await deliverTwo(), [
    { failed: true, error_meaning: /^The rule is paused .* became MARKETING\.$/ },
    { failed: false },
  ])
  await giveRules(pool, rules)
  t.match(await deliverTwo(), [{ failed: false }, { failed: false }])
  t.strictSame(await report(false), [])
  t.match(
    await deliverTwo(),
    [{ failed: false }, { failed: false }],
    'a repeated webhook does not pause the rule again',
  )
})

t.test('applies an announced change of category once when its time comes, without another webhook', async t => {
  await rows(
    `update templates set category = 'UTILITY', category_from = 'UTILITY', category_to = 'MARKETING',
       category_at = now() + interval '1 hour', category_reported_at = now() - interval '1 day'
         where name = 'order_cancelled'`,
  )
  const apply = () => inTenant(pool, 'demo', (tx: Tx) => applyAnnounced(tx, 'demo'))
  const category = async () => (await call('GET', '/api/templates?name=order_cancelled')).body.data[0].category
  t.strictSame(await apply(), [], 'the change lies ahead')
  await rows(`update templates set category_at = now() - interval '1 second' where category_at > now()`)
  log.length = 0
  await applyDueCategories(pool, logger)
  await checkBudgets(pool, logger)
  t.ok(log.includes('template.category_changed'))
  t.equal(await category(), 'MARKETING')
  const [rule] = await rows('select paused_reason from rules where pauses_on_category_change')
  t.match(rule, { paused_reason: /became MARKETING/ })
  await rows(`update templates set category = 'UTILITY' where name = 'order_cancelled'`)
  t.strictSame(await apply(), [])
  t.equal(await category(), 'UTILITY', 'the category of a later catalogue stays')
})
