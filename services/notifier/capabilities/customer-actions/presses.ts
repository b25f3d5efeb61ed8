import { maxAddressLength } from '@courier/shared/contract/customer-actions.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { prepared, type Tx, toColumns } from '../../core/database/tables.ts'
import { insertMessages, type NewMessage, newMessageIds } from '../../core/messages/insert.ts'
import { tokenPrefix } from '../../core/messaging-api/message-template.ts'
import { isUserId } from '../../core/messaging-api/user-id.ts'
import type { InboundFact } from '../../core/platform-webhooks/envelope.ts'
import type { NamedPerson } from '../../core/platform-webhooks/person.ts'
import type { Said, TenantFact } from '../../core/platform-webhooks/signed-facts.ts'
import type { WebhookPoint } from '../../core/platform-webhooks/webhook-point.ts'
import { openButton } from './button-token.ts'
import {
  type Address,
  addressMinutes,
  confirmAddresses,
  insertAddresses,
  insertPresses,
  type Press,
  renewPresses,
  type Written,
} from './queries.ts'

/** Takes the presses of our buttons and the addresses that people write after them. */
export const takePresses: NonNullable<WebhookPoint['begin']> = (tx, { inbound }, keyring) => {
  let record = async (): Promise<Readonly<Record<string, number>>> => ({})
  return {
    findWriters: () => findPressers(tx, inbound, keyring),
    takeSaid: (said, now) => {
      const opened = openPresses(keyring, said, now)
      record = () => recordPresses(tx, opened, said, now)
      return new Set(opened.presses.keys())
    },
    finish: () => record(),
  }
}

/** Opens the buttons with actions that people pressed; counts those that do not open, by reason. */
const openPresses = (keyring: Keyring | undefined, said: readonly Said[], now: Date | undefined) => {
  const counts = { unreadable: 0, expired: 0 }
  const presses = new Map<Said, Press>()
  for (const fact of said) {
    const { tenant, phoneNumberId, payload, at, messageId: inboundId } = fact
    if (!now || !keyring || !payload?.startsWith(tokenPrefix)) continue
    // The button opens only for the number that pressed it, even if the person has another one by now.
    const person = { tenant, phoneNumberId, recipient: fact.phone ?? fact.recipient }
    const opened = openButton(keyring, person, payload, at, now)
    if (opened.kind === 'opened') presses.set(fact, { ...person, ...opened.button, at, inboundId })
    else counts[opened.kind]++
  }
  return { presses, counts }
}

/**
 * Stores requests made by buttons, and asks people to confirm addresses. The caller must have locked the conversations
 * and stored the inbound messages. Returns the counts of presses with an effect, of others by their reason, and of new
 * addresses.
 */
const recordPresses = async (
  tx: Tx,
  { presses, counts }: ReturnType<typeof openPresses>,
  said: readonly Said[],
  now: Date | undefined,
) => {
  const confirmations = [...presses.values()].filter(({ action }) => action === confirmAddress)
  const others = [...presses.values()].filter(({ action }) => action !== confirmAddress)
  await renewPresses(tx, others)
  const pressed = (await insertPresses(tx, others)) + (await confirmAddresses(tx, confirmations))
  return {
    pressed,
    press_unreadable: counts.unreadable,
    press_expired: counts.expired,
    press_repeated: presses.size - pressed,
    addresses: now ? await askAddresses(tx, said, now) : 0,
  }
}

const confirmAddress = 'confirm_written_address'

/** The question has the language of the message whose button was pressed, if listed here, else English. */
const questions: Readonly<Record<string, readonly [before: string, after: string, button: string]>> = {
  en: [
    'New address for',
    'Is this right? Press Confirm. If not, write the whole address again in one message.',
    'Confirm',
  ],
  si: ['නව ලිපිනය:', 'මෙය නිවැරදි නම් තහවුරු කරන්න ඔබන්න. නැතිනම් සම්පූර්ණ ලිපිනය එක් පණිවිඩයකින් නැවත ලියන්න.', 'තහවුරු කරන්න'],
  ta: [
    'புதிய முகவரி:',
    'இது சரியென்றால் உறுதிசெய் என்பதை அழுத்தவும். இல்லையென்றால் முழு முகவரியையும் ஒரே செய்தியில் மீண்டும் எழுதவும்.',
    'உறுதிசெய்',
  ],
}

