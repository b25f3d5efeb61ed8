import type { BulkRequest, Ending } from './order-requests.ts'
import type { Broken } from './promise.ts'

type Rows = (text: string) => Promise<Record<string, unknown>[]>

/** Acknowledged ⊆ stored ⊆ acknowledged + unknown, each batch whole, no order twice. Returns what was counted. */
export const checkStored = async (rows: Rows, log: readonly BulkRequest[], broken: Broken) => {
  const stored = Map.groupBy(
    await rows('select order_no, waybill_number from orders'),
    row => String(row.order_no).split(' ')[0] as string,
  )
  const known = new Set(log.map(({ name }) => name))
  const strangers = [...stored.keys()].filter(name => !known.has(name)).length
  const counts = { lost: 0, partial: 0, doubled: 0, unasked: strangers }
  for (const request of log) {
    const found = stored.get(request.name) ?? []
    const waybills = new Set(found.map(row => row.waybill_number))
    const distinct = new Set(found.map(row => row.order_no)).size
    const isAcknowledged = request.ending === 'ok'
    if (found.length !== distinct) counts.doubled++
    if (distinct !== 0 && distinct !== request.orders) counts.partial++
    if (request.ending === 'failed' && distinct > 0) counts.unasked++
    if (isAcknowledged) counts.lost += request.waybills.filter(waybill => !waybills.has(waybill)).length
    if (isAcknowledged && request.waybills.length !== request.orders) counts.partial++
  }
  const [without] = await rows(`select count(*)::int as orders from orders o where not exists (
    select from order_events e where e.tenant_id = o.tenant_id and e.waybill_number = o.waybill_number)`)
  broken.require(without?.orders === 0, `${without?.orders} orders are stored without their timeline`)
  broken.require(counts.lost === 0, `${counts.lost} acknowledged orders are not stored`)
  broken.require(counts.partial === 0, `${counts.partial} batches are stored in part`)
  broken.require(counts.doubled === 0, `${counts.doubled} batches are stored twice`)
  broken.require(counts.unasked === 0, `${counts.unasked} batches are stored that were refused or never sent`)
  const countOf = (ending: Ending) => log.filter(request => request.ending === ending).length
  const acknowledged = log.reduce((sum, { waybills }) => sum + waybills.length, 0)
  return { acknowledged, ok: countOf('ok'), failed: countOf('failed'), unknown: countOf('unknown'), ...counts }
}
