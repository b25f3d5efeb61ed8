import { batch, order } from '../../../services/orders/test/tenant.ts'
import { pick } from '../plan.ts'
import { type Act, type Client, createRequester, type Known, pickAnyone, toKnown } from './client.ts'

/** Acts as a merchant: books, cancels, edits and looks up orders. */
export const merchant = (client: Client): Act => {
  const { crew, who, chance, known } = client
  const { onlyBooks = false, batch: most = 6 } = crew
  const large = crew.batch ?? 60
  const { call, insist } = createRequester(client, 'merchant', '/api/public/merchant/order')
  const own: Known[] = []
  const book = async (n: number) => {
    const name = `${who}-book-${n}`
    const size = chance() < 0.05 ? large : 1 + Math.floor(chance() * most)
    const asked = Array.from({ length: size }, (_, part) => ({ phone: `+${pickAnyone(client)}`, cod: n * 100 + part }))
    const initial_status_key = chance() < 0.4 ? 'key_1' : 'key_2'
    const isWrong = !onlyBooks && chance() < 0.06
    const orders = asked.map(({ phone, cod }, part) => {
      const fields = { order_no: `${name} ${part}`, customer_phone: phone, cod, initial_status_key }
      return order(isWrong && part === size - 1 ? { ...fields, destination_city_id: 9 } : fields)
    })
    const parts = asked.map((_, part) => String(part))
    const key = onlyBooks || chance() < 0.6 ? name : undefined
    const { ending, data } = await insist('book', name, '/bulk', { parts, asked, body: batch(orders), key })
    // A check detects a 200 without waybills.
    if (ending !== 'done' || !Array.isArray(data)) return
    const booked = data.map((waybill: string) => toKnown(chance, waybill, initial_status_key))
    own.push(...booked)
    known.push(...booked)
  }
  const cancel = async () => {
    const one = own.find(({ fate, status }) => fate === 'merchant' && status !== 'key_3')
    if (!one) return
    one.status = 'key_3'
    const [parts, name] = [[one.waybill], `cancel-${one.waybill}`]
    await insist('cancel', name, '/cancel', { parts, asked: 'key_3', body: { waybill_numbers: parts }, key: name })
  }
  const edit = async (n: number) => {
    const one = pick(own, chance)
    if (!one) return
    const name = `${who}-edit-${n}`
    // The stored order shows only the last edit, which a check of its own compares.
    const options = { asked: one.waybill, body: { customer_address: name }, method: 'PATCH' }
    const first = await call('edit', name, `/${one.waybill}`, options)
    if (first.ending === 'in doubt') await call('edit', name, `/${one.waybill}`, options)
  }
  const lookUp = async (n: number) => {
    const one = pick(own, chance)
    if (one) await call('look up', `${who}-look-up-${n}`, `/${one.waybill}`, { parts: [one.waybill] })
  }
  return n => (onlyBooks ? book(n) : pick([book, book, cancel, edit, lookUp], chance)(n))
}
