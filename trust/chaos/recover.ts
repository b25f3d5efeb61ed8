import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../../test/courier.ts'
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

/** Both services take requests, and what is due has been done: only what waits for its time, or for an unknown message, is left. */
const isServing = async (bed: Bed): Promise<boolean> => {
  const ready = Object.values(bed.processes).map(({ url }) =>
    fetch(`${url}/health/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )
  return (await Promise.all(ready)).every(Boolean)
}

/** Tells those who may repair something that it is repaired: the merchant its endpoint, staff the number. */
const repair = async ({ courier, links }: Bed, endpointId: string): Promise<void> => {
  const headers = {
    authorization: `Bearer ${courier.merchant.token}`,
    'x-tenant': 'demo',
    'content-type': 'application/json',
  }
  const url = `${addressOf(links['clients-orders'])}/api/public/merchant/webhook/${endpointId}`
  await fetch(url, { method: 'PATCH', headers, body: '{"state":"enabled"}' }).catch(() => undefined)
  const resume = `${addressOf(links['clients-notifier'])}/api/channels/106540352242922/resume`
  const { authorization = '', ...tenant } = courier.staff
  await fetch(resume, { method: 'POST', headers: { authorization, 'x-tenant': tenant['x-tenant'] ?? '' } }).catch(
    () => undefined,
  )
}

/** What is left to wait for after that: the queue's own times, moved to now. */
const passTime = async ({ courier }: Bed): Promise<void> => {
  // Of sends without a response: 32 s, then ten minutes for a webhook.
  await courier.rows('notifier', `update messages set due_at = now() where status = 'sending'`)
  await courier.rows(
    'notifier',
    `update messages set due_at = 'infinity' where status = 'unknown' and due_at < 'infinity'`,
  )
  // Of failed attempts: up to five hours. What is claimed has a due time within ten seconds.
  await courier.rows(
    'notifier',
    `update messages set due_at = now() where status = 'queued' and due_at > now() + interval '11 s'`,
  )
  // Of presses: up to two minutes.
  await courier.rows(
    'notifier',
    `update customer_actions set due_at = now() where outcome is null and due_at > now() + interval '11 s'`,
  )
}

/** Waits until all is well. Returns after how many seconds everything served and had drained by itself, and what waits for ever. */
export const recover = async (
  bed: Bed,
  endpointId: string,
  report: (progress: string) => void,
): Promise<{ seconds: number; waiting: Counts }> => {
  const started = performance.now()
  await eventually('all processes are ready', () => isServing(bed), Boolean, 180)
  await repair(bed, endpointId)
  const outbox = () => bed.courier.rows('orders', 'select count(*)::int as depth from outbox')
  await eventually('the outbox is empty', outbox, ([row]) => row?.depth === 0, 120)
  const seconds = (performance.now() - started) / 1000
  const sum = (counts: Counts): number => Object.values(counts).reduce((total, count) => total + count, 0)
  let waiting = await countWaiting(bed)
  for (let tries = 0; tries < 240 && sum(waiting) > 0; tries++) {
    if (tries % 20 === 19) report(`still waiting: ${JSON.stringify(waiting)}`)
    if (tries % 4 === 3) {
      await repair(bed, endpointId)
      if (waiting['webhooks of the API'] === 0) await passTime(bed)
    }
    await delay(500)
    waiting = await countWaiting(bed)
  }
  return { seconds, waiting }
}
