import { pick } from '../plan.ts'
import { type Act, type Client, createRequester } from './client.ts'

/** Lists the statuses of a parcel, in order. */
const way = ['key_1', 'key_2', 'key_9', 'key_10', 'key_11', 'key_12', 'key_13']
const findNext = (status: string): string | undefined =>
  way.includes(status) ? way[way.indexOf(status) + 1] : undefined

/** Acts as staff of orders: moves parcels, and edits some. */
export const clerk = (client: Client): Act => {
  const { who, chance, known } = client
  const { call, insist } = createRequester(client, 'staff', '/api/staff/order')
  return async n => {
    const own = known.filter(({ fate, status }) => fate === 'staff' && findNext(status))
    const first = pick(own, chance)
    if (!first) return
    const name = `${who}-${n}`
    if (chance() < 0.15) {
      const body = { reason: name, customer_name: name }
      return call('edit as staff', name, `/${first.waybill}`, { parts: [first.waybill], body, method: 'PATCH' })
    }
    const same = own.filter(({ status }) => status === first.status).slice(0, 1 + Math.floor(chance() * 12))
    const status_key = findNext(first.status) as string
    const parts = same.map(({ waybill }) => waybill)
    const body = { waybill_numbers: parts, status_key, note: name }
    const { ending } = await insist('move', name, '/status', { parts, asked: status_key, body, key: name })
    // A refusal means that a customer or another clerk moved one of the orders. None of them is moved again.
    for (const one of same) one.status = ending === 'done' ? status_key : 'unknown'
  }
}
