import type { Tx } from '../database/tables.ts'
import type { LockedMessage } from './message-queries.ts'
import type { Report } from './settle.ts'

/**
 * Takes part in webhooks, in the one transaction of each, which locks in the order of
 * docs/contributors/decisions.md#order-of-locks.
 */
export interface WebhookPoint {
  /** Stores what reports say of locked messages besides their status; shares the round trip that moves them on. */
  readonly onStatuses?: (
    tx: Tx,
    reported: ReadonlyMap<LockedMessage, readonly Report[]>,
  ) => Promise<unknown> | undefined
}
