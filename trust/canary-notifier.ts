import { createHmac } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { messageTo } from '../services/notifier/test/fixture.ts'
import { envelope, inbound, status } from '../services/notifier/test/webhooks-fixture.ts'
import type { Canaries } from './canary-set.ts'
import type { Stage } from './canary-stage.ts'
import { control } from './courier-stage.ts'
import { channelOfDemo, channelPath } from './targets.ts'

const admin = 'services/notifier/admin.ts'
const number = channelPath.split('/').at(-1) ?? ''

type Headers = Record<string, string>
/** Makes calls one after another: method, path, body, headers beside those of staff. */
type CallAll = (...calls: [method: string, path: string, body?: unknown, more?: Headers | undefined][]) => Promise<void>

/** Canaries through every path of the notifier, those that fail too. Returns the tokens that it gave out. */
export const runNotifier = async (stage: Stage, simulator: string, canaries: Canaries): Promise<Headers> => {
  await control(simulator, '/tokens', { access_token: canaries.accessToken }, 'PUT')
  await provide(stage, canaries)
  const token = await stage.createToken(admin, '--staff', canaries.staffName)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  const callAll: CallAll = async (...calls) => {
    for (const [method, path, body, more] of calls) await stage.call(method, path, { ...headers, ...more }, body)
  }
  await manageChannel(callAll, canaries)
  await sendMessages(stage, simulator, canaries, headers)
  await sendWrongMessages(callAll, canaries)
  await takeWebhooks(stage, canaries)
  const send = () => callAll(['POST', '/api/messages', message(canaries)])
  for (const condition of ['length(recipient) < 3', 'recipient::smallint > 0', `(template->>'name')::integer > 0`])
    await stage.refuseDuring('messages', condition, send)
  const change = () => callAll(['PUT', channelPath, { app_secret: canaries.strangeToken }])
  await stage.refuseDuring('secrets', 'length(last4) > 90', change)
  await stage.killDuring('messages', send)
  return { staffToken: token }
}

/** The channel, by the operator's command, also by files that are refused. */
const provide = async (stage: Stage, { accessToken, appSecret, verifyToken, pin }: Canaries): Promise<void> => {
  const secrets = { access_token: accessToken, app_secret: appSecret, verify_token: verifyToken }
  const file = (fields: object = {}): string => {
    const channel = { phone_number_id: number, ...channelOfDemo, ...secrets, ...fields }
    return JSON.stringify({ tenant: { id: 'demo', country: 'LK' }, channels: [channel] })
  }
  const wrong = [
    file().slice(0, -3),
    file({ access_token: `${accessToken} ${accessToken}` }),
    file({ app_secret: { [appSecret]: appSecret }, pin: [pin] }),
    file({ plan: verifyToken, verify_token: 1 }),
  ]
  for (const text of [file(), ...wrong]) await stage.command(admin, ['apply', '-'], text)
  await stage.command(admin, ['keys', 'rotate'])
}

const manageChannel = (callAll: CallAll, canaries: Canaries): Promise<void> => {
  const { pin, certificate, nextToken, accessToken, appSecret, verifyToken } = canaries
  return callAll(
    ['PUT', channelPath, { pin }],
    ['PUT', channelPath, { access_token: `${nextToken} ${nextToken}`, app_secret: [appSecret], pin: `${pin} ` }],
    ['PUT', channelPath, { verify_token: `${verifyToken}\0`, plan: verifyToken }],
    ['PUT', channelPath, `{"access_token": "${accessToken}", ${pin}`],
    ['PUT', channelPath, { access_token: nextToken }],
    ['POST', `${channelPath}/register`, { pin, certificate }],
    ['POST', `${channelPath}/register`, { pin: `${pin}1`, certificate: [certificate] }],
    ['POST', `${channelPath}/check`],
    ['PUT', channelPath, { access_token: accessToken }],
    ['POST', `${channelPath}/check`],
    ['POST', '/api/templates/sync', {}],
  )
}

