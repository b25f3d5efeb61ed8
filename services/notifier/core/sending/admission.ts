import type { ChannelRef } from '../channels/secrets.ts'
import type { Tx } from '../database/tables.ts'
import type { ClaimedMessage, DueMessage } from './message.ts'

/**
 * Decides which of a claim's messages leave, in the claim's transaction, for one claim. The claim asks all in the order
 * of their list: first each to defer, then each to reserve, then each to carry.
 */
export interface ClaimAdmission {
  /** Postpones due messages that wait, which is not an attempt, and says why in their timeline; returns the others. */
  readonly defer?: (due: readonly DueMessage[]) => Promise<readonly DueMessage[]>
  /**
   * Takes what sends use up, locking it after numbers and messages (docs/contributors/decisions.md#order-of-locks);
   * postpones messages for which too little is left, or leaves out those that another one carries. Returns the others.
   */
  readonly reserve?: (sendable: readonly ClaimedMessage[]) => Promise<readonly ClaimedMessage[]>
  /** Adds to the messages, which are `sending` now, what leaves with them; returns all, as they are to be sent. */
  readonly carry?: (marked: readonly ClaimedMessage[]) => Promise<readonly ClaimedMessage[]>
}

/** Begins a claim of these numbers. Reads about them share the round trip that locks their due messages. */
export type Admission = (tx: Tx, numbers: readonly ChannelRef[], now: Date) => ClaimAdmission | Promise<ClaimAdmission>
