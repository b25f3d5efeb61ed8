import t, { type Test } from 'tap'
import { toUserId } from '../../simulator/messages/people.ts'
import { until } from './test/fixture.ts'
import { orderEvent } from './test/orders-stand-in.ts'
import { changeAddress, confirm, customer, prepareTenant } from './test/replies-fixture.ts'
import { envelope, inbound, minutesAgo, postWebhook } from './test/webhooks-fixture.ts'

const userId = toUserId(customer)

/** Starts the notifier and a simulator whose webhooks name people by user id alone. */
const open = async (t: Test, people: 'both' | 'user_ids' = 'user_ids') => {
  const prepared = await prepareTenant(t)
  const { control, call, heard, rows } = prepared
  control.behave({ people })
  const write = async (text: string) => {
    control.inbound({ from: customer, text })
    await heard()
  }
  const reply = (body: object, person = userId) => call('POST', `/api/conversations/${person}/reply`, body)
  const thread = async (person = userId) => (await call('GET', `/api/conversations/${person}/messages`)).body
  const statusOf = async (id: string) => (await call('GET', `/api/messages/${id}`)).body.data.status
  const read = (id: string) => until(`${id} is read`, async () => (await statusOf(id)) === 'read')
  /** Offers the buttons; a person presses none before the API's id of the message is stored. */
  const offer = async (): Promise<string> => {
    const id = await prepared.offer()
    await until(
      'its id is stored',
      async () => (await rows('select from messages where provider_message_id = $1', [id]))[0],
    )
    return id
  }
  return { ...prepared, write, reply, thread, read, offer }
}

t.test('staff see the username of a person without a number, and replies and templates reach the person', async t => {
  const { write, reply, thread, read, call, control } = await open(t)
  await write('Where is my parcel?')
  t.match((await call('GET', '/api/conversations')).body.data, [
    { phone: null, user_id: userId, username: /^user/, unread: 1, last_message: { text: 'Where is my parcel?' } },
  ])
  const answered = await reply({ text: 'With the rider.' })
  t.equal(answered.status, 202)
  const template = { name: 'order_delivered', language: { code: 'en_US' }, components: [] as object[] }
  template.components = [{ type: 'body', parameters: ['Nimali', 'DM1'].map(text => ({ type: 'text', text })) }]
  const sent = await call('POST', '/api/messages', { to: userId, template })
  t.equal(sent.status, 202)
  await read(answered.body.data.id)
  await read(sent.body.data.id)
  t.same(new Set(control.messages().map(({ to }) => to)), new Set([customer]))
  const { data, conversation } = await thread()
  t.match(conversation, { phone: null, user_id: userId, open: true })
  t.match(data, [{ template: 'order_delivered', status: 'read' }, { text: 'With the rider.' }, { direction: 'in' }])
})

t.test('an authentication template with a code needs a number', async t => {
  const { call, rows } = await open(t)
  await rows(`update channels set waba_id = '102290129340398'`)
  await call('POST', '/api/templates/sync')
  const parameters = [{ type: 'text', text: '123456' }]
  const button = { type: 'button', sub_type: 'url', index: 0, parameters }
  const template = {
    name: 'login_code',
    language: { code: 'en_US' },
    components: [{ type: 'body', parameters }, button],
  }
  const refused = await call('POST', '/api/messages', { to: userId, template })
  t.match(refused, { status: 422, body: { errors: { to: [/authentication template .* needs a phone number/] } } })
  t.equal((await call('POST', '/api/messages', { to: customer, template })).status, 202)
})

t.test('a person who is asked for the number and shares it has one conversation', async t => {
  const { write, reply, thread, heard, call, control, read } = await open(t)
  await write('Hello')
  const asked = await reply({ text: 'Which number do you have?', asks_number: true })
  await read(asked.body.data.id)
  const [message] = control.messages()
  t.match(message?.rendered, { body: 'Which number do you have?', buttons: ['Share phone number'] })
  control.press({ message_id: message?.id ?? '', index: 0 })
  await heard()
  t.match((await call('GET', '/api/conversations')).body.data, [{ phone: customer, user_id: userId, open: true }])
  const { data } = await thread(customer)
  const shown = data.map(({ text }: { text: string }) => text)
  t.same(shown.sort(), [`+${customer}`, 'Hello', 'Which number do you have?'])
  t.same(await thread(), await thread(customer))
  const answered = await reply({ text: 'Thank you.' }, customer)
  await read(answered.body.data.id)
})

