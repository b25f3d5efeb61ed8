import { setTimeout as delay } from 'node:timers/promises'
import { exampleSnapshot } from '@courier/shared/contract/order-events.ts'
import { sealButton } from '../services/notifier/capabilities/customer-actions/button-token.ts'
import { readKeyring } from '../services/notifier/core/channels/vault.ts'
import { messageTo, phoneNumberId } from '../services/notifier/test/fixture.ts'
import { envelope, inbound, sign, status } from '../services/notifier/test/webhooks-fixture.ts'
import { waitUntil } from '../test/courier.ts'
import type { Observed } from './canary-service.ts'
import type { Canaries } from './canary-set.ts'
import { control } from './courier.ts'
import { channelPath, demoChannel } from './targets.ts'

/** Sends canaries through every path of the notifier, including failing ones. Returns the token that it created. */
export const runNotifier = async (notifier: Observed, simulator: string, canaries: Canaries) => {
  await control(simulator, '/tokens', { access_token: canaries.accessToken }, 'PUT')
  for (const file of filesWith(canaries)) await notifier.command(['apply', '-'], file)
  await notifier.command(['keys', 'rotate'])
  await control(simulator, '/behaviour', { portfolio_limit: 1_000 }, 'PUT')
  const staffToken = await notifier.createToken('--staff', canaries.staffName)
  await manageChannel(notifier, canaries)
  await deliverEvents(notifier, canaries)
  await sendMessages(notifier, simulator, canaries)
  await sendWrongMessages(notifier, canaries)
  await sendWebhooks(notifier, canaries)
  const optOut = (change: string) =>
    notifier.send('POST', `/api/conversations/%2B94${canaries.writer}/${change}`, { reason: canaries.remark })
  await notifier.refuseDuring('opt_outs', 'length(reason) < 3', () => optOut('opt-out'))
  await optOut('opt-out')
  await optOut('opt-in')
  const reply = () =>
    notifier.send('POST', `/api/conversations/%2B94${canaries.writer}/reply`, { text: canaries.parameter })
  await notifier.refuseDuring('messages', 'length(recipient) < 3', reply)
  await reply()
  const send = () => notifier.send('POST', '/api/messages', messageWith(canaries))
  for (const condition of ['length(recipient) < 3', 'recipient::smallint > 0', `(template->>'name')::integer > 0`])
    await notifier.refuseDuring('messages', condition, send)
  const change = () => notifier.send('PUT', channelPath, { app_secret: canaries.strangeToken })
  await notifier.refuseDuring('secrets', 'length(last4) > 90', change)
  await notifier.killDuring('messages', send)
  return { staffToken }
}

/** Returns a valid file with the channel, and files that are refused. */
const filesWith = ({ accessToken, appSecret, verifyToken, pin }: Canaries): string[] => {
  const secrets = { access_token: accessToken, app_secret: appSecret, verify_token: verifyToken }
  const file = (fields: object = {}): string => {
    const channel = { phone_number_id: phoneNumberId, ...demoChannel, ...secrets, ...fields }
    const rule = { on: 'order.created', template: 'order_created', language: 'en_US', header: ['{{waybill_number}}'] }
    const perPerson = { on: 'key_12', per: 'person', within: '1m' }
    const rules = [
      { ...rule, body: ['{{note}}', '{{business_name}}', '{{cod}}'] },
      { ...rule, ...perPerson, body: ['{{note}}', '{{count}}', '{{waybill_numbers}}'] },
    ]
    return JSON.stringify({ tenant: { id: 'demo', country: 'LK' }, channels: [channel], rules })
  }
  return [
    file(),
    file().slice(0, -3),
    file({ access_token: `${accessToken} ${accessToken}` }),
    file({ app_secret: { [appSecret]: appSecret }, pin: [pin] }),
    file({ plan: verifyToken, verify_token: 1 }),
  ]
}

const manageChannel = async ({ send }: Observed, canaries: Canaries): Promise<void> => {
  const { pin, certificate, nextToken, accessToken, appSecret, verifyToken } = canaries
  for (const body of [
    { pin },
    { access_token: `${nextToken} ${nextToken}`, app_secret: [appSecret], pin: `${pin} ` },
    { verify_token: `${verifyToken}\0`, plan: verifyToken },
    `{"access_token": "${accessToken}", ${pin}`,
    { access_token: nextToken },
  ])
    await send('PUT', channelPath, body)
  await send('POST', `${channelPath}/register`, { pin, certificate })
  await send('POST', `${channelPath}/register`, { pin: `${pin}1`, certificate: [certificate] })
  await send('POST', `${channelPath}/check`)
  await send('PUT', channelPath, { access_token: accessToken })
  await send('POST', `${channelPath}/check`)
  await send('POST', '/api/templates/sync', {})
}

/** Builds a message with canaries. */
const messageWith = ({ parameter, recipient }: Canaries, to = `0${recipient}`) => {
  const template = structuredClone(messageTo('').template)
  const [, body] = template.components
  if (body?.parameters[0]) body.parameters[0].text = parameter
  return { to, template }
}

/** Sends messages, of which some are refused and some are lost. */
const sendMessages = async ({ send, superuser }: Observed, simulator: string, canaries: Canaries): Promise<void> => {
  const troubles = [
    undefined,
    { kind: 'error', code: 131026, details: 'Message undeliverable' },
    ...['lost', 'half', 'html', 'empty', 'refused'].map(kind => ({ kind })),
    { kind: 'error', code: 132000 },
  ]
  const open = `select from messages where message_id = $1 and status in ('queued', 'sending') and attempts = 0`
  for (const [index, trouble] of troubles.entries()) {
    if (trouble) await control(simulator, '/scripts', { call: 'messages', times: 1, trouble })
    // Alternates between people, since each gets one message a second.
    const to = index === 0 ? `LK.${canaries.userId}2` : `0${index % 2 ? canaries.writer : canaries.recipient}`
    const { data } = JSON.parse(await send('POST', '/api/messages', messageWith(canaries, to)))
    const isOpen = async () => (await superuser.query(open, [data?.id])).rows.length > 0
    for (let tries = 0; tries < 100 && (await isOpen()); tries++) await delay(50)
  }
}

