import t, { type Test } from 'tap'
import { until } from '../../test/fixture.ts'
import { callMe, changeAddress, confirm, customer, prepareTenant } from '../../test/replies-fixture.ts'
import { postWebhook } from '../../test/webhooks-fixture.ts'

const conversation = `/api/conversations/${customer}`

/** Starts the notifier and the simulator, in which another responder may answer customers of the number. */
const open = async (t: Test) => {
  const prepared = await prepareTenant(t)
  const { call, control, heard } = prepared
  const happens = async (kind: 'route' | 'pass' | 'take' | 'release' | 'answer', text = '') => {
    control.event({ kind, person: customer, text })
    await heard()
  }
  const says = async (text: string) => {
    control.inbound({ from: customer, text })
    await heard()
  }
  const thread = async () => (await call('GET', `${conversation}/messages`)).body
  const owner = async () => (await thread()).conversation.owner
  const reply = (body: object) => call('POST', `${conversation}/reply`, body)
  const messages = async (status: string) => (await call('GET', `/api/messages?status=${status}`)).body.data
  const detail = async (id: string) => (await call('GET', `/api/messages/${id}`)).body.data.timeline.at(-1)?.detail
  return { ...prepared, happens, says, thread, owner, reply, messages, detail }
}

t.test('what both sides write while another responder answers is shown, and opens the conversation', async t => {
  const { happens, says, thread, texts, call } = await open(t)
  await happens('route')
  await says('Where is it?')
  await happens('answer', 'I will look.')
  const { data, conversation: window } = await thread()
  t.match(data, [
    { direction: 'out', text: 'I will look.', standby: true, status: null, unread: false },
    { direction: 'in', text: 'Where is it?', standby: true, unread: true },
  ])
  t.match(window, { open: true, owner: 'other', owner_at: String })
  t.match((await call('GET', '/api/conversations?unread=true')).body.data, [{ phone: customer, owner: 'other' }])
  await says('STOP')
  t.match((await call('GET', conversation)).body.data, { opted_out: true, opt_outs: [{ by: 'customer: message' }] })
  t.same(texts(), [], 'nothing is answered')
})

t.test('a sealed button acts, and its answer waits until we own the conversation', async t => {
  const { happens, says, offer, control, settled, texted, texts, owner, messages, detail } = await open(t)
  const message_id = await offer()
  await happens('route')
  control.press({ message_id, index: confirm })
  t.match(await settled(1), [{ action: 'confirm_order', outcome: 'done' }])
  await until('the text is held', async () => (await messages('held')).length === 1)
  t.equal(await detail((await messages('held'))[0].id), 'waits: another responder answers this conversation')
  await says('Thanks')
  t.equal((await messages('held')).length, 1, 'a message to the other responder does not release it')
  t.equal(await owner(), 'other')

  await happens('pass')
  await texted(1)
  t.same(texts(), ['Thank you Nimali Perera.\nSee you tomorrow.'])
  t.equal(await owner(), 'ours')
})

t.test('a template leaves while another responder answers, and takes nothing over', async t => {
  const { happens, says, offer, control, owner } = await open(t)
  await happens('route')
  await says('Hello')
  await offer()
  t.equal(control.messages()[0]?.template?.name, 'delivery_options')
  await says('Still here')
  t.equal(await owner(), 'other')
})

t.test('a question after a button waits, and leaves once the person writes to us', async t => {
  const { orders, happens, says, offer, control, settled, texted, messages, question } = await open(t)
  orders.decide.outcomeOf = ({ address }) => (address ? 'done' : 'asked')
  control.press({ message_id: await offer(), index: changeAddress })
  await settled(1)
  await texted(1)
  await happens('take')
  await says('12 Galle Road')
  await until('the question is held', async () => (await messages('held')).length === 1)
  await happens('release')
  // The API's times are whole seconds, and within one the other responder stays the owner.
  await new Promise(resolve => setTimeout(resolve, 1_100))
  await says('Are you there?')
  t.ok(await question('12 Galle Road'))
})

t.test('a reply takes the conversation over only if it says so', async t => {
  const { happens, says, reply, texts, texted, owner, offer, control, messages } = await open(t)
  const message_id = await offer()
  await happens('route')
  await says('Is anybody there?')
  const refused = await reply({ text: 'Yes.' })
  t.equal(refused.status, 422)
  t.match(refused.body.errors, { takes_over: [/^Another responder has answered this conversation since 20.*Z: set/] })
  control.press({ message_id, index: confirm })
  await until('the text is held', async () => (await messages('held')).length === 1)
  t.equal((await reply({ text: 'Yes.', takes_over: true })).status, 202)
  await texted(2)
  t.same(texts(), ['Yes.', 'Thank you Nimali Perera.\nSee you tomorrow.'], 'what waited follows')
  t.equal(await owner(), 'ours')
  await says('Good')
  t.equal(await owner(), 'ours')
  t.equal((await reply({ text: 'Bye.' })).status, 202)
})

t.test('a reply that another responder overtakes waits instead of taking the conversation', async t => {
  const { says, happens, reply, rows, messages, detail } = await open(t)
  await says('Hello')
  await rows(`update channels set not_before = now() + interval '1 hour'`)
  const { body } = await reply({ text: 'Yes?' })
  await happens('take')
  await rows('update channels set not_before = null')
  await until('the reply is held', async () => (await messages('held')).length === 1)
  t.match(await detail(body.data.id), /another responder/)
})

