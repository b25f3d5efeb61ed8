import type { BulkCall, Ending } from './order-calls.ts'
import type { Broken } from './promise.ts'

type Rows = (text: string) => Promise<Record<string, unknown>[]>

/** Acknowledged ⊆ stored ⊆ acknowledged + unknown, each batch whole, no order twice. Returns the figures. */
export const checkStored = async (rows: Rows, log: readonly BulkCall[], broken: Broken) => {
  const stored = Map.groupBy(
    await rows('select order_no, waybill_number from orders'),
    row => String(row.order_no).split(' ')[0] as string,
  )
  const counts = { lost: 0, partial: 0, doubled: 0, unasked: 0 }
  for (const call of log) compare(call, stored.get(call.name) ?? [], counts)
  const known = new Set(log.map(({ name }) => name))
  counts.unasked += [...stored.keys()].filter(name => !known.has(name)).length
  const [untold] = await rows(`select count(*)::int as orders from orders o where not exists (
    select from order_events e where e.tenant_id = o.tenant_id and e.waybill_number = o.waybill_number)`)
  broken.require(untold?.orders === 0, `${untold?.orders} orders are stored without their timeline`)
  broken.require(counts.lost === 0, `${counts.lost} acknowledged orders are not stored`)
  broken.require(counts.partial === 0, `${counts.partial} batches are stored in part`)
  broken.require(counts.doubled === 0, `${counts.doubled} batches are stored twice`)
  broken.require(counts.unasked === 0, `${counts.unasked} batches are stored that were refused or never sent`)
  const of = (ending: Ending) => log.filter(call => call.ending === ending).length
  const acknowledged = log.reduce((sum, { waybills }) => sum + waybills.length, 0)
  return { acknowledged, ok: of('ok'), failed: of('failed'), unknown: of('unknown'), ...counts }
}

interface Counts {
  lost: number
  partial: number
  doubled: number
  unasked: number
}

const compare = (call: BulkCall, found: readonly Record<string, unknown>[], counts: Counts): void => {
  const waybills = new Set(found.map(row => row.waybill_number))
  const distinct = new Set(found.map(row => row.order_no)).size
  if (found.length !== distinct) counts.doubled++
  if (distinct !== 0 && distinct !== call.orders) counts.partial++
  if (call.ending === 'failed' && distinct > 0) counts.unasked++
  if (call.ending !== 'ok') return
  counts.lost += call.waybills.filter(waybill => !waybills.has(waybill)).length
  if (call.waybills.length !== call.orders) counts.partial++
}
