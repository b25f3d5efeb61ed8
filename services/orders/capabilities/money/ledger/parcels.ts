import type { Tx } from '../../../core/database/tables.ts'
import { limitLockWait, lockOrders } from '../../../core/moves/move.ts'
import type { LockedOrder } from '../../../core/moves/move-points.ts'

/** Locks orders until the transaction ends, so that no other request numbers lines of their parcels. */
export const lockParcels = async (tx: Tx, tenant: string, waybills: readonly string[]): Promise<LockedOrder[]> => {
  const [, orders] = await Promise.all([limitLockWait(tx), lockOrders(tx, tenant, waybills, null)])
  return orders
}

/**
 * Locks a thing by its name, such as the cash of a person, until the transaction ends. On Citus the tenant's node holds
 * the lock.
 */
export const lockName = async (tx: Tx, tenant: string, name: string): Promise<void> => {
  await limitLockWait(tx)
  await tx.client.query({ name: 'lock_name', text: lockNameSql('exclusive'), values: [tenant, name] })
}

type LockMode = 'shared' | 'exclusive'

const lockNameSql = (mode: LockMode): string => `
  select pg_advisory_xact_lock${mode === 'shared' ? '_shared' : ''}(hashtextextended($1::text || ' ' || $2::text, 28))
  from tenants where tenant_id = $1`

/**
 * Keeps moves of a merchant's parcels from being taken back while an invoice takes their lines, and vice versa.
 * Invoices share the lock. The lock is a statement of its own, so that the next one sees what the other side wrote.
 */
export const lockTakeBacks = async (
  tx: Tx,
  tenant: string,
  merchantId: number | string,
  mode: LockMode,
): Promise<void> => {
  await tx.client.query(lockNameSql(mode), [tenant, `take-backs ${merchantId}`])
}

/** Holds the time, its day in the tenant's time zone, and the id of a new journal. Read it once all locks are held. */
export interface Clock {
  readonly now: Date
  readonly today: string
  readonly journalId: string
}

export const readClock = async (tx: Tx, tenant: string): Promise<Clock> => {
  const { rows } = await tx.client.query({ name: 'read_clock', text: clockSql, values: [tenant] })
  return rows[0]
}

const clockSql = `
  select now, (now at time zone time_zone)::date::text as today, "journalId"
  from tenants cross join (select clock_timestamp() as now, uuidv7() as "journalId") clock where tenant_id = $1`

/** Selects the number of the next line of the parcel of `line`. The caller has locked its order. */
export const nextLineSql = `(
    select 1 + newest.line_no from money_lines newest
    where newest.tenant_id = line.tenant_id and newest.waybill_number = line.waybill_number
    order by newest.tenant_id desc, newest.waybill_number desc, newest.line_no desc limit 1)`

/** Selects the number of the next line, `line_no`, of the waybill $2, which may have none. */
export const firstFreeSql = `(
    select 1 + coalesce(max(line_no), 0) as line_no from money_lines where tenant_id = $1 and waybill_number = $2) next`

/** Is true of a line, `line`, of the tenant $1 with a later line of one of these kinds, such as its reversal. */
export const hasLaterSql = (...kinds: string[]): string => `exists (
    select from money_lines later where later.tenant_id = $1 and later.waybill_number = line.waybill_number
      and later.refers_to = line.line_no and later.kind in (${kinds.map(kind => `'${kind}'`).join(', ')}))`

/** Selects the account that has the cash of a delivery, `line`: of who collected it, or took it from them. */
export const holderSql = 'coalesce(line.held_by, line.cash_account)'

export interface Booked {
  readonly waybill_number: string
  readonly kind: 'delivered' | 'returned' | 'compensated' | 'compensation'
  /** Is a day in the tenant's time zone. */
  readonly booked_on: string
  readonly cod: number
}

/**
 * Finds what moves and compensation booked for parcels and was not taken back. The caller has locked their orders with
 * an earlier statement: this one sees what the lock waited for.
 */
export const findBooked = (tx: Tx, tenant: string, waybills: readonly string[]): Promise<Booked[]> =>
  tx.rows({ name: 'find_booked', text: bookedSql, values: [tenant, waybills] })

const bookedSql = `
  select waybill_number, kind, booked_on::text, cod::float8 from money_lines line
  where tenant_id = $1 and waybill_number = any($2::text[])
    and kind in ('delivered', 'returned', 'compensated', 'compensation')
    and not ${hasLaterSql('delivery_reversed', 'return_reversed')}`

export const isCompensation = ({ kind }: Booked): boolean => kind === 'compensated' || kind === 'compensation'

/** Words what is booked for a parcel, and what to do. */
export const wordBooked = ({ waybill_number, kind, booked_on, cod }: Booked): string =>
  `${waybill_number} is booked as ${kind} on ${booked_on}${kind === 'delivered' ? `, with ${cod} paid` : ''}: take that move back first.`
