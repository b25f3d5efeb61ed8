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

const content = {
  general_data: { merchant_business_id: '7290', origin_city_id: '1500' },
  order_data: [
    {
      customer_name: 'Nimali Perera',
      customer_address: '12 Temple Road',
      customer_phone: '0770000101',
      destination_city_id: 2100,
      cod: 1,
      weight: 1,
    },
  ],
}
const waybills = { waybill_numbers: ['DM00000001'] }
const calls = {
  track: { waybill: 'DM00000001' },
  find_city: { places: [{ text: 'Gale' }], origin_city_id: 1500 },
  quote: content,
  book: { ...content, digest: '1795857573017.x' },
  confirm: waybills,
  cancel: waybills,
  list_orders: { per_page: 2, status: 'key_1' },
  failed_deliveries: { limit: 2 },
  instruct: { waybill: 'DM00000001', action: 'reschedule', date: '2026-02-21' },
}
const clientInfo = { name: 'trust', version: '1' }
const methods = [
  ...Object.entries(calls).map(([name, given]) => ({ method: 'tools/call', params: { name, arguments: given } })),
  { method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
  { method: 'tools/list' },
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
  'POST /mcp': { bodies: methods.map(message => ({ jsonrpc: '2.0', id: 1, ...message })) },
  'POST /api/conversations/{phone}/opt-out': { bodies: [{ reason: 'By letter.', scope: 'marketing' }] },
  'POST /api/conversations/{phone}/reply': { bodies: [{ text: 'Tomorrow.', waybill_number: 'DM00000001' }] },
  'POST /api/conversations/{phone}/opt-in': { bodies: [{ reason: 'By phone.' }] },
  'POST /api/channels/{phone_number_id}/register': { bodies: [{ pin: '123456', certificate: 'demo-certificate' }] },
}
