import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { remember } from '@courier/shared/postgres/history.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import type { Admission } from './admission.ts'
import { claimMessages } from './claim.ts'
import { ThroughputEstimate } from './claim-ahead.ts'
import type { ClaimedMessage } from './message.ts'
import { type SendOutcome, storeValidOutcomes } from './outcomes.ts'
import { storeBlocked } from './pre-send-check.ts'
import { sweep } from './sweep.ts'

export interface QueueOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  /** Sends one message; never rejects. */
  readonly send: (message: ClaimedMessage) => Promise<SendOutcome>
  readonly window: number
  readonly recipientPauseSeconds: number
  /** A send ends within this time, with a response or without. */
  readonly sendSeconds: number
  /** Decides which messages leave, after the hours of the messages. */
  readonly admissions?: readonly Admission[] | undefined
  /** Blocks all claims while it resolves to false. */
  readonly mayClaim?: (() => Promise<boolean>) | undefined
}

/** A number may send a twentieth of a second's worth at once: the queue polls more often than that. */
const pollMilliseconds = 25
const idlePollMilliseconds = 250
const sweepMilliseconds = 1_000

/** A claimed message that gets no slot in the window within this time is queued again. */
const claimedMilliseconds = 500

const isClaimedSql = 'select from messages where tenant_id = $1 and message_id = $2 and fence >= $3'

type Step = 'claim' | 'store' | 'sweep'

/**
 * Sends messages that are due. A message is claimed (`sending` is committed, it waits for a slot in the window), then
 * writing (its request is in flight), then finished (its outcome waits to be stored). One loop moves messages on, many
 * with each statement, and claims as many as will find a free slot. Any number of processes may run a queue. A queue
 * that claimed only for slots already free sent 0.58 times the messages a second if responses came at once, 0.76 times
 * if they took 50 ms.
 */
export class Queue {
  readonly #options: QueueOptions
  readonly #claimed: { message: ClaimedMessage; at: number }[] = []
  #writing = 0
  readonly #finished: SendOutcome[] = []

  readonly #running = new Set<Step>()
  readonly #throughput = new ThroughputEstimate()
  /** Is true if the last claim found due messages, or something woke the queue. */
  #hasMore = false
  #isClaimDue = false
  #sweepAt = 0
  #isStopping = false
  #change = Promise.withResolvers<void>()
  #timer: NodeJS.Timeout | undefined
  #loop: Promise<void> | undefined

  constructor(options: QueueOptions) {
    this.#options = options
  }

  start(): void {
    this.#sweepAt = performance.now() + sweepMilliseconds
    this.#poll()
    this.#loop = this.#run()
  }

  wake(): void {
    this.#hasMore = true
    this.#isClaimDue = true
    this.#change.resolve()
  }

  /** Stops claiming, queues unwritten messages again, and waits until every send's outcome is stored. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#change.resolve()
    await this.#loop
    clearTimeout(this.#timer)
  }

  async #run(): Promise<void> {
    while (!this.#isDrained()) {
      const now = performance.now()
      if (this.#isStopping) this.#unclaim(this.#claimed.splice(0))
      else {
        this.#write(now)
        if (this.#isClaimDue && this.#roomToClaim(now) > 0) this.#begin('claim', this.#claim)
        if (this.#sweepAt <= now) this.#begin('sweep', this.#sweep)
      }
      if (this.#finished.length > 0) this.#begin('store', this.#store)
      await this.#change.promise
      this.#change = Promise.withResolvers()
    }
  }

  /** Begins a step unless it is running; the end of the step wakes the loop. */
  #begin(step: Step, action: () => Promise<void>): void {
    if (this.#running.has(step)) return
    this.#running.add(step)
    action.call(this).finally(() => {
      this.#running.delete(step)
      this.#change.resolve()
    })
  }

