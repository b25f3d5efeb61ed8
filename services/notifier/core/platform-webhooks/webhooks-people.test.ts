import t, { type Test } from 'tap'
import { change, createFixture, envelope, inbound, minutesAgo, status } from '../../test/webhooks-fixture.ts'

const phone = '94770000101'
const userId = 'LK.13491208655302741918'
const newId = 'LK.2222'
const newPhone = '94770000202'

const open = async (t: Test) => {
  const fixture = await createFixture(t)
  const { call, rows } = fixture
  const says = (fields: object) => call(envelope({ messages: [{ ...inbound(), ...fields }] }))
  /** Posts a message by user id alone. */
  const byId = (body: string, minutes = 1, id = userId) =>
    says({ from: undefined, from_user_id: id, text: { body }, timestamp: minutesAgo(minutes) })
  const byPhone = (body: string, minutes = 1) => says({ text: { body }, timestamp: minutesAgo(minutes) })
  /** Posts a status that names the person by number and by user id. */
  const pair = (id = userId, number = phone) =>
    call(envelope({ statuses: [status({ recipient_id: number, recipient_user_id: id })] }))
  const changes = (system: object, fields: object = {}) =>
    says({ id: 'wamid.change', from: undefined, type: 'system', text: undefined, system, ...fields })
  const conversation = async (person: string) => (await fixture.get(`/api/conversations/${person}`)).json().data
  const recipients = async (table: string) =>
    (await rows(`select distinct recipient from ${table} order by 1`)).map(row => row.recipient)
  return { ...fixture, says, byId, byPhone, pair, changes, conversation, recipients }
}

t.test('a person without a number opens a conversation, opts out and in, beside the same by phone', async t => {
  const { byId, byPhone, conversation } = await open(t)
  for (const [say, person] of [
    [byId, userId],
    [byPhone, phone],
  ] as const) {
    await say('Where is it?', 9)
    t.match(await conversation(person), { open: true, opted_out: false })
    await say('STOP', 8)
    t.match(await conversation(person), { open: true, opted_out: true, opt_outs: [{ by: 'customer: message' }] })
    await say('START', 7)
    t.match(await conversation(person), { opted_out: false })
  }
})

t.test('a user id inside from or wa_id is read as what it is', async t => {
  const { call, conversation, recipients } = await open(t)
  const contacts = [{ wa_id: userId, profile: { name: 'Nimali', username: 'nimali.p' } }]
  await call(envelope({ contacts, messages: [inbound({ from: userId })] }))
  t.equal((await conversation(userId)).open, true)
  t.same(await recipients('inbound_messages'), [userId])
})

t.test('a preference by user id counts for the number as soon as the pair is known', async t => {
  const { call, pair, conversation } = await open(t)
  const preference = {
    category: 'marketing_messages',
    value: 'stop',
    timestamp: Number(minutesAgo(5)),
    user_id: userId,
  }
  const value = { metadata: { phone_number_id: '100' }, user_preferences: [preference] }
  await call({ entry: [change(value, 'user_preferences')] })
  t.match(await conversation(userId), { marketing_opted_out: true, opted_out: false })
  t.match(await conversation(phone), { marketing_opted_out: false })
  await pair()
  t.match(await conversation(phone), { marketing_opted_out: true })
})

t.test('a status by user id alone moves its message on', async t => {
  const { call, addMessages, messageOf } = await open(t)
  await addMessages([{ id: 'm', recipient: userId, providerMessageId: 'wamid.1' }])
  await call(envelope({ statuses: [status({ status: 'read', recipient_id: undefined, recipient_user_id: userId })] }))
  t.equal((await messageOf('m')).status, 'read')
})

t.test('a status by user id alone shows whose number its message went to', async t => {
  const { byId, call, addMessages, conversation } = await open(t)
  await addMessages([{ id: 'm', recipient: phone, providerMessageId: 'wamid.1' }])
  await byId('STOP', 9)
  t.match(await conversation(phone), { open: false, opted_out: false })
  await call(envelope({ statuses: [status({ recipient_id: undefined, recipient_user_id: userId })] }))
  t.match(await conversation(phone), { open: true, opted_out: true })
  await byId('START', 8)
  t.match(await conversation(phone), { opted_out: false })
})

t.test('a stop of marketing messages in a failed status by user id alone counts', async t => {
  const { call, conversation } = await open(t)
  const failed = { status: 'failed', errors: [{ code: 131050 }], recipient_id: undefined, recipient_user_id: userId }
  await call(envelope({ statuses: [status(failed)] }))
  t.match(await conversation(userId), { marketing_opted_out: true })
})

