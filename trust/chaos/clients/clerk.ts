import { addressOf } from '../bed.ts'
import { type Act, bearer, type Client, pick } from './client.ts'

/** The way of a parcel. */
const nextOf: Readonly<Record<string, string>> = {
  ...{ key_1: 'key_2', key_2: 'key_9', key_9: 'key_10', key_10: 'key_11', key_11: 'key_12', key_12: 'key_13' },
}

/** Staff of orders: moves parcels, and changes some. */
export const clerk = ({ bed, recorder, who, chance, known }: Client): Act => {
  const { call, insist } = recorder
  const url = `${addressOf(bed.links['clients-orders'])}/api/staff/order`
  const common = { who, headers: bearer(bed.courier.staffToken) }
  return async n => {
    const first = pick(
      known.filter(({ fate, status }) => fate === 'staff' && nextOf[status]),
      chance,
    )
    if (!first) return
    const name = `${who}-${n}`
    if (chance() < 0.15) {
      const body = { reason: name, customer_name: name }
      const wanted = { ...common, what: 'edit as staff', name, url: `${url}/${first.waybill}`, body, method: 'PATCH' }
      return call({ ...wanted, parts: [first.waybill] })
    }
    const same = known
      .filter(({ fate, status }) => fate === 'staff' && status === first.status)
      .slice(0, 1 + Math.floor(chance() * 12))
    const status_key = nextOf[first.status] as string
    const parts = same.map(({ waybill }) => waybill)
    const body = { waybill_numbers: parts, status_key, note: name }
    const wanted = { ...common, what: 'move', name, parts, asked: status_key, url: `${url}/status`, body, key: name }
    const { ending } = await insist(wanted)
    if (chance() < 0.2) await insist(wanted)
    // Refused: a customer or another clerk moved one of them. They are moved no more.
    for (const one of same) one.status = ending === 'done' ? status_key : 'unknown'
  }
}