  #poll(): void {
    this.#isClaimDue = true
    this.#change.resolve()
    this.#timer = setTimeout(() => this.#poll(), this.#hasMore ? pollMilliseconds : idlePollMilliseconds)
  }

  #isDrained(): boolean {
    const atHand = this.#claimed.length + this.#writing + this.#finished.length
    return this.#isStopping && atHand === 0 && this.#running.size === 0
  }

  async #claim(): Promise<void> {
    const { pool, sendSeconds, recipientPauseSeconds, admissions } = this.#options
    const begun = performance.now()
    this.#isClaimDue = false
    let inDoubt: readonly ClaimedMessage[] = []
    const beforeCommit = (messages: readonly ClaimedMessage[]) => {
      inDoubt = messages
    }
    // Is twice the time of a send: a slow outcome of a live process must not look like that of a dead one.
    const sendingSeconds = sendSeconds * 2
    const options = { room: this.#roomToClaim(begun), sendingSeconds, recipientPauseSeconds, beforeCommit, admissions }
    const hasMore = await this.#guard('queue.claim_failed', async () => {
      if ((await this.#options.mayClaim?.()) === false) return false
      const { messages, blocked, hasMore, now } = await claimMessages(pool, options)
      inDoubt = []
      const last = messages.at(-1)
      if (last)
        remember(pool, 'claim', { tenant: last.tenant, text: isClaimedSql, values: [last.tenant, last.id, last.fence] })
      const at = performance.now()
      this.#throughput.recordClaim(at - begun)
      for (const message of messages) this.#claimed.push({ message, at })
      this.#change.resolve()
      await storeBlocked(pool, blocked, now)
      if (messages.length > 0) this.#isClaimDue = true
      return hasMore
    })
    this.#unclaim(inDoubt.map(message => ({ message })))
    // Polls an unavailable database less often.
    this.#hasMore = hasMore ?? false
  }

  /** Returns how many messages to claim. While some are claimed, a few more are not worth a commit. */
  #roomToClaim(now: number): number {
    const { window } = this.#options
    const expected = this.#throughput.expectDuringClaim(now)
    const ahead = Math.min(expected > 0 ? expected + window / 8 : 0, window / 2)
    const room = Math.ceil(window + ahead) - this.#writing - this.#claimed.length
    return this.#claimed.length > 0 && room < window / 8 ? 0 : room
  }

  /** Fills the window with claimed messages; queues again those that have waited too long because the API is slow. */
  #write(now: number): void {
    if (this.#claimed.length === 0) return
    const fresh = this.#claimed.findIndex(({ at }) => at > now - claimedMilliseconds)
    this.#unclaim(this.#claimed.splice(0, fresh === -1 ? this.#claimed.length : fresh))
    for (const { message } of this.#claimed.splice(0, this.#options.window - this.#writing)) this.#send(message)
  }

  async #send(message: ClaimedMessage): Promise<void> {
    this.#writing++
    const outcome = await this.#options.send(message)
    this.#writing--
    this.#throughput.recordResponse(performance.now())
    this.#finished.push(outcome)
    this.#change.resolve()
  }

  /** Stores up to 500 finished outcomes at once; later ones go with the next batch. Retries until they are stored. */
  async #store(): Promise<void> {
    // Includes sends that end in this iteration of the event loop.
    await setImmediate()
    const batch = this.#finished.splice(0, 500)
    const { pool, recipientPauseSeconds } = this.#options
    const isStored = await this.#guard('queue.store_failed', async () => {
      await storeValidOutcomes(pool, batch, recipientPauseSeconds, (err, { message }) =>
        this.#options.logger.error({ err, message_id: message.id }, 'queue.outcome_refused'),
      )
      return true
    })
    if (isStored) return
    this.#finished.unshift(...batch)
    await sleep(500)
  }

  /** Queues the messages again with the next batch of outcomes: none of their requests was written. */
  #unclaim(claimed: readonly { readonly message: ClaimedMessage }[]): void {
    const again = { status: 'queued', isAttempt: false, dueSeconds: 0, isUnwritten: true } as const
    for (const { message } of claimed) this.#finished.push({ message, ...again })
  }

  async #sweep(): Promise<void> {
    this.#sweepAt = performance.now() + sweepMilliseconds
    await this.#guard('queue.sweep_failed', async () => {
      const { overdue, resent, expired } = await sweep(this.#options.pool)
      if (overdue + resent + expired > 0) this.#options.logger.info({ overdue, resent, expired }, 'queue.swept')
    })
  }

  /** Runs an action; returns undefined after a failure: an unavailable database only delays the work. */
  async #guard<Result>(fact: string, action: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await action()
    } catch (err) {
      this.#options.logger.warn({ err }, fact)
      return undefined
    }
  }
}