/** A message with canaries in it. */
const message = ({ parameter, recipient }: Canaries, to = `0${recipient}`) => {
  const template = structuredClone(messageTo('').template)
  const [, body] = template.components
  if (body?.parameters[0]) body.parameters[0].text = parameter
  return { to, template }
}

/** Messages that are sent, refused and lost. */
const sendMessages = async (stage: Stage, simulator: string, canaries: Canaries, headers: Headers): Promise<void> => {
  const troubles = [
    undefined,
    { kind: 'error', code: 131026, details: 'Message undeliverable' },
    ...['lost', 'half', 'html', 'empty', 'refused'].map(kind => ({ kind })),
    { kind: 'error', code: 132000 },
  ]
  for (const [index, trouble] of troubles.entries()) {
    if (trouble) await control(simulator, '/scripts', { call: 'messages', times: 1, trouble })
    // To two people in turn: each is written to once in a second.
    const body = message(canaries, index % 2 ? `0${canaries.writer}` : undefined)
    const { text } = await stage.call('POST', '/api/messages', headers, body)
    await settle(stage, JSON.parse(text).data?.id)
  }
}

/** Waits until the message was sent, or not. */
const settle = async ({ superuser }: Stage, id: string | undefined): Promise<void> => {
  const open = `select from messages where message_id = $1 and status in ('queued', 'sending') and attempts = 0`
  for (let tries = 0; tries < 100 && (await superuser.query(open, [id])).rows.length > 0; tries++) await delay(50)
}

const sendWrongMessages = (callAll: CallAll, canaries: Canaries): Promise<void> => {
  const { name, parameter, recipient } = canaries
  const right = message(canaries)
  const text = JSON.stringify(right)
  const lists = ['messages?to=', 'messages?status=', 'messages/', 'conversations/', 'templates?cursor=']
  const post = (body: unknown, more?: Headers): Parameters<CallAll>[0] => ['POST', '/api/messages', body, more]
  return callAll(
    // 132000 holds the template until it is found approved.
    ['POST', '/api/templates/sync', {}],
    post(message(canaries, name)),
    post({ ...right, channel: name, waybill_number: `${name}\0`, send_at: name }),
    post({ ...right, template: { name: parameter, language: { code: parameter } } }),
    post(text.replace(parameter, `${parameter}\\n`)),
    post(text.slice(0, -5)),
    post(right, { authorization: `Bearer ${canaries.strangeToken}` }),
    ['POST', '/api/messages/bulk', { messages: [right, message(canaries, name)] }],
    ...lists.flatMap(path =>
      [name, `%2B94${recipient}`].map((canary): Parameters<CallAll>[0] => ['GET', `/api/${path}${canary}`]),
    ),
  )
}

const takeWebhooks = async (stage: Stage, canaries: Canaries): Promise<void> => {
  const { writer, inboundText, profileName, recipient, appSecret, verifyToken, strangeToken } = canaries
  const from = `94${writer}`
  const contacts = [{ profile: { name: profileName }, wa_id: from }]
  const written = envelope({ contacts, messages: [inbound({ from, text: { body: inboundText } })] }, number)
  const told = envelope({ statuses: [status({ recipient_id: `94${recipient}`, status: 'delivered' })] }, number)
  const post = (body: string, secret: string) => {
    const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
    return stage.call('POST', '/webhooks/messaging', { 'x-hub-signature-256': signature }, body)
  }
  for (const document of [written, told].map(document => JSON.stringify(document))) {
    await post(document, appSecret)
    await post(document, strangeToken)
    await post(document.slice(0, -3), appSecret)
    await stage.refuseDuring('conversations', 'recipient::smallint > 0', () => post(document, appSecret))
  }
  for (const token of [verifyToken, strangeToken])
    await stage.call('GET', `/webhooks/messaging?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=1`, {})
  await stage.killDuring('conversations', () => post(JSON.stringify(written), appSecret))
}
