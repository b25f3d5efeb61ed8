import { httpError } from '@courier/shared/errors/errors.ts'
import { component, oneOf, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { keptDays } from '../../core/log/retention.ts'
import { ActorName } from '../../core/tracking/order-schema.ts'
import { changeTypes } from './change-types.ts'
import { catchUp, type FeedOwner, type FeedState, openFeed } from './numbering.ts'
import { type Change, readChanges } from './read-changes.ts'

export const ChangeItem = component('Change', {
  id: Type.String({
    description: 'Identifies the change permanently: use it to recognize duplicates.',
    examples: ['2f1c9a52-8a4c-4c1e-9a6d-5b0d8f3f7c11.41'],
  }),
  type: Type.Unsafe<string>(oneOf(changeTypes)),
  waybill_number: orNull(Type.String(), {
    description: 'null: the change is about an invoice, your bank account or a pickup.',
    examples: ['DM00000001'],
  }),
  order_no: orNull(Type.String()),
  status: orNull(Type.Object({ key: Type.String(), name: Type.String() }), {
    description: 'The status of the order as of this change; null for an invoice, a bank account or a pickup.',
  }),
  happened_at: Type.String({ description: 'ISO 8601, UTC, with six decimals.' }),
  by: ActorName,
  details: orNull(Type.Record(Type.String(), Type.String()), {
    description:
      'Details beyond the type: reason_code of a failed delivery or a return; action, date and given_as of order.instructed; invoice_no and invoice_ref_no of money.paid, invoice.submitted and invoice.deposited, with the amount of the parcel or the total, and the currency; paid_on and bank_reference of money.paid and invoice.deposited; object_until of invoice.submitted and bank_account.changed, in the company’s time zone; version, bank and last_four of bank_account.changed; pickup_id, day, business_name and address_name of pickup.requested, pickup.assigned, pickup.done and pickup.missed, with the rider, the reason, and the counts parcels, missing and extra.',
  }),
  fields: orNull(Type.Array(Type.String()), {
    description: 'The names of the fields that order.edited changed.',
    examples: [null],
  }),
})

/** Converts a change to the form that merchants receive. */
export const toChangeItem = (epoch: string, { position, fields, ...change }: Change): Static<typeof ChangeItem> => ({
  id: writeId(epoch, position),
  ...change,
  fields: fields && [...fields],
})

/** Writes the id of a change: it is permanent, unique across merchants, and also the cursor after the change. */
export const writeId = (epoch: string, position: number): string => `${epoch}.${position}`

export const cursorPattern = '^(now|[0-9a-f-]{36}\\.(0|[1-9][0-9]{0,14}))$'

/**
 * Returns the position that a cursor names; without a cursor, the position before all that is kept. undefined: the
 * cursor is of another epoch or beyond the feed, or what follows the cursor is no longer kept.
 */
const readPosition = (cursor: string | undefined, feed: FeedState): number | undefined => {
  if (cursor === undefined) return feed.deletedPosition
  if (cursor === 'now') return feed.lastPosition
  const [epoch, digits] = cursor.split('.')
  const position = Number(digits)
  const isKept = epoch === feed.epoch && position >= feed.deletedPosition && position <= feed.lastPosition
  return isKept ? position : undefined
}

export type FeedPage = Awaited<ReturnType<typeof readFeed>>

/** Reads up to `limit` changes after a cursor. Throws if the feed cannot continue from the cursor. */
export const readFeed = async (pool: pg.Pool, merchant: FeedOwner, cursor: string | undefined, limit: number) => {
  const feed = await (cursor === 'now' ? catchUp : openFeed)(pool, merchant)
  const after = readPosition(cursor, feed)
  if (after === undefined) throw httpError('cursor_expired', cursorExpired)
  const isNew = after < feed.lastPosition
  const changes = isNew ? await readChanges(pool, merchant.tenant, merchant.merchantId, after, limit) : []
  // Without changes the reader stays where it was.
  const position = changes.at(-1)?.position ?? after
  return { changes, epoch: feed.epoch, position, hasMore: feed.isBehind || position < feed.lastPosition }
}

const cursorExpired = `Changes are kept for ${keptDays} days, and those after this cursor are gone. Start again without a cursor, and read the list of orders for anything older.`
