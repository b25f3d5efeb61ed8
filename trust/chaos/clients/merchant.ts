import { batch, order } from '../../../services/orders/test/tenant.ts'
import { addressOf } from '../bed.ts'
import { type Act, anyone, bearer, type Client, fates, type Known, pick } from './client.ts'

/** Books, cancels, edits and looks up. */
export const merchant = ({ bed, recorder, who, chance, known }: Client): Act => {
  const { call, insist } = recorder
  const url = `${addressOf(bed.links['clients-orders'])}/api/public/merchant/order`
  const common = { who, headers: bearer(bed.courier.merchant.token) }
  const own: Known[] = []
  const book = async (n: number) => {
    const name = `${who}-book-${n}`
    const size = chance() < 0.05 ? 60 : 1 + Math.floor(chance() * 6)
    const asked = Array.from({ length: size }, (_, part) => ({ phone: `+${anyone(chance)}`, cod: n * 100 + part }))
    const initial_status_key = chance() < 0.4 ? 'key_1' : 'key_2'
    const isWrong = chance() < 0.06
    const orders = asked.map(({ phone, cod }, part) => {
      const fields = { order_no: `${name} ${part}`, customer_phone: phone, cod, initial_status_key }
      return order(isWrong && part === size - 1 ? { ...fields, destination_city_id: 9 } : fields)
    })
    const parts = asked.map((_, part) => String(part))
    const key = chance() < 0.6 ? name : undefined
    const wanted = { ...common, what: 'book', name, parts, asked, url: `${url}/bulk`, body: batch(orders), key }
    const { ending, data } = await insist(wanted)
    if (key && chance() < 0.2) await insist(wanted)
    // A 200 without waybills is found by a check.
    if (ending !== 'done' || !Array.isArray(data)) return
    const booked = data.map((waybill: string) => ({
      waybill,
      status: initial_status_key,
      fate: pick(fates, chance) as Known['fate'],
    }))
    own.push(...booked)
    known.push(...booked)
  }
  const cancel = async () => {
    const one = own.find(({ fate, status }) => fate === 'merchant' && status !== 'key_3')
    if (!one) return
    one.status = 'key_3'
    const body = { waybill_numbers: [one.waybill] }
    const name = `cancel-${one.waybill}`
    const about = { what: 'cancel', name, parts: [one.waybill], asked: 'key_3', key: name }
    const wanted = { ...common, ...about, url: `${url}/cancel`, body }
    await insist(wanted)
    if (chance() < 0.3) await insist(wanted)
  }
  const edit = async (n: number) => {
    const one = pick(own, chance)
    if (!one) return
    const name = `${who}-edit-${n}`
    const body = { customer_address: name }
    // What is stored shows only the last edit: another check compares it.
    const wanted = { ...common, what: 'edit', name, parts: [], asked: one.waybill, url: `${url}/${one.waybill}`, body }
    const first = await call({ ...wanted, method: 'PATCH' })
    if (first.ending === 'in doubt') await call({ ...wanted, method: 'PATCH' })
  }
  const lookUp = async (n: number) => {
    const one = pick(own, chance)
    if (!one) return
    await call({
      ...common,
      what: 'look up',
      name: `${who}-look-up-${n}`,
      parts: [one.waybill],
      url: `${url}/${one.waybill}`,
    })
  }
  return n => pick([book, book, cancel, edit, lookUp], chance)?.(n) ?? Promise.resolve()
}
