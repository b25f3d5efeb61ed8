import { setTimeout as delay } from 'node:timers/promises'
import { messageTo, phoneNumberId } from '../../services/notifier/test/fixture.ts'
import { batch, order } from '../../services/orders/test/tenant.ts'
import { chanceOf } from '../../test/chance.ts'
import { addressOf, type Bed } from './bed.ts'
import type { Facts, Press } from './facts.ts'
import type { Happened } from './faults.ts'
import type { Recorder } from './record.ts'

/** What a client does next, again and again; `n` counts. */
type Act = (n: number) => Promise<unknown>
type Chance = () => number

const people = 100
/** These opt out. */
const leavers = 8
const personOf = (n: number): string => `9477${1_000_000 + n}`
const anyone = (chance: Chance): string => personOf(Math.floor(chance() * people))
const pick = <Item>(items: readonly Item[], chance: Chance): Item | undefined =>
  items[Math.floor(chance() * items.length)]

/** The way of a parcel that nobody cancels. */
const nextOf: Readonly<Record<string, string>> = {
  ...{ key_1: 'key_2', key_2: 'key_9', key_9: 'key_10', key_10: 'key_11', key_11: 'key_12', key_12: 'key_13' },
}

/** Who decides what becomes of an order: the others leave it alone. */
const fates = ['staff', 'staff', 'staff', 'customer', 'customer', 'merchant'] as const
type Fate = (typeof fates)[number]
/** Waybills that were acknowledged, with the status that staff know of. */
type Known = { waybill: string; status: string; fate: Fate }[]

const bearer = (token: string) => ({ authorization: `Bearer ${token}`, 'x-tenant': 'demo' })

