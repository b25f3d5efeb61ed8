import { setTimeout as delay } from 'node:timers/promises'
import { type ApiResponse, request } from '../../test/courier.ts'
import type { Change } from './evidence.ts'

const toChange = ({ id, type, waybill_number, status }: ApiResponse['body']): Change => {
  return { id, type, waybill: waybill_number ?? '', status: status?.key ?? '' }
}

/** Reads the merchant's changes, through all failures, until it is stopped and has read them all. */
export const followChanges = (url: string, token: string) => {
  const changes: Change[] = []
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
      if (page) changes.push(...page.data.map(toChange))
      else await delay(50)
      cursor = page?.next_cursor ?? cursor
      if (isLast && page && !page.has_more) return
      if (performance.now() > endsAt)
        throw new Error(`the changes could not be read to the end: only ${changes.length} were read`)
    }
  }
  const working = work()
  working.catch(() => undefined)
  return async (seconds = 120): Promise<Change[]> => {
    isOver = true
    endsAt = performance.now() + seconds * 1000
    await working
    return changes
  }
}
