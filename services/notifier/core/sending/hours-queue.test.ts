import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { demoFile, giveRules } from '../../test/rules-of-demo.ts'
import type { Tx } from '../database/tables.ts'
import { applyFile } from '../provisioning/apply.ts'
import { checkFile } from '../provisioning/check-file.ts'
import { sweep } from './sweep.ts'

/** Returns the time of day `hours` hours from now, in UTC. */
const clock = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
const [open, closed] = [
  [clock(-2), clock(2)],
  [clock(2), clock(4)],
]

const text = { language: 'en_US', body: ['{{customer_name}}', '{{waybill_number}}'] }
const templates: Record<string, string> = { key_12: 'order_out_for_delivery', key_13: 'order_delivered' }
const rule = (on: string, more: object = {}) => ({ on, template: templates[on] ?? 'order_cancelled', ...text, ...more })

const { call, deliver, rows, pool, queue, control, keyring } = await build(t)
queue.start()

/** Stores rules and hours; cancels the queued messages of earlier tests. */
const prepare = async (rules: unknown[], send_between: string[] | null = null) => {
  await rows(`update messages set status = 'cancelled' where status = 'queued'`)
  await inTenant(pool, 'demo', (tx: Tx) =>
    tx
      .updateTable('tenants')
      .set({ send_between: send_between as [string, string] | null, time_zone: 'UTC' })
      .where('tenant_id', '=', 'demo')
      .execute(),
  )
  await giveRules(pool, rules)
}

const temporary = { kind: 'error', code: 131000 } as const

let orders = 0
const newWaybill = () => `W${++orders}`
const toPhone = (waybill: string) => `9477${waybill.slice(1).padStart(7, '0')}`

const report = async (waybill: string, ...statuses: string[]) => {
  const customer_phone = `+${toPhone(waybill)}`
  const events = statuses.map(status_key =>
    orderEvent(
      `${waybill} ${status_key}`,
      { waybill_number: waybill, status_key, customer_phone },
      status_key === 'key_1' ? 'order.created' : 'order.status_changed',
    ),
  )
  await deliver(...events)
}

const findMessages = (waybill: string) =>
  rows(
    `select message_id as id, status, due_at, send_at, attempts, rule_event as event,
       (select string_agg(detail, '; ' order by event_id) from message_events e where e.message_id = m.message_id)
         as detail
     from messages m where waybill_number = $1 order by message_id`,
    [waybill],
  )
const readStatuses = async (waybill: string) => (await findMessages(waybill)).map(({ status }) => status).join()
const listSent = (waybill: string) => control.messages({ to: toPhone(waybill) }).map(({ template }) => template?.name)

t.test('a message waits until its tenant’s hours begin, unless its rule’s own hours allow it', async t => {
  await prepare([rule('key_12'), rule('key_13', { send_between: ['00:00', '24:00'] })], closed)
  const waybill = newWaybill()
  await report(waybill, 'key_12', 'key_13')
  await until('the other message is sent', async () => (await readStatuses(waybill)) === 'queued,accepted')
  const [waiting] = await findMessages(waybill)
  t.equal(waiting.send_at.toISOString().slice(11), `${closed[0]}:00.000Z`)
  t.strictSame(waiting.due_at, waiting.send_at)
  t.equal(waiting.detail, `waits: messages are sent from ${closed[0]} to ${closed[1]} (UTC)`)
  await prepare([rule('key_12')], open)
  const inside = newWaybill()
  await report(inside, 'key_12')
  await until('the message is sent', async () => (await readStatuses(inside)) === 'accepted')
  t.match(await findMessages(inside), [{ send_at: null, detail: null }])
})

t.test('a message whose hours end while it is queued is deferred, without an attempt', async t => {
  await prepare([rule('key_12')], open)
  await rows(`update channels set state = 'paused'`)
  const waybill = newWaybill()
  await report(waybill, 'key_12')
  await rows(`update messages set hours = jsonb_set(hours, '{between}', $2), attempts = 1 where waybill_number = $1`, [
    waybill,
    JSON.stringify(closed),
  ])
  await rows(`update channels set state = 'active'`)
  await until('the message waits', async () => (await findMessages(waybill))[0].send_at)
  const [message] = await findMessages(waybill)
  t.match(message, { status: 'queued', attempts: 1, detail: /^waits: / })
  t.equal(message.due_at.toISOString().slice(11), `${closed[0]}:00.000Z`)
  t.strictSame(listSent(waybill), [])
})