t.test('a press without any number acts by its sealed payload alone, and pairs the person', async t => {
  const { offer, control, settled, texted, texts, thread, heard, write } = await open(t)
  control.press({ message_id: await offer(), index: confirm })
  t.match(await settled(1), [{ action: 'confirm_order', recipient: customer, outcome: 'done' }])
  await texted(1)
  t.match(texts(), ['Thank you Nimali Perera.\nSee you tomorrow.'])
  await write('By the way …')
  await heard()
  t.equal((await thread(customer)).data.filter(({ direction }: { direction: string }) => direction === 'in').length, 2)
})

t.test('a press that names nobody at all acts; one with the payload of another message does not', async t => {
  const { app, offer, control, settled, stored, phoneNumberId } = await open(t)
  const id = await offer()
  const payload = control
    .messages()
    .find(message => message.id === id)
    ?.components.find(({ type }) => type === 'button')
  const button = { text: 'Confirm', payload: payload?.parameters?.[0]?.payload }
  const press = (context: object) =>
    postWebhook(
      app,
      envelope(
        { messages: [{ ...inbound({ from: undefined, text: undefined, type: 'button', button }), context }] },
        phoneNumberId,
      ),
    )
  t.equal((await press({ id: 'wamid.other' })).statusCode, 200)
  t.same(await stored(), [])
  await press({ id })
  t.match(await settled(1), [{ action: 'confirm_order', recipient: customer }])
})

t.test('a press by user id of another person, whose number is known, does nothing', async t => {
  const { offer, control, stored, heard, thread } = await open(t, 'both')
  const stranger = '94770000999'
  const id = await offer()
  control.inbound({ from: stranger, text: 'Hello' })
  await heard()
  control.behave({ people: 'user_ids' })
  control.press({ message_id: id, index: confirm, from: stranger })
  await heard()
  t.same(await stored(), [])
  t.match(await thread(toUserId(stranger)), { conversation: { phone: stranger }, data: { length: 2 } })
})

t.test('a press without any number acts before the outcome of the send is stored', async t => {
  const { deliver, control, settled, rows } = await open(t)
  // No webhook reports the send, whose response is lost.
  control.behave({ delay_factor: 100 })
  control.script({ recipient: customer, trouble: { kind: 'lost', accepted: true } })
  await deliver(orderEvent('DM2 1', { waybill_number: 'DM2' }))
  await until('it is unknown', async () => (await rows(`select from messages where status = 'unknown'`))[0])
  control.press({ message_id: control.messages()[0]?.id ?? '', index: confirm })
  t.match(await settled(1), [{ action: 'confirm_order', waybill_number: 'DM2', recipient: customer, outcome: 'done' }])
})

t.test('a person without a number edits an address: only the edited one is asked about and delivered', async t => {
  const { offer, control, settled, texted, question, write, orders, heard, thread } = await open(t)
  orders.decide.outcomeOf = ({ address }) => (address === undefined ? 'asked' : 'done')
  control.press({ message_id: await offer(), index: changeAddress })
  await settled(1)
  await texted(1)
  const original = control.inbound({ from: customer, text: 'No. 5, Temple Road' })
  await question('No. 5')
  const message = { type: 'text', text: { body: 'No. 7, Temple Road' } }
  control.inbound({ from: customer, message: { type: 'edit', edit: { original_message_id: original.id, message } } })
  control.press({ message_id: await question('No. 7'), index: 0 })
  await until('orders has the address', async () => orders.acted.some(({ address }) => address))
  t.match(
    orders.acted.filter(({ address }) => address),
    [{ address: 'No. 7, Temple Road' }],
  )
  await heard()
  const written = (await thread(customer)).data.filter(({ direction }: { direction: string }) => direction === 'in')
  t.notMatch(JSON.stringify(written), 'No. 5', 'the newer text stands in place of the older one')
  await write('stop')
  t.match((await thread(customer)).conversation, { phone: customer })
})

t.test('an edit in a conversation is unread, stands for its message, and may opt out', async t => {
  const { app, thread, call, phoneNumberId } = await open(t)
  const says = (fields: object) =>
    postWebhook(
      app,
      envelope({ messages: [inbound({ from: undefined, from_user_id: userId, ...fields })] }, phoneNumberId),
    )
  const edit = (id: string, body: string, minutes: number) =>
    says({
      id,
      type: 'edit',
      text: undefined,
      timestamp: minutesAgo(minutes),
      edit: { original_message_id: 'wamid.1', message: { type: 'text', text: { body } } },
    })
  await edit('wamid.3', 'third', 7)
  await edit('wamid.2', 'second', 8)
  t.match((await thread()).conversation, { open: false }, 'an edit alone opens nothing')
  await says({ id: 'wamid.1', text: { body: 'first' }, timestamp: minutesAgo(9) })
  t.match((await thread()).data, { length: 1, 0: { type: 'text', text: 'third', unread: true } })
  const list = (await call('GET', '/api/conversations?unread=true')).body.data
  t.match(list, { length: 1, 0: { unread: 1, last_message: { text: 'third' } } })
  await edit('wamid.4', 'STOP\ud800', 6)
  t.equal((await call('GET', `/api/conversations/${userId}`)).body.data.opted_out, true)
  t.match((await thread()).data, { length: 1, 0: { text: 'STOP\ufffd', unread: false } })
})

