import type { Keyring } from '@courier/shared/vault.ts'
import type { OnMoved } from '../conversations/identities.ts'
import type { Tx } from '../database/tables.ts'
import type { AccountReader, InboundFact } from './envelope.ts'
import type { LockedMessage } from './message-queries.ts'
import type { NamedPerson } from './person.ts'
import type { Report } from './settle.ts'
import type { Said, SignedFacts, TenantFact } from './signed-facts.ts'

/**
 * Takes part in the one transaction of webhooks. The core calls these in this order, which is that of
 * docs/contributors/decisions.md#order-of-locks; one that has nothing to do makes no round trip.
 */
export interface WebhookSteps {
  /** Finds out who wrote these, beyond what the facts say. Locks nothing. */
  readonly findWriters?: () => Promise<ReadonlyMap<TenantFact<InboundFact>, NamedPerson>>
  /** Returns the messages that it acts on: staff need not read them. `now` is undefined if there are none. */
  readonly takeSaid?: (said: readonly Said[], now: Date | undefined) => ReadonlySet<Said>
  /** Stores what locks numbers, after messages and before templates. */
  readonly store?: () => Promise<unknown>
  /** Adds rows, last of all; returns counts for the log and the metrics. */
  readonly finish?: () => Promise<Readonly<Record<string, number>>>
}

/** Takes part in webhooks. */
export interface WebhookPoint {
  /** Adds facts about accounts. */
  readonly accounts?: AccountReader
  /** Begins the transaction of some webhooks. Opens the payloads of buttons with the keyring, if there is one. */
  readonly begin?: (tx: Tx, facts: SignedFacts, keyring: Keyring | undefined) => WebhookSteps
  /** Moves rows of people who got another number or id, also if the response to a send says so. */
  readonly onMoved?: OnMoved
  /** Stores what reports say of locked messages besides their status; shares the round trip that moves them on. */
  readonly onStatuses?: (
    tx: Tx,
    reported: ReadonlyMap<LockedMessage, readonly Report[]>,
  ) => Promise<unknown> | undefined
}
