import { type Order, orderEvent } from '../delivery/model.ts'

interface Outcome {
  /** undefined: it is in the feed, no process has read it yet. */
  state: 'pending' | 'delivered' | 'failed' | undefined
  attempts: number
  code: number | null
  /** undefined: not before an earlier one of its waybill. */
  dueAt: number | undefined
}

export interface Event extends Order, Outcome {
  isAccepted: boolean
  /** Other possible outcomes: of concurrent responses any may be stored first. */
  others: Outcome[]
}

export interface Response {
  event: Event
  /** null: the response was lost. */
  code: number | null
  retryAfter: number
}

/** The state that responses change. Times are in seconds. */
export interface Endpoint {
  now: number
  random: number
  events: Event[]
  disabled: string | null
  /** The number of failures in a row. */
  failures: number
  /**
   * The minimum of failures: concurrent ones stored after one that pauses or disables it, or before a success, do not
   * count.
   */
  fewestFailures: number
  failingSince: number | undefined
  /** The endpoint gets nothing before. */
  retryAt: number
}

const [minute, hour] = [60, 3_600]
export const day = 86_400
/** The delays after the first attempt, the second and so on: docs/merchants/webhooks.md. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
/** This many failures in a row bring an endpoint down. */
export const downAfter = 5

const isSuccess = ({ code }: Response): boolean => code === 204
const jittered = ({ random }: Endpoint, seconds: number): number => seconds * (0.9 + random / 5)

export const waitingIn = ({ events }: Endpoint): Event[] => events.filter(({ dueAt }) => dueAt !== undefined)
/** Makes the first event of each waybill due now, unless it was due before; the others wait for it. */
export const activate = ({ events, now }: Endpoint): void => {
  const waybills = new Set<string>()
  for (const event of events.filter(({ state }) => state === 'pending')) {
    event.dueAt = waybills.has(event.waybill) ? undefined : (event.dueAt ?? now)
    waybills.add(event.waybill)
  }
}

/** Applies concurrent responses. */
export const settle = (endpoint: Endpoint, responses: readonly Response[]): void => {
  const { now, failures, fewestFailures, failingSince = now } = endpoint
  const before = responses.map(({ event: { state, attempts, code, dueAt } }) => ({ state, attempts, code, dueAt }))
  const retryAfter = Math.max(...responses.map(({ retryAfter }) => retryAfter))
  countFailures(endpoint, responses)
  for (const response of responses) settleEvent(endpoint, response, failures)
  activate(endpoint)
  if (failures >= downAfter && endpoint.failures === 0)
    for (const event of waitingIn(endpoint)) event.dueAt = Math.min(event.dueAt ?? now, now)
  const wait = Math.max(pauseOf(endpoint), retryAfter)
  if (wait > 0) endpoint.retryAt = Math.max(endpoint.retryAt, now + wait)
  if (responses.some(({ code }) => code === 410)) endpoint.disabled = 'gone'
  else if (endpoint.failures > 0 && failingSince <= now - 5 * day) endpoint.disabled = 'failing'
  if (responses.length > 1 && (retryAfter > 0 || endpoint.disabled))
    endpoint.fewestFailures = Math.min(fewestFailures + 1, endpoint.fewestFailures)
  // Events after the one that disabled it are not stored.
  if (responses.length > 1 && endpoint.disabled)
    for (const [index, { event }] of responses.entries()) event.others.push(before[index] as Outcome)
}

const countFailures = (endpoint: Endpoint, responses: readonly Response[]): void => {
  const { now, failures, fewestFailures, failingSince, retryAt } = endpoint
  const failed = responses.filter(response => !isSuccess(response)).length
  const further = retryAt > now ? 0 : failed
  const hasSuccess = failed < responses.length
  // Concurrent failures bring it down only once.
  const after = (count: number) => Math.min(count + further, Math.max(count + 1, downAfter))
  endpoint.failures = hasSuccess ? Math.min(failed, 1) : after(failures)
  endpoint.fewestFailures = hasSuccess ? 0 : after(fewestFailures)
  const since = hasSuccess ? now : (failingSince ?? now)
  endpoint.failingSince = endpoint.failures > 0 ? since : undefined
}

/** Settles an event: it is given up after its last attempt, unless the endpoint is down. */
const settleEvent = (endpoint: Endpoint, response: Response, failuresBefore: number): void => {
  const { event, code, retryAfter } = response
  const isDown = endpoint.failures >= downAfter
  const attempts = event.attempts + 1
  const delay = delays[attempts - 1] ?? (isDown ? day : undefined)
  const givenUp: Outcome = { state: 'failed', attempts, code, dueAt: undefined }
  if (isSuccess(response)) Object.assign(event, { ...givenUp, state: 'delivered' })
  else if (delay === undefined) Object.assign(event, givenUp)
  else {
    const dueAt = endpoint.now + Math.max(jittered(endpoint, delay), retryAfter)
    Object.assign(event, { state: 'pending', attempts, code, dueAt })
    // The event that brings it down is not given up; those before it are.
    if (attempts > delays.length && failuresBefore + 1 < downAfter) event.others.push(givenUp)
  }
}

const pauseOf = (endpoint: Endpoint): number => {
  const further = endpoint.failures - downAfter
  return further < 0 ? 0 : jittered(endpoint, Math.min(5 * minute, 5 * 2 ** further))
}

type Delivery = { event: string; state: string; attempts: number }

/** Reduces the possible outcomes to the one observed. */
export const resolve = (endpoint: Endpoint, failures: number, deliveries: readonly Delivery[]): void => {
  if (failures >= endpoint.fewestFailures && failures < endpoint.failures) endpoint.failures = failures
  endpoint.fewestFailures = endpoint.failures
  if (endpoint.failures === 0) endpoint.failingSince = undefined
  for (const event of endpoint.events) {
    const seen = deliveries.find(delivery => delivery.event === orderEvent(event))
    const other = event.others.find(({ state, attempts }) => state === seen?.state && attempts === seen?.attempts)
    Object.assign(event, other, { others: [] })
  }
  activate(endpoint)
}
