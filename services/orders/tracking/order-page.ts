import { inTenant } from '@courier/shared/database.ts'
import { invalid } from '@courier/shared/http/errors.ts'
import { type CallAddress, linksOf, pageFields, toPage, wantedPage } from '@courier/shared/http/pages.ts'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { OrderRow } from './find-order.ts'
import { countOrders, listOrders, maxCounted, type Position } from './list-orders.ts'
import type { OrderFilter } from './order-filter.ts'
import { exampleOrder, OrderView } from './order-view.ts'

const { page, per_page } = pageFields

/** The query fields of a list of orders beside its filters. */
export const orderPageFields = {
  page,
  per_page,
  cursor: Type.Optional(
    Type.String({ maxLength: 255, description: 'The next_cursor of the page before; instead of a page number.' }),
  ),
}

const Nullable = Type.Union([Type.String(), Type.Null()])
const nullableNumber = Type.Optional(Type.Union([Type.Integer(), Type.Null()]))
const exampleCursor = 'MjAyNi0wMi0xOVQxOTowNjoyMy4wMDAwMDBaIERNMDAwMDAwMDE'

export const OrderPage = Type.Object(
  {
    data: Type.Array(OrderView),
    links: Type.Object({ first: Nullable, last: Nullable, prev: Nullable, next: Nullable }),
    meta: Type.Object({
      current_page: Type.Optional(Type.Integer()),
      from: nullableNumber,
      last_page: Type.Optional(Type.Integer()),
      path: Type.String(),
      per_page: Type.Integer(),
      to: nullableNumber,
      total: Type.Optional(
        Type.Integer({ description: `Rows of all pages; ${maxCounted} also for more. Not on pages by cursor.` }),
      ),
      next_cursor: Nullable,
    }),
  },
  {
    title: 'OrderPage',
    examples: [
      {
        data: [exampleOrder],
        links: { first: null, last: null, prev: null, next: null },
        meta: { path: 'https://courier.example/api/public/merchant/order', per_page: 15, next_cursor: exampleCursor },
      },
    ],
  },
)

interface PageQuery {
  page?: string
  per_page?: string
  cursor?: string
}

/**
 * The page of a list of orders that `query` asks for: by number with a count, or behind a cursor without one. Either tells
 * the cursor of the page after it. Throws 422 for a cursor that is none, and for pages beyond what is counted.
 */
export const orderPage = async (
  pool: pg.Pool,
  tenant: string,
  address: CallAddress,
  query: PageQuery,
  filter: OrderFilter,
): Promise<Static<typeof OrderPage>> => {
  const { cursor, ...numbered } = query
  const after = cursor ? readCursor(cursor) : undefined
  const wanted = wantedPage(numbered) ?? { page: 1, perPage: 1, offset: 0 }
  const offset = after ? 0 : wanted.offset
  if (offset >= maxCounted) throw invalid({ page: [tooFar] })
  const [rows, total] = await inTenant(pool, tenant, (tx: Tx) =>
    Promise.all([
      // One more than the page has tells whether another follows.
      listOrders(tx, tenant, filter, { after, offset, limit: wanted.perPage + 1 }),
      after ? 0 : countOrders(tx, tenant, filter),
    ]),
  )
  const data = rows.slice(0, wanted.perPage)
  const next_cursor = rows.length > data.length ? writeCursor(data.at(-1)) : null
  if (after) return behindCursor(address, data, wanted.perPage, next_cursor)
  const page = toPage(address, wanted, data, total)
  return { ...page, meta: { ...page.meta, next_cursor } }
}

const tooFar = `The page field must lie within the first ${maxCounted} orders. Go on with the next_cursor of a page.`

const behindCursor = (address: CallAddress, data: OrderRow[], per_page: number, next_cursor: string | null) => {
  const { path, linkWith } = linksOf(address)
  const next = next_cursor === null ? null : linkWith('cursor', next_cursor)
  return { data, links: { first: null, last: null, prev: null, next }, meta: { path, per_page, next_cursor } }
}

const writeCursor = (last: OrderRow | undefined): string | null =>
  last ? Buffer.from(`${last.created_at} ${last.waybill_number}`).toString('base64url') : null

const cursorText = /^([12]\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z) ([\x21-\x7e]{1,50})$/

const readCursor = (cursor: string): Position => {
  const [, createdAt = '', waybill = ''] = cursorText.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  const second = createdAt.slice(0, 19)
  const time = new Date(`${second}Z`)
  if (Number.isNaN(time.getTime()) || !time.toISOString().startsWith(second))
    throw invalid({ cursor: ['The cursor field must be the next_cursor of a page.'] })
  return { createdAt, waybill }
}
