import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { createFixture, envelope, minutesAgo, status } from '../../test/webhooks-fixture.ts'
import { messageStatuses, type Tx } from '../database/tables.ts'
import { resendMessage } from '../messages/change.ts'
import { isForward, reportedStatuses } from './settle.ts'

t.test('a report moves a message on, and its timeline shows the report’s own time', async t => {
  const { call, addMessages, messageOf, rows } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const response = await call(envelope({ statuses: [status({ timestamp: minutesAgo(5) })] }))
  t.equal(response.statusCode, 200)
  t.same(response.json(), {})
  t.match(await messageOf('m'), { status: 'sent', error_code: null })
  const [event] = await rows('select status, happened_at, detail from message_events')
  t.same(event, { status: 'sent', happened_at: new Date(Number(minutesAgo(5)) * 1000), detail: null })
})

t.test("a report is about the message that its callback data names, else the one with the API's id", async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([
    { id: 'carried', status: 'unknown' },
    { id: 'called', status: 'accepted', providerMessageId: 'wamid.1' },
    { id: 'by name', status: 'accepted', providerMessageId: 'wamid.2' },
  ])
  await call(
    envelope({
      statuses: [
        status({ biz_opaque_callback_data: 'carried' }),
        status({ id: 'wamid.2', biz_opaque_callback_data: 'of another program' }),
      ],
    }),
  )
  t.match(await messageOf('carried'), { status: 'sent', provider_message_id: 'wamid.1' })
  t.match(await messageOf('called'), { status: 'accepted' })
  t.match(await messageOf('by name'), { status: 'sent' })
})

t.test('every report settles an unknown message, one being sent and one being resent', async t => {
  const { call, addMessages, messageOf, timelineOf } = await createFixture(t)
  for (const from of ['unknown', 'sending', 'queued'])
    for (const to of reportedStatuses) {
      const id = `${from} ${to}`
      await addMessages([{ id, status: from }])
      await call(envelope({ statuses: [status({ id: `wamid ${id}`, status: to, biz_opaque_callback_data: id })] }))
      t.match(await messageOf(id), { status: to, provider_message_id: `wamid ${id}` }, id)
      t.same(await timelineOf(id), [to])
    }
})

t.test('a report changes the database exactly as isForward says, from every status to every other', async t => {
  const { call, addMessages, messageOf, timelineOf } = await createFixture(t)
  for (const from of messageStatuses)
    for (const to of reportedStatuses) {
      const id = `${from} ${to}`
      await addMessages([{ id, status: from, providerMessageId: `wamid ${id}` }])
      await call(envelope({ statuses: [status({ id: `wamid ${id}`, status: to })] }))
      t.equal((await messageOf(id)).status, isForward(from, to) ? to : from, id)
      t.equal((await timelineOf(id)).length, isForward(from, to) ? 1 : 0, id)
    }
})

t.test('the reports of one webhook result in the most complete timeline, in any order', async t => {
  const { call, addMessages, messageOf, timelineOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const statuses = ['failed', 'read', 'delivered', 'sent', 'read'].map(name => status({ status: name }))
  await call(envelope({ statuses }))
  t.equal((await messageOf('m')).status, 'read')
  t.same(await timelineOf('m'), ['sent', 'delivered', 'read'])
})

t.test('a failure keeps code and title, and nothing personal; a later delivery clears them', async t => {
  const { call, addMessages, messageOf, rows } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'sent', providerMessageId: 'wamid.1' }])
  const errors = [{ code: 131026, title: 'Message undeliverable', error_data: { details: '+94770000101 is offline' } }]
  await call(envelope({ statuses: [status({ status: 'failed', errors })] }))
  t.match(await messageOf('m'), { status: 'failed', error_code: 131026, error_meaning: 'Message undeliverable' })
  t.same(await rows('select detail from message_events'), [{ detail: '131026: Message undeliverable' }])
  await call(envelope({ statuses: [status({ status: 'delivered' })] }))
  t.match(await messageOf('m'), { status: 'delivered', error_code: null, error_meaning: null })
})

t.test('a failure without a reason is a failure', async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'sent', providerMessageId: 'wamid.1' }])
  await call(envelope({ statuses: [status({ status: 'failed', errors: 'none' })] }))
  t.match(await messageOf('m'), { status: 'failed', error_code: null, error_meaning: String })
})

