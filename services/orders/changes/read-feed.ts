import type pg from 'pg'
import { catchUp, type FeedOwner, type FeedState, openFeed } from '../log/feed.ts'
import { type Change, readChanges } from '../log/read-changes.ts'

/** Identifies a change for good, also among those of other merchants, and is the cursor behind it. */
export const writeId = (epoch: string, position: number): string => `${epoch}.${position}`

export const cursorPattern = '^(now|[0-9a-f-]{36}\\.(0|[1-9][0-9]{0,14}))$'

/**
 * The position that a cursor names: without one before all that is kept. undefined: what follows it is no longer kept.
 */
const readPosition = (cursor: string | undefined, feed: FeedState): number | undefined => {
  if (cursor === undefined) return feed.deletedPosition
  if (cursor === 'now') return feed.lastPosition
  const [epoch, digits] = cursor.split('.')
  const position = Number(digits)
  const isKept = epoch === feed.epoch && position >= feed.deletedPosition && position <= feed.lastPosition
  return isKept ? position : undefined
}

export interface FeedPage {
  readonly changes: readonly Change[]
  readonly epoch: string
  /** The position of the last change, or where the reader was. */
  readonly position: number
  readonly hasMore: boolean
}

/** Up to `limit` changes behind a cursor; undefined when what follows it is no longer kept. */
export const readFeed = async (
  pool: pg.Pool,
  merchant: FeedOwner,
  cursor: string | undefined,
  limit: number,
): Promise<FeedPage | undefined> => {
  const feed = await (cursor === 'now' ? catchUp : openFeed)(pool, merchant)
  const after = readPosition(cursor, feed)
  if (after === undefined) return undefined
  const isNew = after < feed.lastPosition
  const changes = isNew ? await readChanges(pool, merchant.tenant, merchant.merchantId, after, limit) : []
  const position = changes.at(-1)?.position ?? after
  return { changes, epoch: feed.epoch, position, hasMore: feed.isBehind || position < feed.lastPosition }
}
