import type { BenchOptions, Cell, Tools } from './bench.ts'
import { bookBatches } from './bulk.ts'
import { measureLoad } from './cpu.ts'
import type { Measure } from './repeat.ts'
import type { Side } from './versions.ts'

const path = '/api/staff/order/status'
/** Exceeds what a measurement can move, in thousands of orders. */
const mostThousands = 200

type Books = 'delivery' | 'nothing'

/** Measures deliveries beside moves that book no money, or these moves alone. */
export const createMoveCell = (
  { load }: Tools,
  batch: number,
  connections: number,
  books: Books,
  thousands = mostThousands,
): Cell => {
  /** Holds the waybills of each database. */
  const booked = new Map<string, string[]>()
  const prepare = async (side: Side, books: Books): Promise<Measure> => {
    const all = booked.get(side.databaseUrl) ?? (await findOrders(side, thousands))
    booked.set(side.databaseUrl, all)
    const requests = Array.from({ length: Math.floor(all.length / batch) }, (_, n) => {
      const waybill_numbers = all.slice(n * batch, (n + 1) * batch)
      return { path, body: JSON.stringify({ waybill_numbers, status_key: 'key_13' }) }
    })
    const headers = { ...side.headers, authorization: `Bearer ${side.staffToken}` }
    return async seconds => {
      await renew(side, books)
      // Every measurement starts again with the first order.
      const measured = await measureLoad(load, side, { kind: 'requests', headers, requests }, connections)(seconds)
      await expectLines(side, books === 'delivery' ? measured.requestMilliseconds.length * batch : 0)
      return measured
    }
  }
  return {
    name: `${books === 'delivery' ? 'delivered' : 'moved'}, batch ${batch}, connections ${connections}`,
    service: 'orders',
    unit: 'orders',
    unitsPerRequest: batch,
    measure: side => prepare(side, books),
    baselines: async side => (books === 'delivery' ? { 'without money': await prepare(side, 'nothing') } : {}),
  }
}

/** Returns the waybills of that many thousands of orders: of those that earlier cells left, or else of new ones. */
const findOrders = async (side: Side, thousands: number): Promise<string[]> => {
  const text = 'select waybill_number as waybill from orders order by 1 limit $1'
  const { rows } = await side.superuser.query<{ waybill: string }>(text, [thousands * 1000])
  if (rows.length === thousands * 1000) return rows.map(({ waybill }) => waybill)
  return (await bookBatches(side, 1000, thousands)).flat()
}

/** Lists those of the tables that this version has. */
const listTables = async (superuser: Side['superuser'], names: readonly string[]): Promise<string[]> => {
  const text = 'select tablename as name from pg_tables where tablename = any($1)'
  return (await superuser.query(text, [names])).rows.map(({ name }) => name)
}

/** Makes all orders ready to be delivered, with no money booked. Version 0.2.0 has neither a log nor money. */
const renew = async ({ superuser }: Side, books: string): Promise<void> => {
  const written = await listTables(superuser, ['order_events', 'log', 'outbox', 'money_lines', 'ledger_transfers'])
  await superuser.query(`truncate ${written.join(', ')}`)
  if (written.includes('money_lines'))
    await superuser.query(`update statuses set books = $1 where status_key = 'key_13'`, [books])
  await superuser.query('update tenants set version = version + 1')
  await superuser.query(`update orders set status_key = 'key_12' where status_key <> 'key_12'`)
  await superuser.query('vacuum analyze orders')
}

/** Requires a money line for each parcel that was delivered, where the version books money. */
const expectLines = async ({ superuser }: Side, expected: number): Promise<void> => {
  if (expected === 0 && (await listTables(superuser, ['money_lines'])).length === 0) return
  const { rows } = await superuser.query('select count(*)::integer as count from money_lines')
  if (rows[0].count !== expected) throw new Error(`money_lines has ${rows[0].count} rows, not ${expected}`)
}

export const moves = ({ batches = [1, 1000], connections, isCompared }: BenchOptions, tools: Tools): Cell[] =>
  batches.flatMap(batch =>
    (connections ?? [batch === 1 ? 8 : 1]).flatMap(count =>
      // Two versions are also compared by moves without money, which are the baseline of deliveries otherwise.
      (['delivery', 'nothing'] as const)
        .slice(0, isCompared ? 2 : 1)
        .map(books => createMoveCell(tools, batch, count, books)),
    ),
  )
