import { Readable } from 'node:stream'
import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { inSnapshot } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../database/tables.ts'
import { addListed, type Facets } from '../tracking/facets.ts'
import type { ListedRow } from '../tracking/order-rows.ts'
import { toOrder } from '../tracking/order-view.ts'
import { type FacetStore, viewOrders } from '../tracking/read-orders.ts'
import { countOrders, type Position, selectOrders } from './list-orders.ts'
import type { OrderFilter } from './order-filter.ts'

/**
 * Limits a list in one response: about 50 MB, which Postgres and the service read and write in a few seconds. Longer
 * lists would hold a connection, and a snapshot, for minutes.
 */
export const maxWholeList = 50_000

/**
 * Limits the seconds until a slow client is disconnected: a list holds a connection to Postgres while orders are
 * unread.
 */
const longestSeconds = 60
/** Limits the rows in memory at once: about half a megabyte. */
export const rowsPerFetch = 500
/**
 * Limits the bytes read ahead of the client, to about a page of 1,000 orders. Shorter lists free their connection at
 * once.
 */
export const bufferedBytes = 1_048_576
/** Limits the waiting requests of one caller, and the waiting callers. */
const maxWaiting = 10

const tooLong =
  `The list has more than ${maxWholeList} orders. Narrow it by filters, or read it by pages: ` +
  'per_page=1000, then the same with cursor= and the meta.next_cursor of each page for the next.'
const busy = 'Too many whole lists are being read at once. Repeat the request.'

type Wanted = [tenant: string, filter: OrderFilter, after?: Position | undefined, facets?: Facets]

/**
 * Opens the list of all orders that match a filter, newest first, as of one moment: `{"data": [...]}`. The caller reads
 * or destroys the stream. Throws for a list that is too long, and while too many are being read.
 */
export type OpenWholeList = (caller: string, ...wanted: Wanted) => Promise<Readable>

/**
 * Creates the reader of whole lists. Each caller reads one list at a time, and all callers together hold a quarter of
 * the connections at most.
 */
export const createWholeLists = (store: FacetStore, maxSeconds = longestSeconds): OpenWholeList => {
  const bulkheads = createBulkheads({ caller: 1, process: Math.ceil(store.pool.options.max / 4) }, maxWaiting)
  return (caller, ...wanted) =>
    new Promise((resolve, reject) => {
      const open = () =>
        inSnapshot(store.pool, wanted[0], maxSeconds, async (tx: Tx) => {
          const { json, closed } = await openList(tx, store, maxSeconds, ...wanted)
          resolve(json)
          await closed
        })
      bulkheads({ caller, process: '' }, open).catch(refuseBusy(busy)).catch(reject)
    })
}

/** Opens a list in a transaction. `closed` resolves when the list no longer needs the transaction. */
const openList = async (
  tx: Tx,
  { catalogues, ...store }: FacetStore,
  maxSeconds: number,
  ...[tenant, filter, after, facets = store.facets]: Wanted
) => {
  const total = await countOrders(query => tx.rows(query), tenant, filter, maxWholeList + 1, after)
  if (total > maxWholeList) throw invalid({ noPagination: [tooLong] })
  const { text, values } = selectOrders(facets, tenant, filter, { after, offset: 0, limit: null })
  await tx.client.query(`declare whole_list no scroll cursor for ${text}`, values)
  const write = async (rows: ListedRow[]): Promise<string> => {
    const viewed = await viewOrders(catalogues, tenant, rows, toOrder)
    const orders = await addListed(facets, query => tx.rows(query), tenant, viewed, rows)
    return orders.map(order => JSON.stringify(order)).join()
  }
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const options = { objectMode: false, highWaterMark: bufferedBytes }
  const json = Readable.from(writeChunks(tx, total, write, resolve), options)
  const timer = setTimeout(() => json.destroy(new Error('a whole list was not read in time')), maxSeconds * 1000)
  // A list that was never read also emits this event.
  json.once('close', resolve)
  return { json, closed: closed.finally(() => clearTimeout(timer)) }
}

type WriteRows = (rows: ListedRow[]) => Promise<string>

/** Turns rows into text, a batch at a time. Fails if there are fewer rows than were counted. */
async function* writeChunks(tx: Tx, total: number, write: WriteRows, release: () => void) {
  let count = 0
  let opening = '{"data":['
  while (count < total) {
    const rows = await tx.rows<ListedRow>(`fetch ${rowsPerFetch} from whole_list`)
    if (rows.length === 0) throw new Error(`a whole list ended after ${count} of ${total} orders`)
    count += rows.length
    yield opening + (await write(rows))
    opening = ','
  }
  release()
  yield total === 0 ? '{"data":[]}' : ']}'
}