t.test('of the edits of one second the one that came last shows, and a deletion wins', async t => {
  const { app, thread, phoneNumberId } = await open(t)
  const says = (...messages: object[]) => {
    const given = messages.map(fields => inbound({ from: undefined, from_user_id: userId, text: undefined, ...fields }))
    return postWebhook(app, envelope({ messages: given }, phoneNumberId))
  }
  const edit = (id: string, body: string, of = 'wamid.1', timestamp = minutesAgo(7)) => {
    const message = { type: 'text', text: { body } }
    return { id, type: 'edit', timestamp, edit: { original_message_id: of, message } }
  }
  const shown = async () =>
    (await thread()).data.map(({ text, type, unread }: Record<string, unknown>) => [type, text, unread])
  await says({ id: 'wamid.1', text: { body: 'first' }, timestamp: minutesAgo(9) })
  await says(edit('wamid.z', 'second'))
  await says(edit('wamid.y', 'third'))
  await says(edit('wamid.z', 'second'))
  t.same(await shown(), [['text', 'third', true]])
  await says(edit('wamid.x', 'fourth'), edit('wamid.a', 'fifth'), edit('wamid.x', 'fourth'))
  t.same(await shown(), [['text', 'fifth', true]], 'in one webhook, with a copy, and ids in another order')
  await says({ id: 'wamid.r', type: 'revoke', timestamp: minutesAgo(7), revoke: { original_message_id: 'wamid.1' } })
  await says(edit('wamid.w', 'late'))
  t.same(await shown(), [['revoke', null, true]])
})

t.test(
  'a message that its person deleted shows as deleted, even if the deletion comes first, and opens nothing',
  async t => {
    const { app, thread, phoneNumberId } = await open(t)
    const says = (fields: object) =>
      postWebhook(
        app,
        envelope({ messages: [inbound({ from: undefined, from_user_id: userId, ...fields })] }, phoneNumberId),
      )
    const revoke = { type: 'revoke', text: undefined, revoke: { original_message_id: 'wamid.1' } }
    await says({ ...revoke, id: 'wamid.2', timestamp: minutesAgo(8) })
    t.match((await thread()).conversation, { open: false })
    await says({ id: 'wamid.1', text: { body: 'I am ill' }, timestamp: minutesAgo(9) })
    t.match((await thread()).data, { length: 1, 0: { type: 'revoke', text: null } })
  },
)

t.test('an opt-out by user id stops a rule’s message by phone, as soon as a status pairs the two', async t => {
  const { write, offer, heard, call, control, deliver } = await open(t, 'user_ids')
  await write('STOP')
  control.behave({ people: 'both' })
  await offer()
  await heard()
  await until('paired', async () => (await call('GET', `/api/conversations/${customer}`)).body.data.opted_out)
  const before = control.messages().length
  await deliver(orderEvent('DM2 1', { waybill_number: 'DM2' }))
  t.match((await call('GET', '/api/messages?waybill_number=DM2')).body.data, [
    { status: 'failed', error: { meaning: /asked for no more messages/ } },
  ])
  t.equal(control.messages().length, before)
})

t.test('what the phone app sent appears once, as sent, and leaves the unread messages and the list alone', async t => {
  const { write, control, heard, thread, call, rows } = await open(t)
  await write('Where is it?')
  control.event({ kind: 'echo', person: customer, text: 'It comes today.' })
  await heard()
  t.match((await thread()).data, [
    { direction: 'out', text: 'It comes today.', status: null, unread: false },
    { direction: 'in', unread: true },
  ])
  t.match((await call('GET', '/api/conversations?unread=true')).body.data, [
    { unread: 1, last_message: { text: 'Where is it?' } },
  ])
  const summary = (await call('GET', '/api/messages/summary')).body.data
  t.match(summary, { unread_conversations: 1, queued: 0 })
  t.same(await rows('select * from message_prices'), [])
})
