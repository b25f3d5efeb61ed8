import type { OrderEvent } from '@courier/shared/contract/order-events.ts'
import type { Tx } from '../database/tables.ts'
import type { Rule } from './queries.ts'

/** Takes part in processing new events, in their transaction. */
export interface EventPoint {
  /** Finds the numbers that messages about some of these events leave from, by event id. */
  readonly findNumbers?: (tx: Tx, tenant: string, events: readonly OrderEvent[]) => Promise<ReadonlyMap<string, string>>
  /** Runs once messages are queued. `first` lists their waybills, each with the first message of its event. */
  readonly onQueued?: (
    tx: Tx,
    tenant: string,
    rules: readonly Rule[],
    first: readonly { readonly waybill: string; readonly before: string }[],
  ) => Promise<unknown>
}
