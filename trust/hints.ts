import { phoneNumberId } from '../services/notifier/test/fixture.ts'
import { change, envelope, inbound, sign, status } from '../services/notifier/test/webhooks-fixture.ts'
import { appSecret, verifyToken } from './targets.ts'

/** Holds facts about an operation that its document cannot state, and that get a fuzzer past the first checks. */
interface Hints {
  /** Lists valid bodies. */
  readonly bodies?: readonly unknown[]
  /** Lists valid queries. */
  readonly queries?: readonly string[]
  /** Returns headers that depend on the body, such as its signature. */
  readonly buildHeaders?: (body: Buffer) => Record<string, string>
}

/** Is a person who may opt out; the recipient of the documented example must not. */
const from = '94770000202'

const templatePaused = {
  event: 'PAUSED',
  message_template_id: 1689556908129832,
  message_template_name: 'order_cancelled',
  message_template_language: 'en-US',
}

const preference = { wa_id: from, category: 'marketing_messages', value: 'stop', timestamp: 1731705721 }
const metadata = { phone_number_id: phoneNumberId }

const webhooks = [
  ...[
    { statuses: [status({ id: 'wamid.1', biz_opaque_callback_data: 'msg_1' })] },
    { messages: [inbound({ from })] },
    { messages: [inbound({ from, type: 'button', button: { text: 'STOP', payload: 'x' } })] },
    { statuses: [status({ recipient_id: from, status: 'failed', errors: [{ code: 131050, title: 'Stopped' }] })] },
    { statuses: [status({ status: 'failed', errors: [{ code: 131026, title: 'Undeliverable' }] })] },
  ].map(fields => envelope(fields, phoneNumberId)),
  { entry: [change({ metadata, user_preferences: [preference] }, 'user_preferences')] },
  {
    object: 'whatsapp_business_account',
    entry: [change(templatePaused, 'message_template_status_update', '102290129340398')],
  },
]

/** Maps operations to their hints. An operation without hints is fuzzed all the same. */
export const hints: Readonly<Record<string, Hints>> = {
  'GET /webhooks/messaging': {
    queries: [`hub.mode=subscribe&hub.verify_token=${verifyToken}&hub.challenge=1158201444`],
  },
  'POST /webhooks/messaging': {
    bodies: webhooks,
    buildHeaders: body => ({ 'x-hub-signature-256': sign(body, appSecret) }),
  },
  'POST /api/conversations/{phone}/opt-out': { bodies: [{ reason: 'By letter.', scope: 'marketing' }] },
  'POST /api/conversations/{phone}/reply': { bodies: [{ text: 'Tomorrow.', waybill_number: 'DM00000001' }] },
  'POST /api/conversations/{phone}/opt-in': { bodies: [{ reason: 'By phone.' }] },
  'POST /api/channels/{phone_number_id}/register': { bodies: [{ pin: '123456', certificate: 'demo-certificate' }] },
}