t.test('an opt-out by user id stops messages by phone, whichever comes first: the pair or the opt-out', async t => {
  const { byId, pair, conversation, rows } = await open(t)
  await byId('STOP', 9)
  await pair()
  t.match(await conversation(phone), { opted_out: true })
  t.same(await rows(`select recipient from conversations where opted_out_at is not null`), [{ recipient: phone }])
  await byId('START', 8)
  await byId('STOP', 7)
  t.match(await conversation(phone), { opted_out: true, opt_outs: { length: 3 } })
})

t.test('merged people keep the later window and the opt-out of either, and nothing is listed twice', async t => {
  const { byId, byPhone, pair, conversation, recipients, rows } = await open(t)
  await byId('STOP', 30)
  await byPhone('START', 20)
  await byPhone('Hello', 10)
  await byId('Hello?', 5)
  await pair()
  const merged = await conversation(phone)
  t.equal(merged.last_inbound_at, new Date(Number(minutesAgo(5)) * 1000).toISOString())
  t.equal(merged.opted_out, true, 'although the same person opted in later by phone')
  await byPhone('START', 20)
  t.equal((await conversation(phone)).opted_out, true, 'a repetition of the earlier opt-in changes nothing')
  t.same(await conversation(userId), await conversation(phone), 'the user id leads to the number')
  t.same(await recipients('inbound_messages'), [phone])
  t.equal((await rows('select from conversations where last_inbound_at is not null')).length, 1)
  await byPhone('START', 1)
  t.equal((await conversation(phone)).opted_out, false)
})

t.test('a message held for a number leaves when its person turns out to have written by user id', async t => {
  const { byId, pair, addMessages, messageOf, releases } = await open(t)
  await addMessages([{ id: 'm', status: 'held' }])
  await byId('Hello')
  t.equal((await messageOf('m')).status, 'held')
  await pair()
  t.equal((await messageOf('m')).status, 'queued')
  t.equal(releases(), 1)
})

t.test('messages to a user id become messages to the number, in every status', async t => {
  const { byId, pair, addMessages, rows } = await open(t)
  const statuses = ['queued', 'held', 'sending', 'accepted', 'read', 'failed', 'unknown']
  await addMessages(statuses.map(each => ({ id: each, status: each, recipient: userId })))
  await byId('Hello')
  await pair()
  t.same(await rows('select distinct recipient from messages'), [{ recipient: phone }])
})

t.test('a changed number takes the conversation along, and leaves only the opt-out', async t => {
  const { byPhone, pair, changes, conversation, recipients, addMessages } = await open(t)
  await pair()
  await addMessages([{ id: 'm', status: 'queued' }])
  await byPhone('STOP', 30)
  const system = { type: 'user_changed_number', wa_id: newPhone, user_id: newId, previous_user_id: userId }
  await changes(system, { from: phone })
  for (const person of [newPhone, newId, userId])
    t.match(await conversation(person), { open: true, opted_out: true, opt_outs: [{ scope: 'all' }] }, person)
  t.match(await conversation(phone), { open: false, opted_out: true }, 'nobody knows whose number it is now')
  t.same(await recipients('messages'), [newPhone])
  t.same(await recipients('inbound_messages'), [newPhone])
})

for (const [what, system, from] of [
  ['wa_id', { wa_id: newPhone, customer: phone }, phone],
  ['new_wa_id', { new_wa_id: newPhone }, phone],
  ['the new number as sender', { wa_id: newPhone, customer: phone }, newPhone],
] as const)
  t.test(`the older message about a new number takes the opt-out along: ${what}`, async t => {
    const { byPhone, changes, conversation } = await open(t)
    await byPhone('STOP', 10)
    await changes({ type: 'customer_changed_number', ...system }, { from, timestamp: minutesAgo(9) })
    t.match(await conversation(newPhone), { opted_out: true, open: true })
    t.match(await conversation(phone), { opted_out: true, open: false })
  })

t.test('a system message that comes again does not move the next owner of the number', async t => {
  const { byPhone, changes, conversation } = await open(t)
  const system = { type: 'user_changed_number', wa_id: newPhone }
  const change = () => changes(system, { from: phone, timestamp: minutesAgo(9) })
  await change()
  await byPhone('I am new here')
  await change()
  t.equal((await conversation(phone)).open, true)
  t.equal((await conversation(newPhone)).open, false)
})

