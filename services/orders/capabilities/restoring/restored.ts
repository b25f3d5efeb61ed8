import { UsageError } from '@courier/shared/cli/command-line.ts'
import { audit, operator } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant, query } from '@courier/shared/postgres/database.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type pg from 'pg'
import type { Capabilities } from '../../capability.ts'
import { blockSize, reserveNumbers } from '../../core/booking/waybill-numbers.ts'
import { WaybillFormat } from '../../core/catalogue/waybill-format.ts'
import type { Tx } from '../../core/database/tables.ts'
import {
  countBusiestDay,
  dropTooOld,
  findEvents,
  findWaitingEvents,
  type KnownEvent,
  knownDays,
  readKnownEvents,
  redeliver,
  requeue,
} from './queries.ts'

interface RestoreOptions {
  readonly notifier: ServiceClient
  /** Holds the earlier of the times to which the databases of orders and notifier were restored. */
  readonly since: Date
  /**
   * Sets how many numbers to leave out for each tenant; undefined: more than were probably assigned; 0: the database of
   * orders was not restored.
   */
  readonly skip: number | undefined
  readonly isDryRun: boolean
  readonly loaded: Capabilities
}

export interface Restored {
  readonly tenant: string
  readonly known_to_notifier: boolean
  /** Counts the waybill numbers that are left out. */
  readonly skipped: number
  /** Counts what the capabilities left out, such as the invoice numbers of each series. */
  readonly repaired: Readonly<Record<string, number>>
  /** Holds the waybill number that is assigned next. */
  readonly next_waybill: string
  /** Lists the events that the notifier lost with its database; they are in the outbox again. */
  readonly requeued: readonly KnownEvent[]
  /** Lists the events that the notifier knows and this database lost: orders and moves since the backup. */
  readonly lost: readonly KnownEvent[]
  /**
   * Lists the waybills of `lost` that are not below `next_waybill`: merchants chose them, or too few numbers were left
   * out.
   */
  readonly beyond: readonly string[]
  /**
   * Lists the events that waited in the outbox and are too old for the notifier to know them; they are removed, not
   * delivered.
   */
  readonly dropped: readonly KnownEvent[]
}

/**
 * Recovers after a database was restored from an older backup: moves the counters of waybill numbers past the numbers
 * assigned since, and compares the events with the notifier's. Each tenant has a transaction of its own.
 */
export const recover = async (pool: pg.Pool, options: RestoreOptions): Promise<Restored[]> => {
  const restored: Restored[] = []
  for (const tenant of await findTenantIds(pool)) restored.push(await recoverTenant(pool, tenant, options))
  return restored
}

const recoverTenant = async (pool: pg.Pool, tenant: string, options: RestoreOptions): Promise<Restored> => {
  const compared = options.since.getTime() - marginDays * dayMilliseconds
  const since = new Date(Math.max(compared, Date.now() - knownDays * dayMilliseconds))
  // Reads the outbox before the events, and these before the notifier's: an event that is delivered meanwhile is not
  // missing.
  const [waiting, stored] = await inTenant(pool, tenant, async (tx: Tx) => [
    await findWaitingEvents(tx, tenant),
    await findEvents(tx, tenant, since),
  ])
  const { isTenantKnown, events, inDoubtBefore } = await readKnownEvents(options.notifier, tenant, since)
  // A notifier that kept its database has every event that orders delivered.
  const doubtful = inDoubtBefore === null ? [] : stored.filter(event => event.happened_at < inDoubtBefore)
  const missing = exclude(doubtful, [...waiting, ...events])
  return inTenant(
    pool,
    tenant,
    async (tx: Tx) => {
      const dropped = await dropTooOld(tx, tenant)
      if (missing.length > 0) await requeue(tx, tenant, missing)
      if (inDoubtBefore) await redeliver(tx, tenant, since)
      const { format, ...skipped } = await skipNumbers(tx, tenant, options)
      const repaired = await repair(tx, tenant, options)
      await audit(tx, tenant, operator(), 'database.restored', tenant)
      // The service may still run: an event that it created and delivered since the first read is not lost.
      const lost = exclude(events, await findEvents(tx, tenant, since))
      const isBeyond = (waybill: string) => format.matches(waybill) && waybill >= skipped.next_waybill
      return {
        tenant,
        known_to_notifier: isTenantKnown,
        ...skipped,
        repaired,
        requeued: missing.map(({ type: _, note: __, ...event }) => event),
        lost,
        beyond: [...new Set(lost.map(event => event.waybill_number))].filter(isBeyond),
        dropped,
      }
    },
    { keeps: () => !options.isDryRun },
  )
}

/** Lets each capability repair its rows. */
const repair = async (tx: Tx, tenant: string, { skip, since, loaded }: RestoreOptions) => {
  const from = skip === 0 ? undefined : since
  const counts: Record<string, number> = {}
  for (const { repair } of loaded.values()) Object.assign(counts, await repair?.(tx, tenant, from))
  return counts
}

const dayMilliseconds = 86_400_000
/** Events that waited in the outbox at the time of the backup happened before it. */
const marginDays = 1

/** Returns the `events` that are not among `others`: order, status and time identify an event, whatever its id was. */
const exclude = <Event extends KnownEvent>(events: readonly Event[], others: readonly KnownEvent[]): Event[] => {
  const toKey = ({ waybill_number, status_key, happened_at }: KnownEvent) =>
    `${waybill_number} ${status_key} ${happened_at.getTime()}`
  const keys = new Set(others.map(toKey))
  return events.filter(event => !keys.has(toKey(event)))
}

/** Estimates the processes of orders that may have started since the backup: each leaves the rest of a block unused. */
const startsSince = 100

const skipNumbers = async (tx: Tx, tenant: string, { skip, since }: RestoreOptions) => {
  const [settings] = (await query(tx)`select waybill_format from tenants where tenant_id = ${tenant}`) as [
    { waybill_format: string },
  ]
  const format = new WaybillFormat(settings.waybill_format)
  const days = Math.ceil((Date.now() - since.getTime()) / dayMilliseconds)
  const probable = 10 * days * (await countBusiestDay(tx, tenant, since)) + startsSince * blockSize(format)
  const skipped = skip ?? probable
  const next = (await reserveNumbers(tx, tenant, skipped)) + skipped
  if (skipped > 0 && next >= format.capacity)
    throw new UsageError(`${tenant} has too few numbers to skip ${skipped}: give it a longer format, or use --skip`)
  return { format, skipped, next_waybill: format.waybill(next) }
}
