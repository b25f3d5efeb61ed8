import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import type { Tx } from '../../core/database/tables.ts'
import { addDeliveries, type Event, type HeldEndpoint } from './delivery-queries.ts'
import { toChangeItem } from './feed-page.ts'
import { openFeed } from './numbering.ts'
import { type Change, readChanges } from './read-changes.ts'

const changesAtOnce = 500

/**
 * Adds the next changes of the merchant's feed that the endpoint wants; false when the feed has no further changes, or
 * when too many events wait already.
 */
export const fanOut = async (pool: pg.Pool, endpoint: HeldEndpoint): Promise<boolean> => {
  const { tenant, merchantId, position, replayAfter, replayTo, isFull } = endpoint
  if (isFull) return false
  const feed = await openFeed(pool, endpoint)
  const isReplay = replayTo !== null
  // Skips changes that are no longer kept; the endpoint would otherwise wait for them for ever.
  const after = Math.max(isReplay ? (replayAfter ?? 0) : position, feed.deletedPosition)
  const through = replayTo ?? feed.lastPosition
  if (after >= through && !isReplay && after === position) return false
  const read = after < through ? await readChanges(pool, tenant, merchantId, after, changesAtOnce) : []
  const changes = read.filter(({ position }) => position <= through)
  const reached = changes.at(-1)?.position ?? through
  const progress = { reached, ...(isReplay && { replayTo: reached < through ? through : null }) }
  const events = changes.filter(({ type }) => endpoint.events.includes(type)).map(each => toEvent(feed.epoch, each))
  await inTenant(pool, tenant, (tx: Tx) => addDeliveries(tx, endpoint, progress, events), { keeps: isHeld => isHeld })
  return true
}

const toEvent = (epoch: string, change: Change): Event => {
  const { position, type, happened_at: happenedAt } = change
  // Changes of invoices wait for each other, as changes of one waybill do.
  const waybill = change.waybill_number ?? ''
  const data = toChangeItem(epoch, change)
  return { position, messageId: data.id, type, waybill, happenedAt, body: writeBody(type, happenedAt, data) }
}

/** Writes the body of a message, as Standard Webhooks recommends. */
export const writeBody = (type: string, timestamp: string, data: object): string =>
  JSON.stringify({ type, timestamp, data })