t.test('repeated reports of a failed send do not touch its second send; a new report does', async t => {
  const { call, addMessages, messageOf, timelineOf, rows } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const first = envelope({
    statuses: [status({ timestamp: minutesAgo(9) }), status({ status: 'failed', timestamp: minutesAgo(8) })],
  })
  await call(first)
  await rows(`update messages set status = 'queued'`)
  await call(first)
  t.equal((await messageOf('m')).status, 'queued')
  t.same(await timelineOf('m'), ['sent', 'failed'])
  const second = { id: 'wamid.2', biz_opaque_callback_data: 'm', timestamp: minutesAgo(1) }
  await call(envelope({ statuses: [status(second)] }))
  t.equal((await messageOf('m')).status, 'sent')
})

t.test('a reported failure holds its template once', async t => {
  const { call, addMessages, rows } = await createFixture(t)
  await rows(`insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
    values ('demo', 'waba-demo', 'hello', 'en_US', 'APPROVED', 'POSITIONAL', '[]')`)
  const readHeldCode = async () => (await rows('select held_code from templates'))[0].held_code
  await addMessages([{ id: 'm', status: 'sent', providerMessageId: 'wamid.1' }])
  const failed = envelope({ statuses: [status({ status: 'failed', errors: [{ code: 132015 }] })] })
  await call(failed)
  t.equal(await readHeldCode(), 132015)
  await rows('update templates set held_at = null, held_code = null')
  await call(failed)
  t.equal(await readHeldCode(), null, 'a repetition holds nothing')
})

t.test('a reported limit of a number rests the number for its time', async t => {
  const { call, addMessages, rows } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'sent', providerMessageId: 'wamid.1' }])
  await call(envelope({ statuses: [status({ status: 'failed', errors: [{ code: 131048 }] })] }))
  const rests = `select state, round(extract(epoch from not_before - now()) / 3600)::integer as hours from channels
    where tenant_id = 'demo' and not_before is not null`
  t.same(await rows(rests), [{ state: 'active', hours: 24 }])
})

t.test('a failure that the queue is already retrying does not end the retry; a final one does', async t => {
  const { call, addMessages, messageOf, timelineOf } = await createFixture(t)
  const ends = { 131016: false, 131056: false, 131042: false, 131026: true, 132015: true }
  for (const [code, isFinal] of Object.entries(ends)) {
    await addMessages([{ id: code, status: 'queued' }])
    const fields = { id: `wamid ${code}`, status: 'failed', biz_opaque_callback_data: code, errors: [{ code }] }
    await call(envelope({ statuses: [status(fields)] }))
    const expected = isFinal ? ['failed', `wamid ${code}`] : ['queued', null]
    const { status: reached, provider_message_id } = await messageOf(code)
    t.same([reached, provider_message_id], expected, code)
    t.equal((await timelineOf(code)).length, Number(isFinal))
  }
})

t.test('a report of a send whose response was lost does not touch the next send', async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.2' }])
  const report = (id: string, word: string) =>
    call(envelope({ statuses: [status({ id, biz_opaque_callback_data: 'm', status: word })] }))
  for (const word of ['sent', 'failed']) await report('wamid.1', word)
  t.match(await messageOf('m'), { status: 'accepted', provider_message_id: 'wamid.2' })
  await report('wamid.2', 'sent')
  t.equal((await messageOf('m')).status, 'sent')
  await report('wamid.1', 'delivered')
  t.equal((await messageOf('m')).status, 'delivered', 'the person has the message')
})

t.test('a late failure of an earlier send does not fail the next one', async t => {
  const { call, addMessages, messageOf, pool } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const report = (name: string, id: string) =>
    call(envelope({ statuses: [status({ id, status: name, biz_opaque_callback_data: 'm' })] }))
  await report('failed', 'wamid.1')
  t.equal((await messageOf('m')).status, 'failed')
  t.equal(await inTenant(pool, 'demo', (tx: Tx) => resendMessage(tx, 'demo', 'm')), 'queued')
  for (const name of ['sent', 'failed']) await report(name, 'wamid.1')
  t.match(await messageOf('m'), { status: 'queued', provider_message_id: null })
  await report('delivered', 'wamid.1')
  t.equal((await messageOf('m')).status, 'delivered')
})