/**
 * Delivers events: the messages of their rules keep the note of the event beside their text. The second one waits for
 * other parcels of the person, and is sent with what it says about all of them.
 */
const deliverEvents = async ({ service, send, superuser }: Observed, { parameter, recipient }: Canaries) => {
  const order = { ...exampleSnapshot, customer_phone: `0${recipient}`, note: parameter, status_key: 'key_12' }
  const events = ['order.created', 'order.status_changed'].map((type, index) => {
    return { id: `canary ${index}`, type, happened_at: new Date().toISOString(), order }
  })
  const headers = { authorization: `Bearer ${service.environment.SERVICE_TOKEN}` }
  await send('POST', '/internal/events', { tenant: 'demo', events }, headers)
  const findSent = async () => {
    await superuser.query(`update messages set due_at = now() where joins is not null and status = 'queued'`)
    return (await superuser.query('select from messages where sent_content is not null')).rows
  }
  await waitUntil('the joint message is sent', findSent, ({ length }) => length > 0)
}

const sendWrongMessages = async ({ send }: Observed, canaries: Canaries): Promise<void> => {
  const { name, parameter, recipient, strangeToken } = canaries
  const right = messageWith(canaries)
  const text = JSON.stringify(right)
  // 132000 holds the template until a sync shows it as approved.
  await send('POST', '/api/templates/sync', {})
  for (const body of [
    messageWith(canaries, name),
    { ...right, channel: name, waybill_number: `${name}\0`, send_at: name },
    { ...right, template: { name: parameter, language: { code: parameter } } },
    text.replace(parameter, `${parameter}\\n`),
    text.slice(0, -5),
  ])
    await send('POST', '/api/messages', body)
  await send('POST', '/api/messages', right, { authorization: `Bearer ${strangeToken}` })
  await send('POST', '/api/messages/bulk', { messages: [right, messageWith(canaries, name)] })
  for (const path of ['messages?to=', 'messages?status=', 'messages/', 'conversations/', 'templates?cursor='])
    for (const canary of [name, `%2B94${recipient}`]) await send('GET', `/api/${path}${canary}`)
}

const sendWebhooks = async (notifier: Observed, canaries: Canaries): Promise<void> => {
  const { writer, inboundText, profileName, userId, userName, recipient, appSecret, verifyToken, strangeToken } =
    canaries
  const from = `94${writer}`
  const userInNumber = `LK.${userId}1`
  const contacts = [{ profile: { name: profileName, username: userName }, wa_id: from, user_id: `LK.${userId}` }]
  const fields = [
    { contacts, messages: [inbound({ from, text: { body: inboundText } })] },
    { messages: [inbound({ from: undefined, from_user_id: `LK.${userId}0`, text: { body: inboundText } })] },
    { messages: [inbound({ from: userInNumber, text: { body: 'STOP' } })] },
    { statuses: [status({ recipient_id: `94${recipient}`, status: 'delivered' })] },
  ]
  const [written = '', ...others] = fields.map(each => JSON.stringify(envelope(each, phoneNumberId)))
  const post = (body: string, secret: string) =>
    notifier.send('POST', '/webhooks/messaging', body, { 'x-hub-signature-256': sign(body, secret) })
  for (const document of [written, ...others]) {
    await post(document, appSecret)
    await post(document, strangeToken)
    await post(document.slice(0, -3), appSecret)
    await notifier.refuseDuring('conversations', 'recipient::smallint > 0', () => post(document, appSecret))
  }
  const system = { type: 'user_changed_number', wa_id: from }
  const changed = inbound({ from: '94770000009', type: 'system', text: undefined, system })
  await post(JSON.stringify(envelope({ messages: [changed] }, phoneNumberId)), appSecret)
  for (const token of [verifyToken, strangeToken])
    await notifier.send('GET', `/webhooks/messaging?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=1`)
  await notifier.killDuring('conversations', () => post(written, appSecret))
  await changeAddress(notifier, canaries, messages =>
    post(JSON.stringify(envelope({ messages }, phoneNumberId)), appSecret),
  )
}

/**
 * Presses buttons about an unknown order, one of them as a person without a number, and writes a text, which the
 * notifier's question shows.
 */
const changeAddress = async (
  { service, superuser }: Observed,
  { writer, inboundText, userId }: Canaries,
  post: (messages: object[]) => Promise<unknown>,
): Promise<void> => {
  const keyring = readKeyring(service.environment.CREDENTIALS_KEYS ?? '')
  const press = (recipient: string, index: number) => {
    const button = { messageId: `msg_${'0'.repeat(25)}`, index, action: 'change_address', waybill: 'UNKNOWN' }
    const payload = sealButton(keyring, { tenant: 'demo', phoneNumberId, recipient }, button, new Date())
    return inbound({ from: recipient, type: 'button', text: undefined, button: { text: 'Change', payload } })
  }
  const from = `94${writer}`
  // The press and the text come in one webhook: a text after the refusal would not be an address.
  await post([press(from, 0), inbound({ from, text: { body: inboundText } }), press(`LK.${userId}0`, 1)])
  const outcomes = async () => (await superuser.query('select outcome, address from customer_actions')).rows
  const isOver = (rows: { address: string | null }[]) => rows.length === 3 && rows.every(row => row.address === null)
  await waitUntil('orders refused the presses', outcomes, isOver)
}
