import { setTimeout as delay } from 'node:timers/promises'
import { readKeyring } from '../services/notifier/channels/vault.ts'
import { sealButton } from '../services/notifier/customer-actions/button-token.ts'
import { phoneNumberId } from '../services/notifier/test/fixture.ts'
import { rules } from '../services/notifier/test/replies-fixture.ts'
import { batch, order } from '../services/orders/test/tenant.ts'
import { chanceOf } from '../test/chance.ts'
import { eventually, request } from '../test/courier.ts'
import { type Courier, readArrivals, startCourier } from './courier.ts'
import type { Broken, TrustPromise } from './promise.ts'

/** A message with buttons that a customer has. */
interface Offer {
  readonly id: string
  readonly to: string
  readonly waybill: string
  readonly messageId: string
  readonly payload: string
}

/** In the order of the buttons. */
const actions = ['confirm_order', 'cancel_order', 'change_address', 'call_me']
const phoneOf = (n: number): string => `9477${1_000_000 + n}`
const addressOf = (waybill: string): string => `1 New Road, ${waybill}`

const book = async ({ orders, merchant }: Courier, count: number): Promise<void> => {
  for (let first = 0; first < count; first += 500) {
    const size = Math.min(500, count - first)
    const booked = Array.from({ length: size }, (_, n) => order({ customer_phone: `+${phoneOf(first + n)}` }))
    const body = batch(booked)
    const { status } = await request(`${orders.url}/api/public/merchant/order/bulk`, { token: merchant.token, body })
    if (status !== 200) throw new Error(`orders were refused: ${status}`)
  }
}

/** The messages once all have arrived, in the order of the customers. */
const findOffers = async (courier: Courier, count: number): Promise<Offer[]> => {
  const list = () => readArrivals(courier.control)
  const messages = await eventually('every customer has a message', list, ({ length }) => length === count, 120)
  const rows = await courier.rows('notifier', 'select message_id, waybill_number from messages')
  const waybills = new Map(rows.map(row => [row.message_id, String(row.waybill_number)]))
  return messages
    .map((message: { id: string; to: string; biz_opaque_callback_data: string; components: object[] }) => ({
      id: message.id,
      to: message.to,
      messageId: message.biz_opaque_callback_data,
      waybill: waybills.get(message.biz_opaque_callback_data) ?? '',
      payload: /"payload":"([^"]+)"/.exec(JSON.stringify(message.components))?.[1] ?? '',
    }))
    .toSorted((one: Offer, other: Offer) => one.to.localeCompare(other.to))
}

/** Kills one service or the other so many times. Returns the number. */
const killEither = async ({ orders, notifier }: Courier, chance: () => number, kills: number): Promise<number> => {
  for (let killed = 0; killed < kills; killed++) {
    await delay(chance() * 1_000)
    const victim = chance() < 0.5 ? orders : notifier
    await victim.stop('SIGKILL')
    victim.start()
    if (chance() < 0.8) await victim.ready()
  }
  await Promise.all([orders.ready(), notifier.ready()])
  return kills
}

/** What must change nothing: a press of somebody else, a forged payload and one that is too old. */
const attack = async (courier: Courier, offer: Offer): Promise<void> => {
  const keyring = readKeyring(courier.notifier.environment.CREDENTIALS_KEYS ?? '')
  const button = { messageId: offer.messageId, index: 3, action: 'cancel_order', waybill: offer.waybill }
  const person = { tenant: 'demo', phoneNumberId, recipient: offer.to }
  const stale = sealButton(keyring, person, button, new Date(Date.now() - 8 * 86_400_000))
  const foreign = sealButton(keyring, { ...person, tenant: 'rival' }, button, new Date())
  const forged = offer.payload.replace(/.(.{8})$/, letter => (letter.startsWith('A') ? 'B' : 'A') + letter.slice(1))
  await courier.control('/presses', { message_id: offer.id, index: 1, from: phoneOf(999_999) })
  for (const payload of [stale, foreign, forged])
    await courier.control('/inbound', { from: offer.to, button: { text: 'Cancel it', payload } })
}

const waitUntilHeard = async (courier: Courier): Promise<void> => {
  const counts = async () => (await courier.control('')).webhooks
  const isHeard = (now: Record<string, number>) => now.waiting === 0 && now.under_way === 0 && now.to_retry === 0
  const { lost = 0 } = await eventually('every webhook is acknowledged', counts, isHeard, 300)
  if (lost === 0) return
  const { data } = await courier.control('/given-up')
  throw new Error(`the simulator gave up ${lost} webhooks, the last ones with ${data[0]?.status}`)
}

const findActions = (courier: Courier) =>
  courier.rows(
    'notifier',
    'select action_id, waybill_number, action, outcome, address, attempts, due_at from customer_actions',
  )

const settle = async (courier: Courier, count: number): Promise<Record<string, unknown>[]> => {
  await waitUntilHeard(courier)
  const look = async () => {
    const all = await findActions(courier)
    return { count: all.length, open: all.filter(({ outcome }) => outcome === null) }
  }
  const isSettled = (now: Awaited<ReturnType<typeof look>>) => now.count === count && now.open.length === 0
  await eventually(`all of ${count} actions are settled`, look, isSettled, 300)
  return findActions(courier)
}

/**
 * Presses the button of each question that came, and returns their waybills. One that a kill left in doubt does not come, nor, for
 * fifteen minutes, one behind a message in doubt.
 */
