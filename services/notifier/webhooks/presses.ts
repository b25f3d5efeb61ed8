import { maxAddressLength } from '@courier/shared/contract/customer-actions.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import type { Wish } from '../conversations/keywords.ts'
import type { Person } from '../conversations/queries.ts'
import { openButton, tokenPrefix } from '../customer-actions/button-token.ts'
import { insertAddresses, insertPresses, type Press, type Written } from '../customer-actions/queries.ts'
import type { Tx } from '../database/tables.ts'
import type { InboundFact } from './envelope.ts'

/** What presses of buttons with actions came to; those without effect by their reason. */
export interface Pressed {
  readonly pressed: number
  readonly press_unreadable: number
  readonly press_expired: number
  readonly press_repeated: number
  /** Texts and places taken as addresses. */
  readonly addresses: number
}

export interface Said {
  readonly person: Person
  readonly fact: InboundFact
  readonly keyword: Wish | undefined
}

/** Stores what people ask for by buttons, and the addresses that they write after that. Their conversations must be locked. */
export const recordPresses = async (
  tx: Tx,
  keyring: Keyring | undefined,
  said: readonly Said[],
  now: Date | undefined,
): Promise<Pressed> => {
  const counts = { opened: 0, unreadable: 0, expired: 0 }
  const presses: Press[] = []
  for (const { person, fact } of said) {
    const { payload, at, messageId: inboundId } = fact
    if (!now || !keyring || !payload?.startsWith(tokenPrefix)) continue
    const opened = openButton(keyring, person, payload, at, now)
    counts[opened.kind]++
    if (opened.kind === 'opened') presses.push({ person, button: opened.button, at, inboundId })
  }
  const pressed = await insertPresses(tx, presses)
  const addresses = await insertAddresses(tx, said.flatMap(writtenOf), maxAddressLength)
  return {
    pressed,
    press_unreadable: counts.unreadable,
    press_expired: counts.expired,
    press_repeated: counts.opened - pressed,
    addresses,
  }
}

/** A keyword is no address. */
const writtenOf = ({ person, fact, keyword }: Said): Written[] => {
  const text = (fact.location ?? fact.text ?? '').trim()
  return text === '' || keyword ? [] : [{ person, text, at: fact.at, inboundId: fact.messageId }]
}
