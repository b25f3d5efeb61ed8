import { setTimeout as delay } from 'node:timers/promises'
import { phoneNumberId } from '../../services/notifier/test/fixture.ts'
import { bearer, waitForOutbox } from '../courier.ts'
import { type Bed, buildAddress } from './bed.ts'

type Counts = Record<string, number>

/** Names one of the counts of work that waits in orders. */
const inOutbox = 'events in the outbox'
const waitingInOrders = `select
  (select count(*)::int from log where not is_relayed) as "${inOutbox}",
  (select count(*)::int from log where merchant_id is not null and position is null)
    as "changes without a position in their feed",
  (select count(*)::int from webhook_endpoints e join feeds f using (tenant_id, merchant_id)
    where e.position < f.last_position) as "endpoints behind their feed",
  (select count(*)::int from webhook_deliveries where state = 'pending') as "events for an endpoint"`

const waitingInNotifier = `select
  (select count(*)::int from messages where status in ('queued', 'held', 'sending')) as "messages to send",
  (select count(*)::int from customer_actions where outcome is null) as "presses to deliver"`

/** Counts the work that the services have to finish on their own. */
const countWaiting = async ({ courier, hasMessages }: Bed): Promise<Counts> => {
  const [[orders], [notifier], { webhooks }] = await Promise.all([
    courier.rows('orders', waitingInOrders),
    courier.rows('notifier', waitingInNotifier),
    courier.control(''),
  ])
  const hooks = webhooks.waiting + webhooks.under_way + webhooks.to_retry
  const all = { ...(orders as Counts), ...(notifier as Counts), 'webhooks of the API': hooks }
  return hasMessages ? all : { ...all, [inOutbox]: 0 }
}

/** Sends a request. Resolves to undefined if there is no response within 12 s. */
const send = (url: string, init: RequestInit = {}) =>
  fetch(url, { ...init, signal: AbortSignal.timeout(12_000) }).catch(() => undefined)

/** Resumes everything that waits for people: the merchant's endpoints, and the number. */
const resume = async ({ courier, links, endpoints }: Bed): Promise<void> => {
  const headers = { ...bearer(courier.tokens.merchant), 'content-type': 'application/json' }
  const webhooks = `${buildAddress(links['clients-orders'])}/api/public/merchant/webhook`
  for (const { id } of endpoints)
    await send(`${webhooks}/${id}`, { method: 'PATCH', headers, body: '{"state":"enabled"}' })
  const number = `${buildAddress(links['clients-notifier'])}/api/channels/${phoneNumberId}/resume`
  await send(number, { method: 'POST', headers: bearer(courier.tokens.notifierStaff) })
}

/** Moves the due times of both queues to now, except for sends that began less than `sendSeconds` ago. */
const passTime = async ({ courier: { rows } }: Bed, sendSeconds: number): Promise<void> => {
  // The notifier gives up a send after 32 s. A later message of its waybill would overtake one that is on its way.
  const unanswered = `update messages set due_at = now() where status = 'sending'
    and status_at < now() - make_interval(secs => $1)`
  await rows('notifier', unanswered, [sendSeconds])
  // A message waits 15 minutes for an unknown one of its waybill, a failed attempt up to five hours, a press two
  // minutes. A claimed action is due within ten seconds, and stays as it is.
  await rows('notifier', `update messages set due_at = 'infinity' where status = 'unknown' and due_at < 'infinity'`)
  for (const [table, isOpen] of [
    ['messages', `status = 'queued'`],
    ['customer_actions', 'outcome is null'],
  ])
    await rows('notifier', `update ${table} set due_at = now() where ${isOpen} and due_at > now() + interval '11 s'`)
}

/** Marks the end of a wait, by performance.now(). */
type Until = number
const secondsLeft = (until: Until): number => Math.max(1, (until - performance.now()) / 1000)

/** Waits until all processes are ready. */
export const becomeReady = ({ processes }: Bed, until: Until): Promise<unknown> =>
  Promise.all(Object.values(processes).map(process => process.ready(secondsLeft(until))))

/** Waits until orders has delivered all its events to the notifier. */
export const emptyOutbox = async (bed: Bed, until: Until): Promise<void> => {
  await resume(bed)
  if (!bed.hasMessages) return
  await waitForOutbox(bed.courier, secondsLeft(until))
}

/** Waits until nothing is left to do, skipping waits that only take time. Returns the counts of work that is left. */
export const comeToRest = async (
  bed: Bed,
  sendSeconds: number,
  until: Until,
  report: (progress: string) => void,
): Promise<Counts> => {
  const sum = (counts: Counts): number => Object.values(counts).reduce((total, count) => total + count, 0)
  let waiting = await countWaiting(bed)
  for (let tries = 1; performance.now() < until && sum(waiting) > 0; tries++) {
    if (tries % 20 === 0) report(`still waiting: ${JSON.stringify(waiting)}`)
    if (tries % 4 === 0) {
      await resume(bed)
      if (waiting['webhooks of the API'] === 0) await passTime(bed, sendSeconds)
    }
    await delay(250)
    waiting = await countWaiting(bed)
  }
  return waiting
}