const confirmAddresses = async (courier: Courier, askers: readonly Offer[]): Promise<string[]> => {
  const find = async () => {
    const { data } = await courier.control('/messages?limit=10000')
    return askers.flatMap(({ waybill }) => {
      const asks = ({ rendered }: { rendered: { body: string } }) => rendered.body.includes(addressOf(waybill))
      const message_id = data.find(asks)?.id
      return message_id === undefined ? [] : { waybill, message_id }
    })
  }
  const isAll = (found: unknown[]) => found.length === askers.length
  const found = await eventually('each question is there', find, isAll, 30).catch(find)
  for (const { message_id } of found) await courier.control('/presses', { message_id, index: 0, copies: 2 })
  return found.map(({ waybill }) => waybill)
}

/** Each press acted once in orders, and each outcome made its message. */
const check = async (
  courier: Courier,
  offers: readonly Offer[],
  confirmed: readonly string[],
  broken: Broken,
): Promise<void> => {
  const [moved = [], edited = [], asked = [], texts = []] = await Promise.all([
    courier.rows('orders', `select waybill_number, status_key from order_events where status_key <> 'key_1'`),
    courier.rows(
      'orders',
      `select waybill_number, customer_address from order_edits join orders using (tenant_id, waybill_number)`,
    ),
    courier.rows('orders', `select waybill_number from customer_actions where status = 'open'`),
    courier.rows('notifier', `select waybill_number, rule_event from messages where template ? 'text'`),
  ])
  const expected = offers.map(({ waybill }, n) => ({ waybill, action: actions[n % 4] }))
  const of = (action: string) => expected.filter(each => each.action === action).map(({ waybill }) => waybill)
  const isSame = (found: readonly string[], wanted: readonly string[], what: string): void =>
    broken.require(found.toSorted().join() === wanted.toSorted().join(), `${found.length} of ${wanted.length} ${what}`)
  const movedTo = (key: string) => moved.filter(row => row.status_key === key).map(row => String(row.waybill_number))
  isSame(movedTo('key_2'), of('confirm_order'), 'orders were confirmed once')
  isSame(movedTo('key_3'), of('cancel_order'), 'orders were cancelled once')
  isSame(
    edited.map(row => `${row.waybill_number} ${row.customer_address}`),
    confirmed.map(waybill => `${waybill} ${addressOf(waybill)}`),
    'addresses were changed once, by a confirmation',
  )
  isSame(
    asked.map(row => String(row.waybill_number)),
    of('call_me'),
    'requests were made once',
  )
  const events: Record<string, string> = {
    'confirm_order.done': 'confirm_order',
    'change_address.asked': 'change_address',
  }
  Object.assign(events, { 'change_address.done': 'confirmed', 'call_me.requested': 'call_me' })
  for (const [event, action] of Object.entries(events)) {
    const made = texts.filter(row => row.rule_event === event).map(row => String(row.waybill_number))
    isSame(made, action === 'confirmed' ? confirmed : of(action), `messages about ${event} were made once`)
  }
}

const run: TrustPromise['run'] = async t => {
  const { broken } = t
  const [count, kills, pauseMs] = t.short ? [20, 2, 50] : [2_000, 30, 30]
  // At 1 a webhook is repeated for six minutes: longer than a service that is killed at once again and again needs to respond.
  const courier = await startCourier(t, { rules, simulator: { SIMULATOR_DELAY_FACTOR: t.short ? '0' : '1' } })
  await book(courier, count)
  const offers = await findOffers(courier, count)
  t.report(`${count} customers have their messages`)
  const chance = chanceOf(t.seed)
  const killingMeanwhile = killEither(courier, chance, kills)
  let presses = 0
  const press = async (n: number): Promise<void> => {
    presses++
    const { id } = offers[n] as Offer
    await courier.control('/presses', { message_id: id, index: n % 4, copies: 1 + Math.floor(chance() * 3) })
  }
  for (const [n, offer] of offers.entries()) {
    await press(n)
    if (chance() < 0.3) await press(Math.floor(chance() * n))
    if (chance() < 0.2) await attack(courier, offer)
    await delay(pauseMs)
  }
  let killed = await killingMeanwhile
  await settle(courier, count)
  t.report('every press is settled; the customers write their addresses')
  const killingAgain = killEither(courier, chance, kills)
  const askers = offers.filter((_, n) => actions[n % 4] === 'change_address')
  for (const { to, waybill } of askers) {
    await courier.control('/inbound', { from: to, text: addressOf(waybill) })
    await delay(pauseMs)
  }
  killed += await killingAgain
  await settle(courier, count + askers.length)
  const confirmed = await confirmAddresses(courier, askers)
  broken.require(confirmed.length > askers.length / 2, `${confirmed.length} of ${askers.length} questions came`)
  const settled = await settle(courier, count + askers.length)
  const left = settled.filter(({ address }) => address !== null).length
  broken.require(left === 0, `${left} addresses were kept`)
  const refused = settled.filter(({ outcome }) => outcome === 'refused' || outcome === 'expired').length
  broken.require(refused === 0, `${refused} actions were refused or given up`)
  await check(courier, offers, confirmed, broken)
  return { kills: killed, presses, actions: settled.length }
}

export const promise: TrustPromise = {
  promise:
    "A customer's press of a button acts at most once, and none that was acknowledged is lost, whatever is killed; a forged, stale or foreign one does nothing",
  limit:
    'kill -9 of either service x60 while 2,000 customers press, some buttons several times, with duplicated, late, forged, stale and foreign webhooks among them: each action once in orders, each outcome one message, nothing else',
  run,
}
