import t from 'tap'
import { toUserId } from '../messages/people.ts'
import { build, message, pick, receiveWebhooks, templateMessage } from './build.ts'

const phone = '94771234567'
const userId = toUserId(phone)

t.test(
  'webhooks name a person by number, by both, by the user id alone, or by a user id in place of the number',
  async t => {
    const callback = await receiveWebhooks(t)
    const { control, send, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
    t.notMatch(userId, /1234567/, 'the user id shows nothing of the number')
    const named = {
      phones: [{ from: phone, from_user_id: undefined }, phone, { recipient_id: phone, recipient_user_id: undefined }],
      both: [{ from: phone, from_user_id: userId }, phone, { recipient_id: phone, recipient_user_id: userId }],
      user_ids: [{ from: undefined, from_user_id: userId }, undefined, { recipient_user_id: userId }],
      user_ids_in_from: [{ from: userId, from_user_id: undefined }, userId, { recipient_id: userId }],
    } as const
    for (const [people, [from, waId, recipient]] of Object.entries(named)) {
      control.behave({ people: people as keyof typeof named })
      callback.posts.length = 0
      control.inbound({ from: phone, text: 'Hello' })
      await send()
      await awaitIdle()
      const { value } = callback.changes().find(change => change.value.messages)
      const { from: number, from_user_id: id } = value.messages[0]
      t.same({ from: number, from_user_id: id }, from, people)
      t.equal(value.contacts[0].wa_id, waId)
      t.match(callback.statuses()[0], recipient)
    }
  },
)

t.test('a send to a user id names it as recipient; in `to` it is accepted and dropped', async t => {
  const callback = await receiveWebhooks(t)
  const { control, send, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url } })
  const sent = await send(message({ to: undefined, recipient: userId }))
  t.match(sent.body.contacts, [{ input: userId, user_id: userId }])
  await awaitIdle()
  t.match(callback.statuses()[0], { recipient_user_id: userId, recipient_id: undefined })
  const dropped = await send(message({ to: userId }))
  await awaitIdle()
  t.equal(dropped.status, 200)
  t.match(control.messages(), [{ to: phone, id: sent.body.messages[0].id }])
  t.equal(control.messages().length, 1)
  t.match(pick(await send(message({ to: undefined }))), [400, 100])
  const parameters = [{ type: 'text', text: '1' }]
  const button = { type: 'button', sub_type: 'url', index: 0, parameters }
  const code = templateMessage('login_code', [{ type: 'body', parameters }, button])
  t.equal((await send(code)).status, 200)
  t.match(pick(await send({ ...code, to: undefined, recipient: userId })), [400, 131062])
})

t.test('a request for the number is answered with the person’s own contact card', async t => {
  const callback = await receiveWebhooks(t)
  const { control, send, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url, people: 'user_ids' } })
  control.inbound({ from: phone, text: 'Hello' })
  const action = { name: 'request_contact_info' }
  const interactive = { type: 'request_contact_info', body: { text: 'Which number?' }, action }
  const asked = await send({ messaging_product: 'whatsapp', recipient: userId, type: 'interactive', interactive })
  control.press({ message_id: asked.body.messages[0].id, index: 0 })
  await awaitIdle()
  const answers = callback.changes().flatMap(({ value }) => value.messages ?? [])
  t.match(answers.slice(-1), [
    { from_user_id: userId, type: 'contacts', contacts: [{ origin: 'contact_request', phones: [{ wa_id: phone }] }] },
  ])
})

t.test('calls, echoes, changed numbers and preferences come on their own fields', async t => {
  const callback = await receiveWebhooks(t)
  const { control, awaitIdle } = await build(t, { behaviour: { webhook_url: callback.url, people: 'both' } })
  for (const kind of ['call', 'echo', 'change', 'marketing_stop'] as const)
    control.event({ kind, person: phone, text: '94770000009' })
  control.behave({ people: 'user_ids' })
  control.event({ kind: 'change', person: phone, text: '94770000009' })
  await awaitIdle()
  const ids = { user_id: toUserId('94770000009'), previous_user_id: userId }
  t.match(callback.changes(), [
    { field: 'calls', value: { calls: [{ from: phone, event: 'connect' }] } },
    { field: 'smb_message_echoes', value: { message_echoes: [{ to: phone, text: { body: '94770000009' } }] } },
    { value: { messages: [{ system: { type: 'user_changed_number', wa_id: '94770000009', ...ids } }] } },
    { field: 'user_preferences', value: { user_preferences: [{ user_id: userId, value: 'stop' }] } },
    { value: { messages: [{ from_user_id: userId, system: { type: 'user_changed_user_id', ...ids } }] } },
  ])
})
