import { type Drain, formatEvent, leaseSeconds, type Order, Reader } from './model.ts'

interface Event extends Order {
  /** undefined: the event is in the feed, and no process has read it yet. */
  state: 'pending' | 'delivered' | 'failed' | undefined
  attempts: number
  code: number | null
  /** undefined: the event waits for an earlier one of its waybill. */
  dueAt: number | undefined
}

interface Sending extends Drain<Event> {
  url: number
  limit: number
  sent: number
  /** Holds the last response; a `code` of null: the response was lost. */
  response?: { event: Event; code: number | null; retryAfter: number }
}

type Mood = { status: number; isLost?: true; retryAfter?: number }

/** Maps moods to the endpoint's reaction. After a lost response nobody knows that the endpoint accepted the event. */
export const endpointMoods: Record<string, Mood> = {
  works: { status: 204 },
  refuses: { status: 400 },
  fails: { status: 500 },
  'loses its responses': { status: 204, isLost: true },
  'is unreachable': { status: 503, isLost: true },
  'is gone': { status: 410 },
  'is busy for ten minutes': { status: 429, retryAfter: 600 },
  'refuses one waybill': { status: 204 },
}

const [minute, hour, day] = [60, 3_600, 86_400]
/** Lists the delays after the first attempt, the second and so on: docs/merchants/webhooks.md. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour]
/** This many failures in a row bring an endpoint down. */
const downAfter = 5

export type Verb = 'enables' | 'disables' | 'moves'

/** Models one endpoint of a merchant: docs/merchants/webhooks.md. */
export class Endpoint extends Reader<Sending> {
  readonly leaseSeconds = leaseSeconds.endpoint
  /** Counts the changes of the endpoint's address. */
  url = 0
  readonly events: Event[] = []
  disabled: string | null = null
  /** Counts the failures in a row. */
  failures = 0
  failingSince: number | undefined
  /** The endpoint gets nothing before this time. */
  retryAt = 0

  get #waiting(): Event[] {
    return this.events.filter(({ dueAt }) => dueAt !== undefined)
  }

  get #due(): Event[] {
    return this.#waiting.filter(({ dueAt = 0 }) => dueAt <= this.world.now)
  }

  chooseReaction(waybill: string): Mood {
    const isRefused = this.mood === 'refuses one waybill' && waybill === this.world.orders[0]?.waybill
    return (isRefused ? endpointMoods.refuses : endpointMoods[this.mood]) as Mood
  }

  happen(orders: readonly Order[]): void {
    const fresh = { state: undefined, attempts: 0, code: null, dueAt: undefined }
    this.events.push(...orders.map(order => ({ ...order, ...fresh })))
  }

  mayWork(): boolean {
    const hasWork = this.#due.length > 0 || this.events.some(event => event.state === undefined)
    return this.disabled === null && this.retryAt <= this.world.now && hasWork
  }

  begin(drain: Drain<never>): Sending {
    return { ...drain, url: this.url, limit: this.failures < downAfter ? 256 : 1, sent: 0 }
  }

  /** Adds the feed's new events. A process without the lease sends nothing, unless it cannot know of the loss. */
  read(drain: Sending): void {
    const isHolder = this.isHeldBy(drain)
    if (isHolder) for (const event of this.events) event.state ??= 'pending'
    if (isHolder) this.#activate()
    if (isHolder || this.isFresh(drain)) drain.due = this.#due.slice(0, drain.limit)
  }

  send(drain: Sending): void {
    const event = drain.due[drain.sent++]
    if (!event) return
    const { status, isLost, retryAfter = 0 } = this.chooseReaction(event.waybill)
    this.requests.push(`${formatEvent(event)} to ${drain.url}`)
    drain.response = { event, code: isLost ? null : status, retryAfter }
  }

  /** Stores responses, which count only if the process holds the lease, and sends the rest of the drain's requests. */
  store(drain: Sending): void {
    const isHolder = this.isHeldBy(drain)
    if (isHolder && drain.response && this.disabled === null) this.#settle(drain.response)
    if (drain.sent < drain.due.length) {
      this.send(drain)
      this.store(drain)
    } else if (isHolder) this.lease = undefined
  }

  /** Shows the endpoint as the merchant sees it, with its failures in a row. */
  show() {
    const { disabled, failures, failingSince, events } = this
    return {
      endpoint: { disabled, failures, failingSince },
      deliveries: events
        .filter(({ state }) => state !== undefined)
        .map(({ waybill, status, state, attempts, code, dueAt }) => {
          const tenths = dueAt === undefined ? undefined : Math.round(dueAt * 10) / 10
          return { event: formatEvent({ waybill, status }), state, attempts, code, dueAt: tenths }
        }),
    }
  }

  /** Applies a merchant's change: the endpoint begins anew, and events that waited for another attempt are due. */
  change(verb: Verb): void {
    if (verb === 'moves') this.url++
    else this.disabled = verb === 'enables' ? null : (this.disabled ?? 'merchant')
    Object.assign(this, { failures: 0, failingSince: undefined, retryAt: 0, lease: undefined })
    if (this.disabled === null)
      for (const event of this.#waiting) Object.assign(event, { dueAt: this.world.now, attempts: 0 })
  }

  /** Fails all but one of the attempts that three days allow. */
  tire(): void {
    const dueAt = this.world.now
    for (const event of this.#waiting) if (event.attempts > 0) Object.assign(event, { attempts: 9, dueAt })
  }

  /** Makes the first event of each waybill due now, unless it has a due time already; the others wait for it. */
  #activate(): void {
    const waybills = new Set<string>()
    for (const event of this.events.filter(({ state }) => state === 'pending')) {
      event.dueAt = waybills.has(event.waybill) ? undefined : (event.dueAt ?? this.world.now)
      waybills.add(event.waybill)
    }
  }

  #settle({ event, code, retryAfter }: NonNullable<Sending['response']>): void {
    const { failures, failingSince, retryAt } = this
    const { now, random } = this.world
    const jittered = (seconds: number): number => seconds * (0.9 + random / 5)
    // Failures of requests that were in flight when the endpoint was paused do not count again.
    this.failures = code === 204 ? 0 : failures + (retryAt > now ? 0 : 1)
    this.failingSince = this.failures > 0 ? (failingSince ?? now) : undefined
    const isDown = this.failures >= downAfter
    const delay = delays[event.attempts] ?? (isDown ? day : undefined)
    Object.assign(event, { attempts: event.attempts + 1, code, dueAt: undefined })
    if (code === 204) event.state = 'delivered'
    else if (delay === undefined) event.state = 'failed'
    else event.dueAt = now + Math.max(jittered(delay), retryAfter)
    this.#activate()
    if (failures >= downAfter && this.failures === 0)
      for (const waiting of this.#waiting) waiting.dueAt = Math.min(waiting.dueAt ?? now, now)
    const pause = isDown ? jittered(Math.min(5 * minute, 5 * 2 ** (this.failures - downAfter))) : 0
    if (pause > 0 || retryAfter > 0) this.retryAt = Math.max(retryAt, now + Math.max(pause, retryAfter))
    if (code === 410) this.disabled = 'gone'
    else if (this.failures > 0 && failingSince !== undefined && failingSince <= now - 5 * day) this.disabled = 'failing'
  }
}
