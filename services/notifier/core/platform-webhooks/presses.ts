import { maxAddressLength } from '@courier/shared/contract/customer-actions.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { KeywordChoice } from '../conversations/keywords.ts'
import { openButton, tokenPrefix } from '../customer-actions/button-token.ts'
import {
  type Address,
  addressMinutes,
  confirmAddresses,
  insertAddresses,
  insertPresses,
  type Press,
  renewPresses,
  type Written,
} from '../customer-actions/queries.ts'
import type { Tx } from '../database/tables.ts'
import { insertMessages, type NewMessage, newMessageIds } from '../messages/insert.ts'
import type { InboundFact } from './envelope.ts'
import type { Known } from './recognise.ts'
import type { TenantFact } from './signed-facts.ts'

export type Said = Known<TenantFact<InboundFact>> & { readonly keyword: KeywordChoice | undefined }

/** Opens the buttons with actions that people pressed; counts those that do not open, by reason. */
export const openPresses = (keyring: Keyring | undefined, said: readonly Said[], now: Date | undefined) => {
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
export const recordPresses = async (
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
