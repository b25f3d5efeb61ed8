import type { TProperties } from '@sinclair/typebox'
import type { RawBuilder } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { PortfolioResponse } from '../messaging-api/account-responses.ts'

/** Takes part in reading numbers. */
export interface ChannelPoint {
  /** Adds fields to channels that staff read. */
  readonly fields: TProperties
  /** Selects these fields, by name, of the row `c` of `channels`. */
  readonly columns: Readonly<Record<string, RawBuilder<unknown>>>
  /** Stores what else the API says of a number, in the transaction that stores to whom the number belongs. */
  readonly onRead: (tx: Tx, number: ReadNumber, response: PortfolioResponse) => Promise<void>
}

export interface ReadNumber {
  readonly tenant: string
  readonly portfolioId: string
  /** Is the account that the tenant chose. */
  readonly wabaId: string | null
}