const merchant = (bed: Bed, { call, insist }: Recorder, who: string, chance: Chance, known: Known): Act => {
  const url = `${addressOf(bed.links['clients-orders'])}/api/public/merchant/order`
  const common = { who, headers: bearer(bed.courier.merchant.token) }
  const own: Known = []
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
    if (ending !== 'done') return
    const booked = (data as string[]).map(waybill => ({
      waybill,
      status: initial_status_key,
      fate: pick(fates, chance) as Fate,
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
    await insist({ ...common, what: 'cancel', name, parts: [one.waybill], url: `${url}/cancel`, body, key: name })
  }
  const edit = async (n: number) => {
    const one = pick(own, chance)
    if (!one) return
    const name = `${who}-edit-${n}`
    const body = { customer_address: name }
    // What is stored shows the last edit alone: another check compares it.
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

const ordersStaff = (bed: Bed, { insist, call }: Recorder, who: string, chance: Chance, known: Known): Act => {
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
    const { ending } = await insist({ ...common, what: 'move', name, parts, url: `${url}/status`, body, key: name })
    // Refused: a customer or another clerk moved one of them. They are moved no more.
    for (const one of same) one.status = ending === 'done' ? status_key : 'unknown'
  }
}

const notifierStaff = (bed: Bed, { insist, call }: Recorder, who: string, chance: Chance, known: Known): Act => {
  const url = `${addressOf(bed.links['clients-notifier'])}/api`
  const common = { who, headers: bed.courier.staff }
  const ids: string[] = []
  const send = async (n: number) => {
    const name = `${who}-send-${n}`
    const parts = Array.from({ length: chance() < 0.3 ? 3 : 1 }, (_, part) => String(part))
    const about = chance() < 0.5 ? pick(known, chance)?.waybill : undefined
    const messages = parts.map(part => {
      const { template } = messageTo('')
      const values = [name, part, about ? '{{customer_name}}' : 'x']
      const body = { type: 'body' as const, parameters: values.map(text => ({ type: 'text' as const, text })) }
      const components = [template.components?.[0] as object, body]
      const sent = { to: `+${anyone(chance)}`, template: { ...template, components } }
      return about ? { ...sent, waybill_number: about } : sent
    })
    const isOne = parts.length === 1
    const key = chance() < 0.7 ? name : undefined
    const path = isOne ? 'messages' : 'messages/bulk'
    const body = isOne ? (messages[0] as object) : { messages }
    const wanted = { ...common, what: 'send', name, parts, url: `${url}/${path}`, body, key }
    const { ending, data } = await insist(wanted)
    if (key && chance() < 0.2) await insist(wanted)
    if (ending === 'done') ids.push(...[data as { id: string }].flat().map(({ id }) => id))
    if (chance() < 0.15) await drop()
  }
  const drop = async () => {
    const id = ids.pop()
    if (id)
      await call({
        ...common,
        what: 'cancel a message',
        name: `drop-${id}`,
        parts: [id],
        url: `${url}/messages/${id}/cancel`,
        method: 'POST',
      })
  }
  const resend = async (n: number) => {
    const failed = await call({
      ...common,
      what: 'read',
      name: `${who}-read-${n}`,
      parts: [],
      url: `${url}/messages?status=failed&limit=5`,
    })
    const id = failed.ending === 'done' && pick(failed.data as { id: string }[], chance)?.id
    if (id)
      await call({
        ...common,
        what: 'resend',
        name: `resend-${id}-${n}`,
        parts: [],
        asked: id,
        url: `${url}/messages/${id}/resend`,
        method: 'POST',
      })
  }
  const resume = (n: number) =>
    call({
      ...common,
      what: 'resume',
      name: `${who}-resume-${n}`,
      parts: [],
      url: `${url}/channels/${phoneNumberId}/resume`,
      method: 'POST',
    })
  const register = (n: number) => {
    const body = { pin: '123456', certificate: 'demo-certificate' }
    return n < 3
      ? call({
          ...common,
          what: 'register',
          name: `${who}-register-${n}`,
          parts: [],
          url: `${url}/channels/${phoneNumberId}/register`,
          body,
        })
      : resume(n)
  }
  const optOut = (n: number) => {
    const person = personOf(Math.floor((chance() * leavers) / 2))
    const [name, body] = [`${who}-opt-out-${n}`, { reason: `${who}-opt-out-${n}` }]
    return call({
      ...common,
      what: 'opt out',
      name,
      parts: [person],
      url: `${url}/conversations/${person}/opt-out`,
      body,
    })
  }
  return n => {
    const luck = chance()
    if (luck < 0.75) return send(n)
    if (luck < 0.85) return resume(n)
    if (luck < 0.9) return resend(n)
    return luck < 0.97 ? optOut(n) : register(n)
  }
}

/** People who press buttons of the messages that they got, write an address, or stop. The simulator takes what they do at once. */
const customer = (bed: Bed, chance: Chance, presses: Press[], stops: Facts['stops'], log: Happened[]): Act => {
  const { control } = bed.courier
  const note = (text: string) => log.push({ at: Date.now(), text: `a customer ${text}` })
  return async () => {
    const { data } = await control('/messages?limit=200')
    const offers = data.filter(
      ({ template }: { template: { name: string } | null }) => template?.name === 'delivery_options',
    )
    const offer = pick<{ id: string; to: string; biz_opaque_callback_data: string }>(offers, chance)
    if (!offer) return
    const [index, message] = [Math.floor(chance() * 4), offer.biz_opaque_callback_data]
    await control('/presses', { message_id: offer.id, index, copies: 1 + Math.floor(chance() * 3) })
    presses.push({ message, index })
    note(`presses ${message} ${index}`)
    if (index === 2 && chance() < 0.7) await control('/inbound', { from: offer.to, text: `New Road of ${message}` })
    if (chance() > 0.05) return
    const person = personOf(Math.floor(leavers / 2 + (chance() * leavers) / 2))
    await control('/inbound', { from: person, text: 'STOP' })
    stops.push({ person })
    note(`${person} writes STOP`)
  }
}

/** All clients at once, each doing one thing after the other. What they choose follows from the seed and from what they get. */
export const startClients = (bed: Bed, recorder: Recorder, seed: number, log: Happened[]) => {
  const known: Known = []
  const presses: Press[] = []
  const stops: Facts['stops'] = []
  let isOver = false
  const keep = async (act: Act, chance: Chance): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      await act(n)
      await delay(20 + chance() * 300)
    }
  }
  const start = (create: (chance: Chance) => Act, n: number): Promise<void> => {
    const chance = chanceOf(seed * 100 + n)
    return keep(create(chance), chance)
  }
  const working = Promise.all([
    ...[0, 1, 2, 3].map(n => start(chance => merchant(bed, recorder, `merchant${n}`, chance, known), n)),
    ...[4, 5].map(n => start(chance => ordersStaff(bed, recorder, `clerk${n}`, chance, known), n)),
    ...[6, 7, 8].map(n => start(chance => notifierStaff(bed, recorder, `agent${n}`, chance, known), n)),
    start(chance => customer(bed, chance, presses, stops, log), 9),
  ])
  const finish = async (): Promise<void> => {
    isOver = true
    await working
  }
  const stop = (): void => {
    isOver = true
  }
  return { presses, stops, finish, stop }
}
