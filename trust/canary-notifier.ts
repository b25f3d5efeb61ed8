import { createHmac } from 'node:crypto'
import { phoneNumberId } from '../services/notifier/test/stage.ts'
import { envelope, inbound, status } from '../services/notifier/test/webhooks-stage.ts'
import { control, type Headers, message, sendMessages } from './canary-messages.ts'
import type { Canaries } from './canary-set.ts'
import type { Stage } from './canary-stage.ts'

const admin = 'services/notifier/admin.ts'
const channel = `/api/channels/${phoneNumberId}`

/** Canaries through every path of the notifier, those that fail too. Returns the tokens that it gave out. */
export const runNotifier = async (
  stage: Stage,
  simulatorUrl: string,
  canaries: Canaries,
): Promise<Record<string, string>> => {
  await control(simulatorUrl, 'PUT', 'tokens', { access_token: canaries.accessToken })
  await provide(stage, canaries)
  const created = await stage.command(admin, [
    'token',
    'create',
    '--tenant',
    'demo',
    '--staff',
    canaries.staffName,
    '--json',
  ])
  const { token } = JSON.parse(created)
  const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
  await manageChannel(stage, canaries, headers)
  await sendMessages(stage, simulatorUrl, canaries, headers)
  await takeWebhooks(stage, canaries)
  await breakDatabase(stage, canaries, headers)
  return { staffToken: token }
}

/** The channel, by the operator's command, also by files that are refused. */
const provide = async (stage: Stage, canaries: Canaries): Promise<void> => {
  const { accessToken, appSecret, verifyToken, pin } = canaries
  const file = (fields: object) => ({
    tenant: { id: 'demo', country: 'LK' },
    channels: [
      {
        phone_number_id: phoneNumberId,
        name: 'Demo',
        plan: 'paid',
        default: true,
        access_token: accessToken,
        app_secret: appSecret,
        verify_token: verifyToken,
        waba_id: '102290129340398',
        ...fields,
      },
    ],
  })
  const good = JSON.stringify(file({}))
  await stage.command(admin, ['apply', '-'], good)
  await stage.command(admin, ['apply', '-'], good.slice(0, -3))
  await stage.command(admin, ['apply', '-'], JSON.stringify(file({ access_token: `${accessToken} ${accessToken}` })))
  await stage.command(
    admin,
    ['apply', '-'],
    JSON.stringify(file({ app_secret: { [appSecret]: appSecret }, pin: [pin] })),
  )
  await stage.command(admin, ['apply', '-'], JSON.stringify(file({ plan: verifyToken, verify_token: 1 })))
  await stage.command(admin, ['keys', 'rotate'])
}

const manageChannel = async (stage: Stage, canaries: Canaries, headers: Headers): Promise<void> => {
  const { pin, certificate, nextToken, accessToken, appSecret, verifyToken } = canaries
  await stage.call('PUT', channel, headers, { pin })
  await stage.call('PUT', channel, headers, {
    access_token: `${nextToken} ${nextToken}`,
    app_secret: [appSecret],
    pin: `${pin} `,
  })
  await stage.call('PUT', channel, headers, { verify_token: `${verifyToken}\0`, plan: verifyToken })
  await stage.call('PUT', channel, headers, `{"access_token": "${accessToken}", ${pin}`)
  await stage.call('PUT', channel, headers, { access_token: nextToken })
  await stage.call('POST', `${channel}/register`, headers, { pin, certificate })
  await stage.call('POST', `${channel}/register`, headers, { pin: `${pin}1`, certificate: [certificate] })
  await stage.call('POST', `${channel}/check`, headers)
  await stage.call('PUT', channel, headers, { access_token: accessToken })
  await stage.call('POST', `${channel}/check`, headers)
  await stage.call('POST', '/api/templates/sync', headers, {})
}

const takeWebhooks = async (stage: Stage, canaries: Canaries): Promise<void> => {
  const { writer, inboundText, profileName, recipient, appSecret, verifyToken, strangeToken } = canaries
  const from = `94${writer}`
  const contacts = [{ profile: { name: profileName }, wa_id: from }]
  const written = envelope({ contacts, messages: [inbound({ from, text: { body: inboundText } })] }, phoneNumberId)
  const told = envelope({ statuses: [status({ recipient_id: `94${recipient}`, status: 'delivered' })] }, phoneNumberId)
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

const breakDatabase = async (stage: Stage, canaries: Canaries, headers: Headers): Promise<void> => {
  const send = () => stage.call('POST', '/api/messages', headers, message(canaries))
  for (const condition of ['length(recipient) < 3', 'recipient::smallint > 0', `(template->>'name')::integer > 0`])
    await stage.refuseDuring('messages', condition, send)
  await stage.refuseDuring('secrets', 'length(last4) > 90', () =>
    stage.call('PUT', channel, headers, { app_secret: canaries.strangeToken }),
  )
  await stage.killDuring('messages', send)
}
