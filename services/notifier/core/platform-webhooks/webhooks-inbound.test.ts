import t from 'tap'
import { change, createFixture, envelope, inbound, minutesAgo } from '../../test/webhooks-fixture.ts'

t.test('a person’s message opens one conversation, from when it was sent; older messages do not change it', async t => {
  const { call, rows, get } = await createFixture(t)
  const message = inbound({ timestamp: minutesAgo(60) })
  const body = envelope({ messages: [message, inbound({ timestamp: minutesAgo(90) })], contacts: [] })
  for (let times = 0; times < 3; times++) await call(body)
  const at = new Date(Number(minutesAgo(60)) * 1000)
  t.match(await rows('select * from conversations'), [
    { tenant_id: 'demo', phone_number_id: '100', last_inbound_at: at },
  ])
  t.equal((await get('/api/conversations/0770000101')).json().data.open, true)
})

t.test('queues a held message when the customer writes, and wakes the queue after the commit', async t => {
  const { call, addMessages, messageOf, timelineOf, releases } = await createFixture(t)
  await addMessages([
    { id: 'm', status: 'held' },
    { id: 'other', status: 'held', recipient: '94770000999' },
  ])
  const body = envelope({ messages: [inbound()] })
  await Promise.all([call(body), call(body), call(body)])
  t.equal((await messageOf('m')).status, 'queued')
  t.equal((await messageOf('other')).status, 'held')
  t.same(await timelineOf('m'), ['queued'])
  t.equal(releases(), 1)
})

t.test('a message from more than a day ago releases no held message', async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'held' }])
  await call(envelope({ messages: [inbound({ timestamp: minutesAgo(24 * 60 + 1) })] }))
  t.equal((await messageOf('m')).status, 'held')
})

t.test('a person who writes or presses STOP gets no held message until START', async t => {
  const { call, addMessages, messageOf, get } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'held' }])
  const says = (body: string, minutes: number) => inbound({ text: { body }, timestamp: minutesAgo(minutes) })
  await call(envelope({ messages: [says(' stop ', 9)] }))
  const optedOut = async () => (await get('/api/conversations/0770000101')).json().data.opted_out
  t.equal(await optedOut(), true)
  t.equal((await messageOf('m')).status, 'held')
  await call(envelope({ messages: [says('hello?', 8), says('START', 10)] }))
  t.equal((await messageOf('m')).status, 'held')
  await call(envelope({ messages: [says('Start', 7)] }))
  t.equal(await optedOut(), false)
  t.equal((await messageOf('m')).status, 'queued')
  await call(envelope({ messages: [inbound({ type: 'button', text: undefined, button: { text: 'Stop' } })] }))
  t.equal(await optedOut(), true)
})

t.test('a number that the API spells differently belongs to the same person', async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'held', recipient: '525512345678' }])
  await call(envelope({ messages: [inbound({ from: '5215512345678' })] }))
  t.equal((await messageOf('m')).status, 'queued')
})

t.test('a template event keeps the catalogue fresh; the newest counts, and approval ends a hold', async t => {
  const { call, rows } = await createFixture(t)
  await rows(`insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components, held_at)
    select tenant, waba, 'hello', 'en_US', 'PENDING', 'POSITIONAL', '[]', now() - interval '1 hour'
    from (values ('demo', 'waba-demo'), ('demo', 'waba-2'), ('rival', 'waba-rival')) as t (tenant, waba)`)
  const report = (event: string, minutes: number, secret = 'old', wabaId = 'waba-demo') => {
    const value = {
      event,
      message_template_id: 1689556908129832,
      message_template_name: 'hello',
      message_template_language: 'en-US',
    }
    return call(
      { entry: [change(value, 'message_template_status_update', wabaId, Number(minutesAgo(minutes)))] },
      secret,
    )
  }
  const catalogue = () =>
    rows(`select waba_id, status, template_id, held_at is not null as held from templates order by 1`)
  t.equal((await report('PAUSED', 5)).statusCode, 200)
  t.same((await catalogue())[1], {
    waba_id: 'waba-demo',
    status: 'PAUSED',
    template_id: '1689556908129832',
    held: true,
  })
  await report('APPROVED', 6)
  t.match((await catalogue())[1], { status: 'PAUSED', held: true }, 'an older event changes nothing')
  await report('APPROVED', 4)
  t.match((await catalogue())[1], { status: 'APPROVED', held: false })
  await rows(`update templates set held_at = now()`)
  await report('APPROVED', 4)
  t.match((await catalogue())[1], { status: 'APPROVED', held: true }, 'a repetition does not end a later hold')
  t.equal((await report('DISABLED', 1, 'old', 'waba-rival')).statusCode, 401)
  t.match(await catalogue(), [{ status: 'PENDING' }, {}, { status: 'PENDING' }])
})

t.test('the newest event of each template in a webhook counts; unknown templates are harmless', async t => {
  const { call, rows } = await createFixture(t)
  await rows(`insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
    values ('demo', 'waba-demo', 'hello', 'en', 'PENDING', 'POSITIONAL', '[]')`)
  const event = (name: string, status: string, minutes: number) =>
    change(
      { event: status, message_template_name: name, message_template_language: 'en' },
      'message_template_status_update',
      'waba-demo',
      Number(minutesAgo(minutes)),
    )
  const entry = [event('hello', 'APPROVED', 3), event('hello', 'PENDING', 4), event('new', 'APPROVED', 1)]
  t.equal((await call({ entry })).statusCode, 200)
  t.same(await rows('select name, status from templates'), [{ name: 'hello', status: 'APPROVED' }])
})
