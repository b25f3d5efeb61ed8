import { setTimeout as delay } from 'node:timers/promises'
import { phoneNumberId } from '../../services/notifier/test/fixture.ts'
import { eventually } from '../../test/courier.ts'
import { endWaits, giveUpSends } from '../pass-time.ts'
import { addressOf, type Bed } from './bed.ts'

type Counts = Record<string, number>

/** What waits in orders. An endpoint that failed is tried again at once when its merchant says that it is mended. */
const waitingInOrders = `select
  (select count(*)::int from outbox) as "events in the outbox",
  (select count(*)::int from new_changes) as "changes without a place in their feed",
  (select count(*)::int from webhook_endpoints e join feeds f using (tenant_id, merchant_id)
    where e.position < f.last_position) as "endpoints behind their feed",
  (select count(*)::int from webhook_deliveries where state = 'pending') as "events for an endpoint"`

const waitingInNotifier = `select
  (select count(*)::int from messages where status in ('queued', 'held', 'sending')) as "messages to send",
  (select count(*)::int from customer_actions where outcome is null) as "presses to deliver"`

/** Everything that has to happen by itself, and has not. */
const countWaiting = async ({ courier }: Bed): Promise<Counts> => {
  const [[orders], [notifier], { webhooks }] = await Promise.all([
    courier.rows('orders', waitingInOrders),
    courier.rows('notifier', waitingInNotifier),
    courier.control(''),
  ])
  const hooks = webhooks.waiting + webhooks.under_way + webhooks.to_retry
  return { ...(orders as Counts), ...(notifier as Counts), 'webhooks of the API': hooks }
}

/** No response to a request of this file is waited for longer. */
const timeoutMs = 12_000

const isReady = async ({ processes }: Bed): Promise<boolean> => {
  const ready = Object.values(processes).map(({ url }) =>
    fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(timeoutMs) }).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return (await Promise.all(ready)).every(Boolean)
}

/** Resumes what waits for people: the merchant's endpoint, and the number. */
const resume = async ({ courier, links }: Bed, endpointId: string): Promise<void> => {
  const send = (url: string, init: RequestInit) =>
    fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) }).catch(() => undefined)
  const merchant = { authorization: `Bearer ${courier.merchant.token}`, 'x-tenant': 'demo' }
  const endpoint = `${addressOf(links['clients-orders'])}/api/public/merchant/webhook/${endpointId}`
  const headers = { ...merchant, 'content-type': 'application/json' }
  await send(endpoint, { method: 'PATCH', headers, body: '{"state":"enabled"}' })
  const { authorization = '', 'x-tenant': tenant = '' } = courier.staff
  const number = `${addressOf(links['clients-notifier'])}/api/channels/${phoneNumberId}/resume`
  await send(number, { method: 'POST', headers: { authorization, 'x-tenant': tenant } })
}

/** Moves the times of both queues to now. */
const passTime = async ({ courier }: Bed): Promise<void> => {
  // A send lasts 15 s at most; while it is on its way a later message of its waybill would overtake it.
  await giveUpSends(courier, 16)
  await endWaits(courier)
  // Of presses: up to two minutes.
  await courier.rows(
    'notifier',
    `update customer_actions set due_at = now() where outcome is null and due_at > now() + interval '11 s'`,
  )
}

/** Until when something is waited for, by performance.now(). */
type Until = number
const secondsLeft = (until: Until): number => Math.max(1, (until - performance.now()) / 1000)

export const becomeReady = async (bed: Bed, until: Until): Promise<void> => {
  await eventually('all processes are ready', () => isReady(bed), Boolean, secondsLeft(until))
}

/** Everything that happened in orders is delivered to the notifier. */
export const emptyOutbox = async (bed: Bed, endpointId: string, until: Until): Promise<void> => {
  await resume(bed, endpointId)
  const outbox = () => bed.courier.rows('orders', 'select count(*)::int as depth from outbox')
  await eventually('the outbox is empty', outbox, ([row]) => row?.depth === 0, secondsLeft(until))
}

/** Waits until nothing is left to do, moving what is only a matter of time. Returns what waits for ever. */
export const comeToRest = async (
  bed: Bed,
  endpointId: string,
  until: Until,
  report: (progress: string) => void,
): Promise<Counts> => {
  const sum = (counts: Counts): number => Object.values(counts).reduce((total, count) => total + count, 0)
  let waiting = await countWaiting(bed)
  for (let tries = 1; performance.now() < until && sum(waiting) > 0; tries++) {
    if (tries % 20 === 0) report(`still waiting: ${JSON.stringify(waiting)}`)
    if (tries % 4 === 0) {
      await resume(bed, endpointId)
      if (waiting['webhooks of the API'] === 0) await passTime(bed)
    }
    await delay(500)
    waiting = await countWaiting(bed)
  }
  return waiting
}
