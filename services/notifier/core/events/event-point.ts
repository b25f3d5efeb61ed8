import type { CourierEvent } from '@courier/shared/contract/order-events.ts'
import type { Tx } from '../database/tables.ts'
import type { Rule } from './queries.ts'

/** Takes part in processing new events, in their transaction. */
export interface EventPoint {
  /** Finds by event id the number from which the messages of an event leave, unless their rule names one. */
  readonly findNumbers?: (tx: Tx, tenant: string, events: readonly CourierEvent[]) => Promise<Map<string, string>>
  /** Runs once messages are queued. `first` lists their waybills, each with the first message of its event. */
  readonly onQueued?: (
    tx: Tx,
    tenant: string,
    rules: readonly Rule[],
    first: readonly { readonly waybill: string; readonly before: string }[],
  ) => Promise<unknown>
}