t.test('after a night, messages about one waybill leave in the order of its events', async t => {
  await prepare([rule('key_12'), rule('key_13')], closed)
  const waybill = newWaybill()
  await report(waybill, 'key_12', 'key_13')
  const [first] = await findMessages(waybill)
  control.script({ call: 'messages', times: 1, recipient: toPhone(waybill), trouble: temporary })
  await rows(
    `update messages set created_at = created_at - interval '10 hours', status_at = status_at - interval '10 hours',
       send_at = now(), hours = jsonb_set(hours, '{between}', $2),
       due_at = now() + case when message_id = $3 then interval '1 second' else interval '0' end
     where waybill_number = $1`,
    [waybill, JSON.stringify(open), first.id],
  )
  await until('the first one failed', async () => (await findMessages(waybill))[0].attempts === 1)
  await rows('update messages set due_at = now() where message_id = $1', [first.id])
  await until('both are sent', async () => (await readStatuses(waybill)) === 'accepted,accepted', 60)
  t.strictSame(listSent(waybill).toReversed(), ['order_out_for_delivery', 'order_delivered'])
})

t.test('after a long pause of the number, messages about one waybill leave in the order of its events', async t => {
  await prepare([rule('key_12'), rule('key_13')])
  await rows(`update channels set state = 'paused'`)
  const waybill = newWaybill()
  await report(waybill, 'key_12', 'key_13')
  await rows(`update messages set created_at = created_at - interval '1 hour', status_at = status_at - interval '1 hour'
    where waybill_number = '${waybill}'`)
  control.script({ call: 'messages', times: 1, recipient: toPhone(waybill), trouble: temporary })
  t.equal((await call('POST', `/api/channels/${phoneNumberId}/resume`)).status, 200)
  await until('both are sent', async () => (await readStatuses(waybill)) === 'accepted,accepted', 60)
  t.strictSame(listSent(waybill).toReversed(), ['order_out_for_delivery', 'order_delivered'])
})

t.test('a later event cancels messages that it supersedes, even when both come at once', async t => {
  await prepare([rule('key_1'), rule('key_12'), rule('key_13', { supersedes: ['key_12', 'key_13'] })], closed)
  const [apart, other, together] = [newWaybill(), newWaybill(), newWaybill()]
  await report(apart, 'key_1', 'key_12')
  await report(other, 'key_12')
  await call('POST', '/api/messages', messageTo('0779999999', { waybill_number: apart, channel: null }))
  await report(apart, 'key_13')
  await report(together, 'key_12', 'key_13')
  const states = async (waybill: string) =>
    (await findMessages(waybill)).filter(({ event }) => event).map(({ event, status }) => `${event} ${status}`)
  t.strictSame(await states(apart), ['key_1 queued', 'key_12 cancelled', 'key_13 queued'])
  t.strictSame(await states(other), ['key_12 queued'])
  t.strictSame(await states(together), ['key_12 cancelled', 'key_13 queued'])
  t.match((await findMessages(apart)).find(({ event }) => event === 'key_12')?.detail, /; superseded by key_13$/)
  t.equal((await findMessages(apart)).filter(({ event, status }) => !event && status !== 'cancelled').length, 1)
})

t.test('a superseded message in flight is not sent again', async t => {
  await prepare([rule('key_12'), rule('key_13', { supersedes: ['key_12'] })])
  const waybill = newWaybill()
  control.behave({ answer_latency_ms: 700 })
  control.script({ call: 'messages', times: 1, recipient: toPhone(waybill), trouble: temporary })
  await report(waybill, 'key_12')
  await until('the message is in flight', async () => (await readStatuses(waybill)) === 'sending')
  await report(waybill, 'key_13')
  control.behave({ answer_latency_ms: 0 })
  await until('the message is queued again', async () => (await findMessages(waybill))[0].attempts === 1)
  await rows('update messages set due_at = now() where waybill_number = $1 and status = $2', [waybill, 'queued'])
  await until('the message is cancelled', async () => (await readStatuses(waybill)) === 'cancelled,accepted')
  t.strictSame(listSent(waybill), ['order_delivered'])
})

