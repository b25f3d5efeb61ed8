import { createHash } from 'node:crypto'
import type pg from 'pg'

/** Names the values that may appear only in their intended places. */
const persons = ['name', 'address', 'email', 'subject', 'description', 'remark', 'parameter', 'inboundText'] as const
const tokens = ['accessToken', 'nextToken', 'verifyToken', 'strangeToken'] as const
const secrets = ['password', 'appSecret', 'certificate', 'webhookPath'] as const
const words = [...persons, 'profileName', 'userId', 'userName', 'staffName', ...tokens, ...secrets] as const
const phones = ['phone', 'secondaryPhone', 'recipient', 'writer'] as const
export type Canaries = Record<(typeof words)[number] | (typeof phones)[number] | 'pin' | 'bankAccount', string>

/** Makes canaries of only letters and digits, which no encoding changes. */
export const makeCanaries = (seed: number): Canaries => {
  const hash = (name: string) => createHash('sha256').update(`${seed} ${name}`).digest('hex')
  const digits = (name: string, count: number) =>
    (BigInt(`0x${hash(name)}`) % 10n ** BigInt(count)).toString().padStart(count, '0')
  return Object.fromEntries([
    ...words.map(name => [name, `canary${hash(name).slice(0, 20)}`]),
    ...phones.map(name => [name, `770${digits(name, 6)}`]),
    ['pin', digits('pin', 6)],
    ['bankAccount', digits('bankAccount', 12)],
  ])
}

/** Returns the names of the canaries in the text. Tokens that services issued count as canaries. */
export const findIn = (text: string, canaries: Record<string, string>): string[] => {
  const lower = text.toLowerCase()
  return Object.entries(canaries).flatMap(([name, canary]) => (holds(lower, canary.toLowerCase()) ? [name] : []))
}

/**
 * Returns true if the text contains the canary. Six digits occur in longer numbers and ids, so they must stand alone.
 */
const holds = (text: string, canary: string): boolean =>
  canary.length > 6 ? text.includes(canary) : new RegExp(`(?<![0-9a-z.-])${canary}(?![0-9a-z-])`).test(text)

/** Lists the columns that are meant to hold a canary, and the canaries that each holds. */
export const meant: Readonly<Record<string, readonly string[]>> = {
  'orders.orders.customer_name': ['name'],
  'orders.orders.customer_address': ['address'],
  'orders.orders.customer_phone': ['phone'],
  'orders.orders.phone_key': ['phone'],
  'orders.orders.phone_as_typed': ['phone'],
  'orders.orders.customer_secondary_phone': ['secondaryPhone'],
  'orders.orders.customer_email': ['email'],
  'orders.orders.description': ['description'],
  'orders.orders.remark': ['remark'],
  'orders.bank_accounts.changed_by': ['staffName'],
  'orders.bank_accounts.objected_by': ['staffName'],
  'orders.bank_accounts.objection': ['remark'],
  'orders.order_edits.previous': ['name', 'address', 'phone', 'secondaryPhone', 'email', 'description'],
  'orders.customer_actions.detail': ['address'],
  'orders.webhook_endpoints.url': ['webhookPath'],
  'orders.shop_orders.said': ['name', 'address', 'phone', 'description', 'remark'],
  'orders.shop_orders.booked_as': ['name', 'address', 'phone', 'description', 'remark'],
  'orders.pickup_addresses.address': ['address'],
  'orders.pickup_addresses.phone': ['phone'],
  'orders.pickups.note': ['remark'],
  'orders.tickets.subject': ['name'],
  'orders.tickets.message': ['remark'],
  'orders.tokens.staff_name': ['staffName'],
  'orders.merchant_people.email': ['email'],
  'orders.merchant_people.name': ['staffName'],
  'orders.order_events.staff_name': ['staffName'],
  'orders.staff.email': ['email'],
  'orders.staff.name': ['staffName'],
  'orders.rider_changes.changed_by': ['staffName'],
  'orders.rider_acts.fields': ['remark', 'name'],
  'orders.rider_acts.message': ['staffName'],
  'orders.rider_acts.decided_by': ['staffName'],
  'orders.rider_acts.decision_note': ['remark'],
  'orders.proofs.reason': ['remark'],
  'orders.sign_in_links.made_by': ['staffName'],
  'orders.sign_in_links.device': ['remark'],
  'orders.invitations.made_by': ['staffName'],
  'orders.provider_subjects.subject': ['subject'],
  'orders.order_events.note': ['remark'],
  'orders.log.note': ['remark'],
  'orders.audit.actor': ['staffName'],
  'orders.audit.object_id': ['staffName'],
  'notifier.audit.actor': ['staffName'],
  'notifier.messages.recipient': ['recipient', 'writer', 'userId'],
  'notifier.messages.sent_content': ['parameter'],
  'notifier.messages.template': ['parameter', 'inboundText'],
  'notifier.messages.source': ['parameter'],
  'notifier.recipients.recipient': ['recipient', 'writer', 'userId'],
  'notifier.portfolio_people.recipient': ['recipient', 'writer', 'userId'],
  'notifier.conversations.recipient': ['recipient', 'writer', 'userId'],
  'notifier.conversations.moved_to': ['writer', 'userId'],
  'notifier.identities.user_id': ['userId'],
  'notifier.identities.recipient': ['writer', 'userId'],
  'notifier.identities.username': ['userName'],
  'notifier.opt_outs.recipient': ['writer', 'userId'],
  'notifier.opt_outs.actor': ['staffName'],
  'notifier.opt_outs.reason': ['remark'],
  'notifier.inbound_messages.recipient': ['writer', 'userId'],
  'notifier.inbound_messages.text': ['inboundText'],
  'notifier.customer_actions.recipient': ['writer', 'userId'],
  'notifier.tokens.staff_name': ['staffName'],
}

/** Finds the canaries in every column of every table, by service.table.column. */
export const searchColumns = async (superuser: pg.Client, service: string, canaries: Record<string, string>) => {
  const { rows: columns } = await superuser.query(
    `select relname as table, attname as column from pg_class join pg_attribute on attrelid = pg_class.oid
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'm') and attnum > 0 and not attisdropped`,
  )
  const searched = new Map<string, string[]>()
  for (const { table, column } of columns) {
    const { rows } = await superuser.query({ text: `select "${column}" from "${table}"`, rowMode: 'array' })
    searched.set(`${service}.${table}.${column}`, findIn(rows.map(([value]) => toText(value)).join('\n'), canaries))
  }
  return searched
}

const toText = (value: unknown): string =>
  Buffer.isBuffer(value) ? value.toString('latin1') : typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
