import type { Staff } from '@courier/shared/access/staff.ts'
import type { TProperties } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'

/** Adds fields to messages that are read. */
export interface MessageFacet {
  readonly fields: TProperties
  /** Finds the fields by message, for this member of staff; shares the round trip that reads the timelines. */
  readonly read: (tx: Tx, staff: Staff, ids: readonly string[]) => Promise<ReadonlyMap<string, object>>
  /** Holds the fields of a message that `read` did not find. */
  readonly absent: object
}
