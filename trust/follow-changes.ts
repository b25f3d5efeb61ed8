import { setTimeout as delay } from 'node:timers/promises'
import { request } from '../test/courier.ts'
import type { Merchant } from './order-requests.ts'
import type { Broken } from './promise.ts'

export interface Item {
  readonly id: string
  readonly type: string
  readonly waybill_number: string
  readonly status: { readonly key: string }
}

type Rows = (text: string) => Promise<Record<string, unknown>[]>

/** Reads the merchant's changes, whatever happens to the service, until it is stopped and has read them all. */
export const followChanges = ({ url, token }: Merchant) => {
  const items: Item[] = []
  let isOver = false
  const read = async (cursor: string, wait: number) => {
    const query = new URLSearchParams({ limit: '97', wait: String(wait), ...(cursor && { cursor }) })
    const options = { token, signal: AbortSignal.timeout(20_000) }
    const response = await request(`${url}/api/public/merchant/order/changes?${query}`, options).catch(() => undefined)
    return response?.status === 200 ? response.body : undefined
  }
  const work = async (): Promise<void> => {
    for (let cursor = ''; ; ) {
      const isLast = isOver
      const page = await read(cursor, isLast ? 0 : 1)
      if (page) items.push(...page.data)
      else await delay(50)
      cursor = page?.next_cursor ?? cursor
      if (isLast && page && !page.has_more) return
    }
  }
  const working = work()
  return async (): Promise<readonly Item[]> => {
    isOver = true
    await working
    return items
  }
}

/** Every event of every order's timeline was read once, those of an order in their order. Returns how many. */
export const checkChanges = async (rows: Rows, items: readonly Item[], broken: Broken): Promise<number> => {
  const events = await rows('select waybill_number, status_key from order_events order by event_id')
  const read = Map.groupBy(items, item => item.waybill_number)
  const stored = Map.groupBy(events, row => String(row.waybill_number))
  const isSame = (waybill: string): boolean =>
    stored
      .get(waybill)
      ?.map(row => row.status_key)
      .join() ===
    read
      .get(waybill)
      ?.map(item => item.status.key)
      .join()
  const wrong = [...stored.keys()].filter(waybill => !isSame(waybill)).length
  broken.require(wrong === 0, `the changes of ${wrong} orders were skipped, doubled or out of order`)
  broken.require(items.length === events.length, `${items.length} changes were read of ${events.length}`)
  broken.require(new Set(items.map(({ id }) => id)).size === items.length, 'two changes had one id')
  return items.length
}
