import { makeExample } from '@courier/shared/api-docs/examples.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { cursorField, listCursor } from '@courier/shared/lists/cursor.ts'
import { isDate } from '@courier/shared/lists/dates.ts'
import * as pages from '@courier/shared/lists/pages.ts'
import { atMost } from '@courier/shared/lru-limit.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, type TObject, Type } from '@sinclair/typebox'
import { LRUCache } from 'lru-cache'
import { addListed, type Facets, listFields, type Read } from '../tracking/facets.ts'
import type { ListedRow } from '../tracking/order-rows.ts'
import { OrderView } from '../tracking/order-schema.ts'
import { toOrder } from '../tracking/order-view.ts'
import { type FacetStore, viewOrders } from '../tracking/read-orders.ts'
import { countOrders, findSearchEnd, listsAll, maxCounted, type Position, selectOrders } from './list-orders.ts'
import type { OrderFilter } from './order-filter.ts'
import { maxSearched } from './search.ts'

/** Defines the query fields of a list of orders besides its filters. */
export const orderPageFields = {
  ...pages.pageFields,
  cursor: { ...cursorField, description: 'The `next_cursor` of the previous page, instead of a page number.' },
}

const { path, per_page, ...counted } = pages.ListBody(OrderView).properties.meta.properties
const Link = orNull(Type.String())
const total = Type.Integer({
  description: `The number of rows on all pages, ${maxCounted} at most. Pages by cursor and searches have no total.`,
})
const meta = Type.Object({
  ...Type.Partial(Type.Object({ ...counted, total })).properties,
  path,
  per_page,
  next_cursor: Link,
  searched_to: Type.Optional(
    orNull(Type.String(), {
      description:
        `The time of the last order read, if a search stopped after ${maxSearched} orders; ` +
        'next_cursor continues there.',
    }),
  ),
})
const links = Type.Object({ first: Link, last: Link, prev: Link, next: Link })

/** Defines a page of orders, which have the fields of all facets; `title` names the component of an order. */
export const defineOrderPage = (facets: Facets, title: 'Order' | 'ListedOrder') => {
  const Listed = component(title, { ...OrderView.properties, ...listFields(facets) })
  const example = {
    data: [makeExample(Listed)],
    links: { first: null, last: null, prev: null, next: null },
    meta: {
      path: 'https://courier.example/api/public/merchant/order',
      per_page: 15,
      next_cursor: 'MjAyNi0wMi0xOVQxOTowNjoyMy4wMDAwMDBaIERNMDAwMDAwMDE',
    },
  }
  return Type.Object(
    { data: pages.ListBody(Listed).properties.data, links: Type.Optional(links), meta: Type.Optional(meta) },
    { title: title === 'Order' ? 'OrderPage' : 'ListedOrderPage', examples: [example] },
  )
}

/**
 * Returns the part of a list that a query requests; without a page, the part is the whole rest of the list. Throws for
 * an invalid cursor, for pages beyond the counted ones, and for a search that is not read by cursor.
 */
export const wantedOrders = (query: Static<TObject<typeof orderPageFields>>, isSearch: boolean) => {
  const [createdAt, waybill] = cursors.read(query).after
  const after = createdAt && waybill ? { createdAt, waybill } : undefined
  const page = pages.wantedPage(query)
  if (!after && page && page.offset >= maxCounted) throw invalid({ page: [tooFar] })
  if (isSearch && (!page || (!after && page.offset > 0)))
    throw invalid({ [page ? 'page' : 'noPagination']: [notSearched] })
  return { after, page }
}

const notSearched = 'A search is read by pages with a cursor: go on with the next_cursor of a page.'

const tooFar = `The page field must lie within the first ${maxCounted} orders. Go on with the next_cursor of a page.`

const time = /^[12]\d{3}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/
const cursors = listCursor({ test: text => time.test(text) && isDate(text.slice(0, 10)) }, /^[\x21-\x7e]{1,50}$/)

/**
 * Creates the reader of pages of orders: by number with a count, or after a cursor without one. Both return the cursor
 * of the next page.
 */
export const createOrderPages = ({ pool, catalogues, facets }: FacetStore) => {
  /**
   * Remembers lists that had `maxCounted` orders. They never shrink: orders are never deleted and never change their
   * merchant.
   */
  const longLists = new LRUCache<string, true>(atMost(10_000))

  const count = async (read: Read, tenant: string, filter: OrderFilter): Promise<number> => {
    const list = listsAll(filter) ? `${tenant} ${filter.merchant_id ?? ''}` : undefined
    if (list !== undefined && longLists.has(list)) return maxCounted
    const count = await countOrders(read, tenant, filter)
    if (list !== undefined && count === maxCounted) longLists.set(list, true)
    return count
  }

  return async (
    address: pages.RequestAddress,
    tenant: string,
    filter: OrderFilter,
    page: pages.WantedPage,
    after: Position | undefined,
  ): Promise<Static<ReturnType<typeof defineOrderPage>>> => {
    const { perPage, offset } = page
    // Numbered pages end with the counted orders; a cursor reads on.
    const size = after ? perPage : Math.min(perPage, maxCounted - offset)
    const isSearch = filter.search !== undefined
    const read: Read = query => readInTenant(pool, tenant, query)
    // One row more than the page holds shows whether another page follows.
    const window = { after, offset: after ? 0 : offset, limit: size + 1 }
    const rows = await read<ListedRow>(selectOrders(facets, tenant, filter, window))
    const total = after || isSearch ? 0 : await count(read, tenant, filter)
    const end = isSearch && rows.length <= size ? await findSearchEnd(read, tenant, filter, after) : undefined
    const orders = await viewOrders(catalogues, tenant, rows, toOrder)
    const found = cursors.toPage(orders, size, order => [order.created_at, order.waybill_number])
    const data = await addListed(facets, read, tenant, found.data, rows)
    const next_cursor = end ? cursors.write([end.createdAt, end.waybill]) : found.next_cursor
    if (!after && !isSearch) {
      const { meta, ...rest } = pages.toPage(address, page, data, total)
      return { ...rest, meta: { ...meta, next_cursor } }
    }
    const { path, linkWith } = pages.writeLinks(address)
    const next = next_cursor === null ? null : linkWith('cursor', next_cursor)
    return {
      data,
      links: { first: null, last: null, prev: null, next },
      meta: { path, per_page: perPage, next_cursor, ...(isSearch && { searched_to: end?.createdAt ?? null }) },
    }
  }
}
