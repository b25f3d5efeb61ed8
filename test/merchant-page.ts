import type { Test } from 'tap'
import type { Answer, Query } from './merchant-client.ts'

export type Row = Record<string, unknown>

/** The statuses as merchants' programs know them: key, name, colour, the keys it may move to. */
export const statusTable: [number, string, string, number[]][] = [
  [1, 'DRAFT', 'secondary', [2]],
  [2, 'CONFIRMED', 'primary', [3, 4, 5, 9]],
  [3, 'CANCELLED', 'danger', []],
  [4, 'DEFAULT WAREHOUSE CHANGE', 'primary', [5, 9]],
  [5, 'PICKUP RIDER ASSIGNED', 'info', [6]],
  [6, 'PICKED UP', 'info', [7, 8]],
  [7, 'DELIVERED BY PICKUP RIDER', 'success', []],
  [8, 'DISPATCH TO ORIGIN WAREHOUSE', 'info', [9, 11]],
  [9, 'RECEIVED TO ORIGIN WAREHOUSE', 'primary', [10]],
  [10, 'DISPATCHED FROM ORIGIN WAREHOUSE', 'primary', [11]],
  [11, 'RECEIVED AT DESTINATION WAREHOUSE', 'info', [12]],
  [12, 'ASSIGNED TO DESTINATION RIDER', 'info', [13, 14, 15]],
  [13, 'DELIVERED', 'success', []],
  [14, 'PARTIALLY DELIVERED', 'success', []],
  [15, 'RETURN TO DESTINATION WAREHOUSE', 'warning', [16, 17]],
  [16, 'RESCHEDULED', 'warning', [12]],
  [17, 'FAILED TO DELIVER', 'danger', [16, 18]],
  [18, 'RETURN TO ORIGIN WAREHOUSE', 'danger', [19]],
  [19, 'RECEIVED TO ORIGIN WAREHOUSE (FAILED TO DELIVER)', 'danger', [20]],
  [20, 'RETURN TO CLIENT', 'danger', [21]],
  [21, 'RECEIVED FAILED ORDER', 'danger', []],
]
const keyOf = (number: number) => `key_${number}`

/** Without `id` and `description`, whose values each courier company chooses. */
export const statusRows = statusTable.map(([number, name, color, next]) => ({
  key: keyOf(number),
  name,
  color,
  // A merchant creates orders in the first two and cancels to the third.
  is_merchant_status: number <= 3,
  before_statuses: statusTable.filter(([, , , after]) => after.includes(number)).map(([before]) => keyOf(before)),
  after_statuses: next.map(keyOf),
}))

export const statusOf = (key: string) => {
  const { name, color } = statusRows.find(row => row.key === key) ?? {}
  return { key, name, color }
}

/** An error answer: its status, its message, and under `errors` exactly these fields with sentences that match. */
export const isRefused = (
  t: Test,
  answer: Answer,
  { status = 422, message = 'The given data was invalid.' as unknown, errors = {} as Record<string, RegExp> },
): void => {
  const fields = Object.keys(errors)
  t.equal(answer.status, status)
  t.match(answer.body.message, message)
  t.strictSame(Object.keys(answer.body), fields.length > 0 ? ['message', 'errors'] : ['message'])
  t.strictSame(Object.keys(answer.body.errors ?? {}).sort(), fields.sort())
  for (const [field, sentence] of Object.entries(errors)) t.match(answer.body.errors?.[field], [sentence], field)
}

/** Every row has these fields and no other, each of its type. */
export const haveShape = (t: Test, rows: Row[], shape: Row, what: string): void => {
  const fields = Object.keys(shape).sort()
  t.ok(rows.length > 0, what)
  for (const row of rows) {
    t.strictSame(Object.keys(row).sort(), fields, `a row of ${what}`)
    t.match(row, shape, `a row of ${what}`)
  }
}

interface List {
  list: (query?: Query) => Promise<Answer>
  /** Its address without a query. */
  path: string
  open: (link: string) => Promise<Answer>
}

/** A list in pages in the Laravel shape, walked along its links, and whole with every spelling of `noPagination`. */
export const testPages = async (t: Test, { list, path, open }: List): Promise<Row[]> => {
  const { body: whole, status } = await list({ noPagination: true })
  t.equal(status, 200)
  t.strictSame(Object.keys(whole), ['data'], 'the whole list is data and nothing else')
  for (const noPagination of ['1', 'true', ''])
    t.strictSame((await list({ noPagination })).body, whole, `noPagination=${noPagination} is the whole list`)
  const total = whole.data.length
  const per_page = Math.max(1, Math.ceil(total / 3))
  const lastPage = Math.ceil(total / per_page)
  const rows: Row[] = []
  let { body } = await list({ per_page })
  for (let page = 1; page <= lastPage; page++) {
    const from = rows.length + 1
    rows.push(...body.data)
    t.strictSame(Object.keys(body).sort(), ['data', 'links', 'meta'])
    t.strictSame(body.meta, { current_page: page, from, last_page: lastPage, path, per_page, to: rows.length, total })
    t.strictSame((await list({ page, per_page })).body, body, `page ${page} by its number`)
    testLinks(t, body.links, { path, page, lastPage })
    if (body.links.next) body = (await open(body.links.next)).body
  }
  t.strictSame(rows, whole.data, 'the pages together are the whole list')
  const beyond = await list({ page: lastPage + 1, per_page })
  t.strictSame(beyond.body.data, [], 'after the last page there is nothing')
  t.match(beyond.body.meta, { from: null, to: null, total })
  const { body: first } = await list()
  t.match(first.meta, { current_page: 1, from: 1, total }, 'without noPagination the list comes in pages')
  return rows
}

const testLinks = (
  t: Test,
  links: Record<string, string | null>,
  { path, page, lastPage }: { path: string; page: number; lastPage: number },
): void => {
  t.strictSame(Object.keys(links).sort(), ['first', 'last', 'next', 'prev'])
  const pageOf = (link: string | null | undefined) => {
    if (!link) return null
    t.equal(link.split('?')[0], path, 'a link is a whole address')
    return Number(new URL(link).searchParams.get('page'))
  }
  t.strictSame(
    { first: pageOf(links.first), last: pageOf(links.last), prev: pageOf(links.prev), next: pageOf(links.next) },
    { first: 1, last: lastPage, prev: page > 1 ? page - 1 : null, next: page < lastPage ? page + 1 : null },
  )
}