/** Asks people to confirm the addresses that they wrote; a keyword is not an address. Returns how many are new. */
const askAddresses = async (tx: Tx, said: readonly Said[], now: Date): Promise<number> => {
  const ids = newMessageIds(said.length, now)
  const written = said.flatMap(({ keyword, text, location, messageId: inboundId, ...about }, index): Written[] => {
    const address = (location ?? text ?? '').trim()
    return address === '' || keyword ? [] : [{ ...about, inboundId, text: address, questionId: ids[index] as string }]
  })
  const addresses = await insertAddresses(tx, written, maxAddressLength)
  const texts = new Map(written.map(({ questionId, text }) => [questionId, text]))
  const short = addresses.filter(({ isLong }) => !isLong)
  for (const [tenant, ofTenant] of Map.groupBy(short, address => address.tenant)) {
    const messages = ofTenant.map(address => toMessage(address, texts.get(address.questionId) ?? ''))
    await insertMessages(tx, tenant, messages)
  }
  return addresses.length
}

const toMessage = (address: Address, text: string): NewMessage => {
  const { questionId: id, phoneNumberId, recipient, waybill, language, isInDoubt } = address
  const [before, after, button] = questions[language?.slice(0, 2) ?? 'en'] ?? (questions.en as (typeof questions)['en'])
  const template = {
    text: `${before} ${waybill}\n${text}\n\n${after}`,
    button: { title: button, action: confirmAddress },
  }
  const atOnce = { sendAt: null, hours: null, waitsFor: null, isHeld: false, holdsUntilOpen: false, isExempt: false }
  const message = { ...atOnce, source: null, joins: null, phoneNumberId, recipient, waybillNumber: waybill, template }
  return { id, message, isInDoubt, rule: { event: null, expires_after_hours: addressMinutes / 60 } }
}

/** Limits the messages whose buttons a press is tried for. */
const maxUnderWay = 1_000

/**
 * Finds the people who pressed our buttons, if we do not know their number: the sealed payload opens only for the
 * recipient of its message. That is the one that `context` names or, until the outcome of its send is stored, one
 * of those under way.
 */
const findPressers = async (tx: Tx, inbound: readonly TenantFact<InboundFact>[], keyring: Keyring | undefined) => {
  const pressed = inbound.filter(({ phone, payload }) => phone === undefined && payload?.startsWith(tokenPrefix))
  const found = new Map<TenantFact<InboundFact>, NamedPerson>()
  if (!keyring || pressed.length === 0) return found
  const [tenants, numbers, ids, users] = toColumns(pressed, 'tenant', 'phoneNumberId', 'context', 'userId')
  const rows = await prepared<{ place: number; recipient: string }>(tx, 'find_pressed')`
    with given as materialized (
      select * from unnest(${tenants}::text[], ${numbers}::text[], ${ids}::text[], ${users}::text[])
        with ordinality as given (tenant_id, phone_number_id, provider_message_id, user_id, place)
      where not exists (
        select from identities i where i.tenant_id = given.tenant_id and i.user_id = given.user_id
          and i.recipient not like '%.%')
    ), known as materialized (
      select place, recipient from given join messages using (tenant_id, phone_number_id, provider_message_id)
    )
    select place::integer, recipient from known
    union
    select place::integer, m.recipient
    from (select * from given where place not in (select place from known)) given cross join lateral (
      select recipient from messages m
      where m.tenant_id = given.tenant_id and m.phone_number_id = given.phone_number_id
        and m.status in ('sending', 'unknown') and m.template::text like '%"action"%'
      limit ${maxUnderWay}::integer
    ) m`
  for (const { place, recipient } of rows) {
    const fact = pressed[place - 1] as TenantFact<InboundFact>
    const { tenant, phoneNumberId, payload = '', at } = fact
    const opened = openButton(keyring, { tenant, phoneNumberId, recipient }, payload, at, at)
    if (opened.kind !== 'unreadable')
      found.set(fact, isUserId(recipient) ? { userId: fact.userId ?? recipient } : { phone: recipient })
  }
  return found
}
