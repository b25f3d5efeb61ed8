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

/** Reads the merchant's changes, whatever happens to the service, until it is stopped and has read them all, within so many seconds. */
export const followChanges = ({ url, token }: Merchant) => {
  const items: Item[] = []
  let isOver = false
  let endsAt = Number.POSITIVE_INFINITY
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
      if (performance.now() > endsAt) throw new Error(`the changes could not be read to the end: ${items.length} were`)
    }
  }
  const working = work()
  working.catch(() => undefined)
  return async (seconds = 120): Promise<readonly Item[]> => {
    isOver = true
    endsAt = performance.now() + seconds * 1000
    await working
    return items
  }
}

export interface Change {
  readonly id: string
  readonly type: string
  readonly waybill: string
  readonly status: string
}

export const toChange = ({ id, type, waybill_number: waybill, status }: Item): Change => ({
  ...{ id, type, waybill },
  status: status.key,
})

interface Stored {
  /** Of all orders, oldest first. */
  readonly timeline: readonly { readonly waybill: string; readonly status: string }[]
  readonly edits: readonly { readonly waybill: string }[]
}

/** Of each waybill what its feed has to say, from the timelines and edits. */
const dueOf = ({ timeline, edits }: Stored) => {
  const edited = Map.groupBy(edits, ({ waybill }) => waybill)
  const steps = Map.groupBy(timeline, ({ waybill }) => waybill)
  return [...steps].map(([waybill, all]) => ({
    waybill,
    statuses: all.map(({ status }) => status).join(' '),
    edits: edited.get(waybill)?.length ?? 0,
  }))
}

/** Sentences about what a reader of the changes did not get once, or not in the order of its waybill. */
export const findWrongChanges = (changes: readonly Change[], stored: Stored): string[] => {
  const read = Map.groupBy(changes, ({ waybill }) => waybill)
  const due = dueOf(stored)
  const wrong = due.flatMap(({ waybill, ...wanted }) => {
    const all = read.get(waybill) ?? []
    const statuses = all.filter(({ type }) => type !== 'order.edited').map(({ status }) => status)
    const edits = all.length - statuses.length
    const isBegun = all[0]?.type === 'order.created'
    return isBegun && statuses.join(' ') === wanted.statuses && edits === wanted.edits
      ? []
      : [
          `the changes of ${waybill} are ${statuses.join(' ')} and ${edits} edits, not ${wanted.statuses} and ${wanted.edits}`,
        ]
  })
  const known = new Set(due.map(({ waybill }) => waybill))
  const strangers = [...read.keys()].filter(waybill => !known.has(waybill))
  const ids = Map.groupBy(changes, ({ id }) => id)
  const twice = [...ids].filter(([, all]) => all.length > 1).map(([id]) => id)
  return [
    ...wrong,
    ...strangers.map(waybill => `the changes have ${waybill}, which is not stored`),
    ...twice.map(id => `change ${id} was read twice`),
  ]
}

/** Returns how many changes were read. */
export const checkChanges = async (rows: Rows, items: readonly Item[], broken: Broken): Promise<number> => {
  const timeline = await rows(
    'select waybill_number as waybill, status_key as status from order_events order by event_id',
  )
  const stored = { timeline: timeline as unknown as Stored['timeline'], edits: [] }
  for (const sentence of findWrongChanges(items.map(toChange), stored)) broken.add(sentence)
  return items.length
}
