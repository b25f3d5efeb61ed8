import { invalid } from '@courier/shared/errors/errors.ts'
import { cursorField, invalidCursor, listCursor } from '@courier/shared/lists/cursor.ts'
import { isDate } from '@courier/shared/lists/dates.ts'
import {
  linksOf,
  pageFields,
  type RequestAddress,
  toPage,
  type WantedPage,
  wantedPage,
} from '@courier/shared/lists/pages.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { type Static, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import type pg from 'pg'
import type { Catalogues } from '../catalogue/catalogue.ts'
import type { Tx } from '../database/tables.ts'
import { exampleOrder, OrderView, toOrder } from '../tracking/order-view.ts'
import { viewOrders } from '../tracking/read-orders.ts'
import { countOrders, listOrders, maxCounted, type Position } from './list-orders.ts'
import type { OrderFilter } from './order-filter.ts'

/** The query fields of a list of orders besides its filters. */
export const orderPageFields = {
  ...pageFields,
  cursor: { ...cursorField, description: '`next_cursor` of the page before, instead of a page number.' },
}

const Nullable = Type.Union([Type.String(), Type.Null()])
const nullableNumber = Type.Optional(Type.Union([Type.Integer(), Type.Null()]))
const exampleCursor = 'MjAyNi0wMi0xOVQxOTowNjoyMy4wMDAwMDBaIERNMDAwMDAwMDE'

export const OrderPage = Type.Object(
  {
    data: Type.Array(OrderView),
    links: Type.Optional(Type.Object({ first: Nullable, last: Nullable, prev: Nullable, next: Nullable })),
    meta: Type.Optional(
      Type.Object({
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
    ),
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
  noPagination?: string
  noPaginationNoFilter?: string
  cursor?: string
}

/** The part of a list that a query requests: with `all`, everything that follows. */
type WantedOrders = { readonly after: Position | undefined } & (
  | { readonly all: true }
  | { readonly all: false; readonly page: WantedPage }
)

/** Throws for an invalid cursor, and for pages beyond the counted ones. */
export const wantedOrders = ({ cursor, ...numbered }: PageQuery): WantedOrders => {
  const after = readPosition(cursor)
  const page = wantedPage(numbered)
  if (!page) return { after, all: true }
  if (!after && page.offset >= maxCounted) throw invalid({ page: [tooFar] })
  return { after, all: false, page }
}

/**
 * Reads a page of a list of orders: by number with a count, or after a cursor without one. Both carry the cursor of the next
 * page.
 */
export const orderPage = async (
  { pool, catalogues }: { pool: pg.Pool; catalogues: Catalogues },
  tenant: string,
  address: RequestAddress,
  { after, page: { perPage, ...page } }: WantedOrders & { all: false },
  filter: OrderFilter,
): Promise<Static<typeof OrderPage>> => {
  const offset = after ? 0 : page.offset
  const [rows, total] = await inTenant(pool, tenant, (tx: Tx) =>
    Promise.all([
      // One row more than the page holds shows whether another page follows.
      listOrders(tx, tenant, filter, { after, offset, limit: perPage + 1 }),
      after ? 0 : countListed(pool, tx, tenant, filter),
    ]),
  )
  const orders = await viewOrders(catalogues, tenant, rows, toOrder)
  const { data, next_cursor } = cursors.toPage(orders, perPage, order => [order.created_at, order.waybill_number])
  if (after) return cursorPage(address, data, perPage, next_cursor)
  const { meta, ...rest } = toPage(address, { perPage, ...page }, data, total)
  return { ...rest, meta: { ...meta, next_cursor } }
}

/** Remembers lists that had `maxCounted` orders: orders are never deleted, and never change their merchant. */
const longLists = new WeakMap<pg.Pool, LRUCache<string, true>>()

const countListed = async (pool: pg.Pool, tx: Tx, tenant: string, filter: OrderFilter): Promise<number> => {
  const { merchant_id = '', ...others } = filter
  if (Object.values(others).some(value => value !== undefined)) return countOrders(tx, tenant, filter)
  const known = longLists.get(pool) ?? new LRUCache<string, true>({ max: 10_000 })
  longLists.set(pool, known)
  const list = `${tenant} ${merchant_id}`
  const count = known.has(list) ? maxCounted : await countOrders(tx, tenant, filter)
  if (count === maxCounted) known.set(list, true)
  return count
}

const tooFar = `The page field must lie within the first ${maxCounted} orders. Go on with the next_cursor of a page.`

const cursorPage = (address: RequestAddress, data: OrderView[], per_page: number, next_cursor: string | null) => {
  const { path, linkWith } = linksOf(address)
  const next = next_cursor === null ? null : linkWith('cursor', next_cursor)
  return { data, links: { first: null, last: null, prev: null, next }, meta: { path, per_page, next_cursor } }
}

const cursors = listCursor(/^[12]\d{3}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/, /^[\x21-\x7e]{1,50}$/)

const readPosition = (cursor: string | undefined): Position | undefined => {
  const [createdAt = '', waybill = ''] = cursors.read(cursor) ?? []
  if (createdAt === '') return undefined
  if (!isDate(createdAt.slice(0, 10))) throw invalidCursor()
  return { createdAt, waybill }
}
