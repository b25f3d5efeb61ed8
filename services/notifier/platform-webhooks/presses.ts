import type { Keyring } from '@courier/shared/vault.ts'
import { openButton, tokenPrefix } from '../customer-actions/button-token.ts'
import { confirmAddresses, insertPresses, type Press, renewPresses } from '../customer-actions/queries.ts'
import type { Tx } from '../database/tables.ts'
import { askAddresses, confirmAddress, type Said } from './ask-addresses.ts'

/**
 * Stores what people ask for by buttons, and asks whether what they write after that is the address. Their
 * conversations must be locked, and what they said be stored. Counts the presses, those without effect by their reason,
 * and what may be an address.
 */
export const recordPresses = async (
  tx: Tx,
  keyring: Keyring | undefined,
  said: readonly Said[],
  now: Date | undefined,
) => {
  const counts = { opened: 0, unreadable: 0, expired: 0 }
  const presses: Press[] = []
  for (const { person, fact } of said) {
    const { payload, at, messageId: inboundId } = fact
    if (!now || !keyring || !payload?.startsWith(tokenPrefix)) continue
    const opened = openButton(keyring, person, payload, at, now)
    counts[opened.kind]++
    if (opened.kind === 'opened') presses.push({ person, button: opened.button, at, inboundId })
  }
  const [confirmations = [], others = []] = [true, false].map(is =>
    presses.filter(({ button }) => (button.action === confirmAddress) === is),
  )
  await renewPresses(tx, others)
  const pressed = (await insertPresses(tx, others)) + (await confirmAddresses(tx, confirmations))
  return {
    pressed,
    press_unreadable: counts.unreadable,
    press_expired: counts.expired,
    press_repeated: counts.opened - pressed,
    addresses: now ? await askAddresses(tx, said, now) : 0,
  }
}
