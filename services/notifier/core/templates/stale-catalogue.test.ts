import { inTenant } from '@courier/shared/postgres/database.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { phoneNumberId, until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import { change, postWebhook } from '../../test/webhooks-fixture.ts'
import { storeSecret } from '../channels/secrets.ts'
import { createCatalogueSyncs, createSyncChannel } from '../channels/sync-templates.ts'
import type { Tx } from '../database/tables.ts'
import { findTemplates } from './queries.ts'

const wabaId = '102290129340398'
const name = 'order_delivered'
const rule = {
  on: 'order.created',
  template: name,
  language: 'en_US',
  body: ['{{customer_name}}', '{{waybill_number}}'],
}
const staffMessage = {
  to: '0770000101',
  template: {
    ...{ name, language: { code: 'en_US' } },
    components: [{ type: 'body', parameters: ['Nimali', 'DM1'].map(text => ({ type: 'text', text })) }],
  },
}

/** Prepares a notifier with a synced catalogue that lacks a template of the platform. */
const prepare = async (t: Test) => {
  const built = await build(t, undefined, undefined, { wabaId })
  const { call, rows, pool, control, tokens, api } = built
  await giveRules(pool, [rule])
  t.equal((await call('POST', '/api/templates/sync')).status, 200)
  await rows(`update channels set catalogue_due_at = now() + interval '1 day', catalogue_tried_at = now()`)
  const forget = () => rows(`delete from templates where name = '${name}'`)
  await forget()
  const deliver = (id: string) => built.deliver(orderEvent(id, { waybill_number: id }))
  const readStatus = async (waybill: string) =>
    (await rows('select status, error_code from messages where waybill_number = $1', [waybill]))[0]
  const isKnown = async () =>
    (await rows(`select from templates where name = '${name}' and status = 'APPROVED'`)).length === 1
  const { syncDue } = createCatalogueSyncs(pool, pino({ level: 'silent' }), createSyncChannel(pool, tokens, api))
  const reads = () => control.calls(1000).filter(({ path }) => path.includes('message_templates')).length
  return { ...built, forget, deliver, readStatus, isKnown, reads, syncDue }
}

t.test('sends a rule’s message with a template that the catalogue lacks or shows as paused', async t => {
  const { deliver, readStatus, rows, queue } = await prepare(t)
  await deliver('lacking')
  await rows(`insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
    values ('demo', '${wabaId}', '${name}', 'en_US', 'PAUSED', 'POSITIONAL', '[]')`)
  await deliver('paused')
  t.match([await readStatus('lacking'), await readStatus('paused')], [{ status: 'queued' }, { status: 'queued' }])
  queue.start()
  for (const waybill of ['lacking', 'paused'])
    await until('the platform accepts the message', async () => (await readStatus(waybill)).status === 'accepted')
})

t.test('a refusal by the platform holds the template, and the next message waits', async t => {
  const { deliver, readStatus, rows, queue, control } = await prepare(t)
  await rows(`insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
    values ('demo', '${wabaId}', '${name}', 'en_US', 'PAUSED', 'POSITIONAL', '[]')`)
  control.script({ times: 1, trouble: { kind: 'error', code: 132015 } })
  queue.start()
  await deliver('first')
  queue.wake()
  await until('the first message is refused', async () => (await readStatus('first')).error_code === 132015)
  await deliver('second')
  t.match(await readStatus('second'), { status: 'queued' })
})

t.test('a send by staff finds a new template; an account is read at most once in ten seconds', async t => {
  const { call, forget, rows, reads, isKnown } = await prepare(t)
  t.equal((await call('POST', '/api/messages', staffMessage)).status, 422, 'the catalogue was just read')
  const elapse = () => rows(`update channels set catalogue_tried_at = now() - interval '11 seconds'`)
  await elapse()
  const before = reads()
  t.equal((await call('POST', '/api/messages', staffMessage)).status, 202)
  t.equal(reads(), before + 1)
  await forget()
  const lost = { ...staffMessage, template: { ...staffMessage.template, name: 'lost' } }
  t.match(await call('POST', '/api/messages', lost), {
    status: 422,
    body: { errors: { 'template.name': [/There is no template lost in the catalogue/] } },
  })
  t.equal(reads(), before + 1)
  await elapse()
  const responses = await Promise.all(Array.from({ length: 5 }, () => call('POST', '/api/messages', lost)))
  t.same(
    responses.map(({ status }) => status),
    [422, 422, 422, 422, 422],
  )
  t.equal(reads(), before + 2)
  t.ok(await isKnown())
  t.equal((await call('POST', '/api/messages', { ...lost, channel: '\0' })).status, 422)
})

t.test(
  'a catalogue is read daily, every quarter of an hour while a rule lacks its template, and never by two at once',
  async t => {
    const { forget, rows, reads, isKnown, syncDue, control } = await prepare(t)
    const before = reads()
    await syncDue()
    t.equal(reads(), before, 'the catalogue was just read')
    await rows(`update channels set catalogue_tried_at = now() - interval '16 minutes'`)
    await Promise.all([syncDue(), syncDue()])
    t.equal(reads(), before + 1)
    t.ok(await isKnown())
    await rows(`update channels set catalogue_tried_at = now() - interval '23 hours'`)
    await syncDue()
    t.equal(reads(), before + 1, 'nothing is lacking')
    await rows(`update channels set catalogue_due_at = now()`)
    await forget()
    control.putToken({ access_token: 'demo-access-token', revoked: true })
    await syncDue()
    t.notOk(await isKnown())
    const [{ minutes }] = await rows(
      'select extract(epoch from catalogue_due_at - now()) / 60 as minutes from channels',
    )
    t.ok(minutes > 55 && minutes <= 60, 'the sync is tried again after an hour')
  },
)

t.test('a webhook that reports an approved template starts a sync of the catalogue', async t => {
  const { app, pool, keyring, isKnown, catalogues } = await prepare(t)
  await inTenant(pool, 'demo', (tx: Tx) =>
    storeSecret(tx, keyring, { tenant: 'demo', phoneNumberId, kind: 'app_secret' }, 'demo-app-secret'),
  )
  const report = async (event: string) => {
    const value = { event, message_template_id: 1, message_template_name: name, message_template_language: 'en-US' }
    const entry = [change(value, 'message_template_status_update', wabaId)]
    const body = { object: 'whatsapp_business_account', entry }
    t.equal((await postWebhook(app, body)).statusCode, 200)
  }
  catalogues.start()
  await report('REJECTED')
  t.notOk(await isKnown())
  await report('APPROVED')
  await until('the catalogue has the template', isKnown)
})

t.test('a catalogue that comes while a message is checked is seen whole or not at all', async t => {
  const { pool, rows } = await prepare(t)
  const rest = `'en_US', 'APPROVED', 'POSITIONAL', '[]'`
  const values = ['a', 'b', name].map(each => `('demo', '${wabaId}', '${each}', ${rest})`)
  let isOver = false
  const write = async () => {
    while (!isOver) {
      await rows(`delete from templates where waba_id = '${wabaId}'`)
      await rows(`insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
        values ${values}`)
    }
  }
  const writing = write()
  const found = []
  for (let round = 0; round < 1_000; round++)
    found.push(await inTenant(pool, 'demo', (tx: Tx) => findTemplates(tx, 'demo', wabaId, [name])))
  isOver = true
  await writing
  t.ok(found.includes(undefined) && found.some(templates => templates?.length === 1), 'both were seen')
  t.equal(found.filter(templates => templates?.length === 0).length, 0)
})
