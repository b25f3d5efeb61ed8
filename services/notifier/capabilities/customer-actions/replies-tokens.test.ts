import { randomBytes } from 'node:crypto'
import t from 'tap'
import { readKeyring } from '../../core/channels/vault.ts'
import { tokenPrefix } from '../../core/messaging-api/message-template.ts'
import { messageTo } from '../../test/fixture.ts'
import { confirm, customer, prepareTenant, rules } from '../../test/replies-fixture.ts'
import { checkDemo } from '../../test/rules-of-demo.ts'
import { envelope, inbound, postWebhook } from '../../test/webhooks-fixture.ts'
import { openButton, sealActions, sealButton } from './button-token.ts'

const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`
const [oldKey, newKey] = [key('old'), key('new')]
const keyring = readKeyring(oldKey)
const person = { tenant: 'demo', phoneNumberId: '100', recipient: '94770000101' }
const messageId = `msg_${'0'.repeat(25)}`
const button = { messageId, index: 3, action: 'call_me', waybill: 'DM 1' }
const now = new Date('2026-03-01T00:00:00Z')
const after = (days: number) => new Date(now.getTime() + days * 86_400_000)
const token = sealButton(keyring, person, button, now)

t.test(
  'a token opens for its own person and number alone, and stays readable while the keyring has its key',
  async t => {
    const open = (of: Partial<typeof person>, keys = keyring, text = token) =>
      openButton(keys, { ...person, ...of }, text, now, now)
    t.same(open({}), { kind: 'opened', button })
    t.same(open({}, readKeyring(`${newKey},${oldKey}`)), { kind: 'opened', button })
    const unreadable = [
      open({ tenant: 'rival' }),
      open({ phoneNumberId: '101' }),
      open({ recipient: '94770000102' }),
      open({}, readKeyring(newKey)),
      open({}, keyring, `${token.slice(0, -2)}AA`),
      open({}, keyring, tokenPrefix),
      open({}, keyring, `${tokenPrefix}${'A'.repeat(400)}`),
    ]
    t.ok(unreadable.every(({ kind }) => kind === 'unreadable'))
    const mexican = sealButton(keyring, { ...person, recipient: '525512345678' }, button, now)
    t.match(
      open({ recipient: '5215512345678' }, keyring, mexican),
      { kind: 'opened' },
      'the other spelling of the number',
    )
  },
)

t.test('a token works for presses within seven days, which webhooks may report for another seven', async t => {
  const open = (pressedAfter: number, seenAfter: number) =>
    openButton(keyring, person, token, after(pressedAfter), after(seenAfter)).kind
  t.same([open(6.99, 7), open(6.99, 13.9), open(7.01, 7.01), open(1, 14.1)], ['opened', 'opened', 'expired', 'expired'])
})

t.test('the longest token fits into a payload, and reveals nothing', async t => {
  const longest = sealButton(
    keyring,
    { ...person, tenant: 'x'.repeat(63) },
    { messageId, index: 9, action: 'a'.repeat(63), waybill: 'W'.repeat(50) },
    now,
  )
  t.ok(longest.length <= 256, `${longest.length} characters`)
  t.ok(token.length < 128, `${token.length} characters in a usual token`)
  t.notMatch(Buffer.from(longest.slice(tokenPrefix.length), 'base64url').toString('latin1'), /WWW|aaa|94770000101/)
})

t.test('a template without actions is sent as it is', async t => {
  const { template } = messageTo('1')
  t.equal(sealActions(keyring, { ...person, id: 'm' }, template, now), template)
})

t.test('counts presses without effect by reason, and stores no action', async t => {
  const { control, offer, heard, stored, counted, rows, tenant, keyring, log } = await prepareTenant(t)
  const message_id = await offer()
  const payload = `${JSON.stringify(control.messages()[0]?.components)}`.match(/courier\.[\w-]+/)?.[0] ?? ''
  t.ok(payload.length > 50)
  control.press({ message_id, index: confirm, from: '94770000999' })
  control.inbound({ from: customer, button: { text: 'Confirm', payload: `${payload.slice(0, -1)}_` } })
  control.inbound({ from: customer, button: { text: 'Confirm', payload: 'confirm_order' } })
  const [{ message_id: id, phone_number_id: phoneNumberId }] = await rows(
    'select message_id, phone_number_id from messages',
  )
  const stale = { messageId: id, index: 0, action: 'confirm_order', waybill: 'DM00000001' }
  const of = { tenant, phoneNumberId, recipient: customer }
  const text = 'Confirm'
  control.inbound({ from: customer, button: { text, payload: sealButton(keyring, of, stale, after(-300)) } })
  await heard()
  t.same(await stored(), [])
  const kinds = ['pressed', 'press_unreadable', 'press_expired', 'press_repeated']
  const counts = await Promise.all(kinds.map(kind => counted(`webhook_facts_total{kind="${kind}"}`)))
  t.same(counts, [0, 2, 1, 0])
  const unread = await rows('select 1 from inbound_messages where read_at is null')
  t.equal(unread.length, 4, 'presses that do nothing stay unread for staff')
  t.notMatch(log.join(''), /94770000|courier\./)
  t.equal(
    (await rows('select 1 from conversations where last_inbound_at is not null')).length,
    2,
    'both conversations open',
  )
})

t.test('staff cannot send actions, or payloads that look like tokens', async t => {
  const { call } = await prepareTenant(t)
  const send = async (more: object, payload: string) => {
    const parameters = [{ type: 'payload', payload }]
    const component = { type: 'button', sub_type: 'quick_reply', index: '0', parameters, ...more }
    const template = { name: 'delivery_options', language: { code: 'en_US' }, components: [component] }
    return (await call('POST', '/api/messages', { to: customer, template })).body.errors
  }
  t.match(Object.keys(await send({ action: 'confirm_order' }, 'x')), ['template.components.0.action'])
  t.match(Object.keys(await send({}, token)), ['template.components.0.parameters.0.payload'])
})

t.test('refuses rules with invalid actions, texts or outcomes, by their paths', async t => {
  t.equal(checkDemo(rules).kind, 'accepted')
  const errorsOf = (rule: object) => {
    const checked = checkDemo([{ on: 'order.created', ...rule }])
    return checked.kind === 'refused' ? Object.keys(checked.errors) : []
  }
  const template = { template: 'delivery_options', language: 'en_US' }
  const withButton = (button: object) => ({ ...template, buttons: [{ index: 0, ...button }] })
  const wrong: [rule: object, path: string][] = [
    [withButton({ action: 'Call me' }), 'rules.0.buttons.0.action'],
    [withButton({ action: 'call_me', payload: 'x' }), 'rules.0.buttons.0'],
    [{ ...template, text: 'x' }, 'rules.0.template'],
    [{ text: 'x', body: ['y'] }, 'rules.0.body'],
    [{ text: '{{nobody}}' }, 'rules.0.text'],
    [{ text: 'x'.repeat(1025) }, 'rules.0.text'],
    [{ text: ' ' }, 'rules.0.text'],
    [{ template: 'delivery_options' }, 'rules.0.language'],
    [{}, 'rules.0.template'],
    [{ on: 'confirm_order.perhaps', text: 'x' }, 'rules.0.on'],
  ]
  for (const [rule, path] of wrong)
    t.ok(errorsOf(rule).includes(path), `${path} of ${JSON.stringify(rule).slice(0, 80)}`)
})

t.test('a press on a button that came without a template acts too', async t => {
  const { app, tenant, phoneNumberId, keyring, settled } = await prepareTenant(t)
  const of = { tenant, phoneNumberId, recipient: customer }
  const id = sealButton(keyring, of, { messageId, index: 2, action: 'call_me', waybill: 'DM2' }, new Date())
  const interactive = { type: 'button_reply', button_reply: { id, title: 'Call me' } }
  const message = inbound({ from: customer, type: 'interactive', text: undefined, interactive })
  const body = envelope({ messages: [message] }, phoneNumberId)
  for (let copy = 0; copy < 2; copy++) t.equal((await postWebhook(app, body)).statusCode, 200)
  t.match(await settled(1), [
    { action_id: `${messageId} 2`, waybill_number: 'DM2', action: 'call_me', outcome: 'done' },
  ])
})