t.test('a rule’s time limit counts from its event, and may end before the hours begin', async t => {
  await prepare([rule('key_12', { expires_after_hours: 1 }), rule('key_13')], closed)
  const waybill = newWaybill()
  await report(waybill, 'key_12', 'key_13')
  const limits = await rows(
    `select round(extract(epoch from expires_at - created_at) / 3600)::int as hours from messages
     where waybill_number = $1 order by message_id`,
    [waybill],
  )
  t.strictSame(limits, [{ hours: 1 }, { hours: 24 }])
  await rows(`update messages set expires_at = now() where waybill_number = $1 and rule_event = 'key_12'`, [waybill])
  await sweep(pool)
  t.equal(await readStatuses(waybill), 'expired,queued')
  t.match((await findMessages(waybill))[0].detail, /its time limit ended before its hours began$/)
})

t.test('messages that staff send ignore the tenant’s hours, unless respect_hours is true', async t => {
  await prepare([], closed)
  const send = async (more: object = {}) => {
    const { status, body } = await call('POST', '/api/messages', { ...messageTo('0778888888'), ...more })
    return status === 202 ? (await call('GET', `/api/messages/${body.data.id}`)).body.data.send_at : body.errors
  }
  t.equal(await send(), null)
  t.equal((await send({ respect_hours: true })).slice(11), `${closed[0]}:00.000Z`)
  const send_at = new Date(Date.now() + 3 * 3_600_000).toISOString()
  t.equal(await send({ respect_hours: true, send_at }), send_at)
  await prepare([])
  t.strictSame(await send({ respect_hours: true }), { respect_hours: ['The tenant has no hours.'] })
})

t.test('checks the hours, time limits and time zone in a file, and stores them once', async t => {
  const check = (rules: unknown[], tenant: object = {}) => {
    const { tariffs: _, ...file } = demoFile(rules)
    const secrets = { DEMO_ACCESS_TOKEN: 'demo-access-token', DEMO_APP_SECRET: 'demo-app-secret' }
    return checkFile({ ...file, tenant: { id: 'demo', country: 'LK', ...tenant } }, secrets)
  }
  const wrong: [rule: object, path: string, tenant?: object][] = [
    [{ send_between: ['8:00', '20:00'] }, 'rules.0.send_between.0'],
    [{ send_between: ['08:00', '24:01'] }, 'rules.0.send_between.1'],
    [{ send_between: ['08:00'] }, 'rules.0.send_between'],
    [{ send_between: ['08:00', '08:00'] }, 'rules.0.send_between'],
    [{ send_between: ['24:00', '08:00'] }, 'rules.0.send_between'],
    [{ supersedes: ['key_99'] }, 'rules.0.supersedes.0'],
    [{ expires_after_hours: 0 }, 'rules.0.expires_after_hours'],
    [{}, 'tenant.send_between', { send_between: ['09:00', '09:00'] }],
    [{}, 'tenant.time_zone', { time_zone: 'Asia/Nowhere' }],
  ]
  for (const [more, path, tenant] of wrong) {
    const checked = check([rule('key_12', more)], tenant)
    t.strictSame(checked.kind === 'refused' && Object.keys(checked.errors), [path])
  }
  const apply = async (rules: unknown[] | undefined, tenant: object = {}) => {
    const checked = check(rules ?? [], tenant)
    if (checked.kind === 'refused') throw new Error(JSON.stringify(checked.errors))
    const file = { ...checked.file, channels: [], ...(!rules && { rules: undefined }) }
    const applied = await applyFile(pool, keyring, file, false)
    return applied.kind === 'refused' ? Object.keys(applied.errors) : applied.changes.length
  }
  const time_zone = 'Asia/Colombo'
  const rules = [rule('key_12', { send_between: ['08:00', '20:00'], supersedes: ['key_12'], expires_after_hours: 6 })]
  t.ok(await apply(rules, { time_zone }))
  t.equal(await apply(rules, { time_zone }), 0, 'the same file changes nothing')
  t.equal(await apply(undefined), 0, 'a file without time_zone keeps the known one')
  const checked = check([], { time_zone })
  if (checked.kind === 'refused') throw new Error(JSON.stringify(checked.errors))
  const tenant = { ...checked.file.tenant, time_zone: 'Asia/Unheard_Of' }
  t.match(await applyFile(pool, keyring, { ...checked.file, tenant }, false), {
    kind: 'refused',
    errors: { 'tenant.time_zone': [/^Postgres does not know/] },
  })
})