t.test('what comes late from before a change counts for the new number, also beside the change itself', async t => {
  const { call, pair, changes, says, byPhone, conversation, recipients } = await open(t)
  await pair()
  const system = { type: 'user_changed_number', wa_id: newPhone, user_id: newId, previous_user_id: userId }
  const late = { ...inbound({ id: 'wamid.late' }), timestamp: minutesAgo(20) }
  const message = { ...inbound({ id: 'wamid.change', type: 'system', system }), timestamp: minutesAgo(10) }
  await call(envelope({ messages: [message, late] }))
  t.match(await conversation(phone), { open: false })
  t.match(await conversation(newPhone), { open: true })
  await says({ id: 'wamid.stop', text: { body: 'STOP' }, timestamp: minutesAgo(15) })
  await changes(system, { from: phone, timestamp: minutesAgo(10) })
  t.match(await conversation(newPhone), { opted_out: true })
  t.match(await conversation(phone), { open: false, opted_out: false }, 'the next owner did not opt out')
  const old = { recipient_id: phone, recipient_user_id: userId, timestamp: minutesAgo(15) }
  await call(envelope({ statuses: [status(old)] }))
  t.same(await conversation(userId), await conversation(newPhone), 'a late status does not lead the id back')
  t.same(await recipients('inbound_messages'), [newPhone])
  await byPhone('I am new here', 5)
  t.match(await conversation(phone), { open: true })
})

t.test('a changed user id takes the conversation along, from the old id or the number that it had', async t => {
  const { byId, pair, changes, conversation, recipients } = await open(t)
  await byId('STOP', 9)
  await changes({ type: 'user_changed_user_id', user_id: newId, previous_user_id: userId }, { from_user_id: userId })
  t.match(await conversation(newId), { open: true, opted_out: true })
  t.same(await recipients('inbound_messages'), [newId])
  await pair(newId, phone)
  t.match(await conversation(phone), { open: true, opted_out: true })
  const next = { type: 'user_changed_user_id', user_id: 'LK.3333', previous_user_id: newId }
  await changes(next, { id: 'wamid.next' })
  t.match(await conversation('LK.3333'), { open: true, opted_out: true })
  t.match(await conversation(phone), { open: false, opted_out: true })
})

t.test('webhooks in which two people meet at once neither fail nor lose one', async t => {
  const { byId, byPhone, pair, conversation, rows } = await open(t)
  const rounds = Array.from({ length: 8 }, (_, index) => [byId('Hello', 9), byPhone('Hello', index + 1), pair()])
  const responses = await Promise.all(rounds.flat())
  t.same([...new Set(responses.map(({ statusCode }) => statusCode))], [200])
  t.equal((await conversation(phone)).open, true)
  t.same(await rows('select distinct recipient from inbound_messages'), [{ recipient: phone }])
})

t.test('a call opens the conversation, once', async t => {
  const { call, conversation, rows } = await open(t)
  const calls = [{ id: 'wacid.1', from_user_id: userId, event: 'connect', timestamp: minutesAgo(3) }]
  const value = { metadata: { phone_number_id: '100' }, calls }
  for (let times = 0; times < 2; times++) await call({ entry: [change(value, 'calls')] })
  const ended = { ...calls[0], id: 'wacid.2', direction: 'BUSINESS_INITIATED' }
  await call({ entry: [change({ ...value, calls: [{ ...ended, from_user_id: newId }] }, 'calls')] })
  t.match(await conversation(userId), { open: true })
  t.match(await conversation(newId), { open: false })
  t.match(await rows('select type from inbound_messages'), [{ type: 'call' }])
})

t.test('an echo of the phone app opens nothing, and a group message neither', async t => {
  const { call, says, conversation, addMessages, messageOf } = await open(t)
  await addMessages([{ id: 'm', status: 'held' }])
  const echo = {
    id: 'wamid.e',
    from: '9411',
    to: phone,
    type: 'text',
    text: { body: 'STOP' },
    timestamp: minutesAgo(1),
  }
  const value = { metadata: { phone_number_id: '100' }, message_echoes: [echo] }
  await call({ entry: [change(value, 'smb_message_echoes')] })
  await says({ group_id: 'g' })
  t.match(await conversation(phone), { open: false, opted_out: false })
  t.equal((await messageOf('m')).status, 'held')
})
