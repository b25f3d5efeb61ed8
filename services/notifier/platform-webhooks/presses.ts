import type { Keyring } from '@courier/shared/vault.ts'
import { openButton, tokenPrefix } from '../customer-actions/button-token.ts'
import { confirmAddresses, insertPresses, type Press, renewPresses } from '../customer-actions/queries.ts'
import type { Tx } from '../database/tables.ts'
import { askAddresses, confirmAddress, type Said } from './ask-addresses.ts'

/**
 * Stores requests made by buttons, and asks people to confirm the addresses that they write afterwards. The
 * conversations must be locked, and the inbound messages stored. Counts the presses, those without effect by their
 * reason, and possible addresses.
 */
export const recordPresses = async (
  tx: Tx,
  keyring: Keyring | undefined,
  said: readonly Said[],
  now: Date | undefined,
) => {
  const counts = { opened: 0, unreadable: 0, expired: 0 }
  const presses: Press[] = []
  for (const { tenant, phoneNumberId, recipient, payload, at, messageId: inboundId } of said) {
    if (!now || !keyring || !payload?.startsWith(tokenPrefix)) continue
    const person = { tenant, phoneNumberId, recipient }
    const opened = openButton(keyring, person, payload, at, now)
    counts[opened.kind]++
    if (opened.kind === 'opened') presses.push({ ...person, ...opened.button, at, inboundId })
  }
  const [confirmations = [], others = []] = [true, false].map(is =>
    presses.filter(({ action }) => (action === confirmAddress) === is),
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