t.test('news of a partner comes from the simulator with its portfolio, and reaches the account', async t => {
  const { call, control, heard, phoneNumberId } = await open(t)
  const waba_id = '102290129340398'
  await call('PUT', `/api/channels/${phoneNumberId}`, { waba_id })
  control.change({
    field: 'account_update',
    entry_id: '27',
    value: { event: 'PARTNER_REMOVED', waba_info: { waba_id } },
  })
  control.change({ field: 'security', value: { display_phone_number: '94117555000', event: 'PIN_CHANGED' } })
  await heard()
  const notices = (await call('GET', '/api/channels')).body.data[0].notices.map(({ text }: { text: string }) => text)
  t.match(notices.join('\n'), /taken from the partner/)
  t.match(notices.join('\n'), /\+94117555000: pin_changed/)
})

t.test('the owner follows the times of webhooks, not their order, and of one second the handover', async t => {
  const { app, owner, phoneNumberId } = await open(t)
  const head = { messaging_product: 'whatsapp', metadata: { phone_number_id: phoneNumberId } }
  const second = Math.floor(Date.now() / 1000) - 100
  const message = (at: number) => ({ from: customer, id: `wamid.${at}`, timestamp: String(at), type: 'text', text: {} })
  const post = (field: string, value: object) =>
    postWebhook(app, { entry: [{ id: '102290129340398', changes: [{ field, value }] }] })
  const hands = (type: string, at: number) => {
    const parts = { sender: { phone_number: customer }, recipient: { phone_number_id: phoneNumberId } }
    return post('messaging_handovers', { ...parts, timestamp: String(at), type, [type]: {} })
  }
  await hands('control_taken', second + 9)
  await post('messages', { ...head, messages: [message(second + 8)] })
  t.equal(await owner(), 'other')
  await post('standby', { ...head, standby: { messages: [message(second + 20)] } })
  await hands('control_passed', second + 20)
  t.equal(await owner(), 'ours')
  await hands('control_lent', second + 30)
  await post('standby', { ...head, standby: {} })
  t.equal(await owner(), 'ours', 'what is not understood changes nothing')
})

t.test('through a day of two responders every message is seen, and no automatic one takes over', async t => {
  const { orders, happens, says, reply, offer, control, settled, texted, texts, ...day } = await open(t)
  const { owner, thread, messages } = day
  orders.decide.outcomeOf = ({ action }) => (action === 'call_me' ? 'requested' : 'done')
  const written: string[] = []
  const ofStaff: string[] = []
  let [isOther, presses] = [false, 0]
  /** The API's times are whole seconds: what changes the owner must not share one. */
  const nextSecond = () => new Promise(resolve => setTimeout(resolve, 1_100))
  const hands = async (kind: 'route' | 'take' | 'pass' | 'release') => {
    await nextSecond()
    await happens(kind)
    isOther = kind === 'route' || kind === 'take'
  }
  const customerSays = async (text: string) => {
    await nextSecond()
    await says(text)
    written.push(text)
    t.equal(await owner(), isOther ? 'other' : 'ours', text)
  }
  const otherSays = async (text: string) => {
    await happens('answer', text)
    written.push(text)
  }
  const staffReply = async (text: string) => {
    if (isOther) t.equal((await reply({ text })).status, 422, 'a reply takes over only if it says so')
    t.equal((await reply({ text, ...(isOther && { takes_over: true }) })).status, 202)
    ofStaff.push(text)
    isOther = false
    await until(text, async () => texts().includes(text))
  }
  const press = async (message_id: string, index: number) => {
    await nextSecond()
    const before = texts().length
    control.press({ message_id, index })
    await settled(++presses)
    if (!isOther) return texted(before + 1)
    await until('it is held', async () => (await messages('held')).length > 0)
    t.equal(texts().length, before, 'an automatic text waits')
  }

  const [morning, noon] = [await offer(), await offer('DM2')]
  await customerSays('Good morning')
  await press(morning, confirm)
  await hands('route')
  await customerSays('Is the shop open?')
  await otherSays('Until six.')
  await press(morning, callMe)
  t.equal((await messages('held')).length, 1)
  await staffReply('This is Kamal.')
  await texted(3)
  t.strictSame(texts().slice(1), ['This is Kamal.', 'We will call.'], 'what waited follows the reply')

  await hands('take')
  await otherSays('May I help?')
  await press(noon, confirm)
  await customerSays('No, thanks')
  await hands('pass')
  await texted(4)
  await press(noon, callMe)

  // Nobody writes for some hours: the other responder takes over after the idle time, without any news.
  await hands('route')
  await customerSays('Hello again')
  await otherSays('Hello.')
  await hands('release')
  await customerSays('Anybody?')
  await staffReply('We are here.')
  await customerSays('Thank you')

  t.equal(await owner(), 'ours')
  t.same(await messages('held'), [])
  const shown = (await thread()).data.map(({ text }: { text: string | null }) => text)
  for (const text of [...written, ...ofStaff])
    t.equal(shown.filter((each: string | null) => each === text).length, 1, `${text} is shown once`)
  t.equal(texts().filter(text => !ofStaff.includes(text)).length, 4, 'each automatic text left once')
})
