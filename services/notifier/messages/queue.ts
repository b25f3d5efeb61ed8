import pg from 'pg'
import type { Logger } from 'pino'
import { type ClaimedMessage, claimMessages } from './claim.ts'
import { type Blocked, obstacleOf, storeBlocked } from './gate.ts'
import { giveBack, markSending, type Outcome, storeOutcomes } from './outcomes.ts'
import { Pace } from './pace.ts'
import { sweep } from './sweep.ts'

export interface QueueOptions {
  readonly pool: pg.Pool
  readonly logger: Logger
  /** Sends one message; never rejects. */
  readonly send: (message: ClaimedMessage) => Promise<Outcome>
  /** How many sends may be under way at once. */
  readonly window: number
  /** Seconds between two messages to one recipient; 0: no limit. */
  readonly pairSeconds: number
  /** A send is answered or given up within this time. */
  readonly sendSeconds: number
}

/** How often the table is looked at: a number may send a twentieth of a second's worth at once, so more often than that. */
const pollMilliseconds = 25
const idlePollMilliseconds = 250
const sweepMilliseconds = 1_000

/** A dead process's claim ends after this long; a claimed message is written or given back well before. */
const claimSeconds = 10
/** So much of the work is claimed ahead, at least one window and at most four. */
const claimedMilliseconds = 200
/** What was marked and found no free place within this time is queued again. */
const markedMilliseconds = 500

/**
 * Sends what is due: claims ahead of need, commits `sending` for as many as have a free place or will have one when that
 * is committed, writes those, and stores what became of them, each step for many messages at once. Any number of
 * processes may run one.
 */
export class Queue {
  readonly #options: QueueOptions
  readonly #claimed: ClaimedMessage[] = []
  /** `sending` is committed, and they wait for the next free place, each since that time. */
  readonly #marked: { message: ClaimedMessage; at: number }[] = []
  readonly #pace = new Pace()
  readonly #outcomes: Outcome[] = []
  #sending = 0
  #isClaiming = false
  #isMarking = false
  #isStoring = false
  #isSweeping = false
  #isStopping = false
  #hasMore = false
  #timer: NodeJS.Timeout | undefined
  #sweeper: NodeJS.Timeout | undefined

  constructor(options: QueueOptions) {
    this.#options = options
  }

  start(): void {
    this.#poll()
    this.#sweeper = setInterval(() => this.#sweep(), sweepMilliseconds)
  }

  /** Looks for due messages now. */
  wake(): void {
    this.#hasMore = true
    this.#fill()
  }

  /**
   * Claims nothing more, gives back what was not written, and waits until every send is answered and stored. A send
   * that is cut off after all becomes `unknown`.
   */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    clearInterval(this.#sweeper)
    while (this.#isClaiming || this.#isMarking) await soon()
    this.#unmark(this.#marked.splice(0).map(({ message }) => message))
    await this.#giveBack(this.#claimed.splice(0))
    while (this.#sending > 0 || this.#outcomes.length > 0 || this.#isStoring) await soon()
  }

  #poll(): void {
    if (this.#isStopping) return
    this.#fill()
    this.#timer = setTimeout(() => this.#poll(), this.#hasMore ? pollMilliseconds : idlePollMilliseconds)
  }

  /** Claims when less than half of what should be at hand is. */
  async #fill(): Promise<void> {
    const { pool, window, pairSeconds } = this.#options
    const ahead = this.#pace.within(claimedMilliseconds, performance.now())
    const wanted = Math.min(Math.max(ahead, window), window * 4)
    const room = wanted - this.#claimed.length
    if (this.#isClaiming || this.#isStopping || room < wanted / 2) return
    this.#isClaiming = true
    const isClaimed = await this.#guard('queue.claim_failed', async () => {
      const { messages, hasMore } = await claimMessages(pool, { room, claimSeconds, pairSeconds })
      this.#hasMore = hasMore
      const now = new Date()
      const blocked: Blocked[] = []
      for (const message of messages) {
        const obstacle = obstacleOf(message, now)
        if (obstacle) blocked.push({ message, obstacle })
        else this.#claimed.push(message)
      }
      await storeBlocked(pool, blocked)
    })
    // A database that is away is asked less often.
    if (!isClaimed) this.#hasMore = false
    this.#isClaiming = false
    this.#advance()
  }

  /** Marks claimed messages for the places that are free, or will be. */
  async #advance(): Promise<void> {
    const room = this.#roomToMark()
    if (this.#isMarking || this.#isStopping || room <= 0 || this.#claimed.length === 0) return
    this.#isMarking = true
    const batch = this.#claimed.splice(0, room)
    let mine = new Set<ClaimedMessage>()
    const begun = performance.now()
    const isMarked = await this.#guard('queue.mark_failed', async () => {
      // Twice the time of a send: the overdue answer of a live process must not be taken for a dead one's.
      mine = await markSending(this.#options.pool, batch, this.#options.sendSeconds * 2)
    })
    const at = performance.now()
    this.#pace.marked(at - begun)
    for (const message of mine) this.#marked.push({ message, at })
    this.#start()
    if (isMarked) await this.#giveBack(batch.filter(message => !mine.has(message)))
    else this.#unmark(batch)
    this.#isMarking = false
    if (this.#isStopping) return
    if (this.#hasMore) this.#fill()
    if (this.#claimed.length > 0) this.#advance()
  }

  /** While some are marked, few are not worth a commit. */
  #roomToMark(): number {
    const { window } = this.#options
    const ahead = Math.min(this.#pace.withinMark(performance.now()), window / 2)
    const room = Math.ceil(window + ahead) - this.#sending - this.#marked.length
    return this.#marked.length > 0 && room < window / 8 ? 0 : room
  }

  /** Writes marked messages while there are free places. An API that was faster a moment ago leaves some over. */
  #start(): void {
    const oldest = performance.now() - markedMilliseconds
    const stale = this.#marked.findIndex(({ at }) => at > oldest)
    this.#unmark(this.#marked.splice(0, stale === -1 ? this.#marked.length : stale).map(({ message }) => message))
    for (const { message } of this.#marked.splice(0, this.#options.window - this.#sending)) this.#send(message)
  }

  async #send(message: ClaimedMessage): Promise<void> {
    this.#sending++
    const outcome = await this.#options.send(message)
    this.#sending--
    this.#pace.answered(performance.now())
    this.#outcomes.push(outcome)
    this.#store()
    this.#start()
    this.#advance()
  }

  /** Stores all outcomes at hand at once; what comes meanwhile goes with the next. Tries until the database takes them. */
  async #store(): Promise<void> {
    if (this.#isStoring) return
    this.#isStoring = true
    // What else is answered in this turn of the event loop goes along.
    await new Promise(setImmediate)
    while (this.#outcomes.length > 0) {
      const batch = this.#outcomes.splice(0, 500)
      const isStored = await this.#guard('queue.store_failed', () => this.#storeBatch(batch))
      if (isStored) continue
      this.#outcomes.unshift(...batch)
      await new Promise(resolve => setTimeout(resolve, 500))
    }
    this.#isStoring = false
  }

  /** One outcome that Postgres refuses as such does not keep the others: it is told, and its message becomes unknown. */
  async #storeBatch(batch: readonly Outcome[]): Promise<void> {
    try {
      await storeOutcomes(this.#options.pool, batch)
    } catch (err) {
      if (!isBadData(err)) throw err
      const [first] = batch
      if (batch.length > 1) for (const outcome of batch) await this.#storeBatch([outcome])
      else this.#options.logger.error({ err, message_id: first?.message.id }, 'queue.outcome_refused')
    }
  }

  async #giveBack(messages: readonly ClaimedMessage[]): Promise<void> {
    if (messages.length > 0)
      await this.#guard('queue.give_back_failed', () => giveBack(this.#options.pool, messages, 0))
  }

  /** Nothing of them was written: they are queued again, when the database is back. */
  #unmark(messages: readonly ClaimedMessage[]): void {
    if (messages.length === 0) return
    const dueAt = new Date()
    for (const message of messages) this.#outcomes.push({ message, status: 'queued', isAttempt: false, dueAt })
    this.#store()
  }

  async #sweep(): Promise<void> {
    if (this.#isSweeping) return
    this.#isSweeping = true
    this.#start()
    await this.#guard('queue.sweep_failed', async () => {
      const { overdue, resent, expired } = await sweep(this.#options.pool)
      if (overdue + resent + expired > 0) this.#options.logger.info({ overdue, resent, expired }, 'queue.swept')
    })
    this.#isSweeping = false
  }

  /** A database that is away delays the work; claims end by themselves, so nothing is lost. */
  async #guard(fact: string, action: () => Promise<unknown>): Promise<boolean> {
    try {
      await action()
      return true
    } catch (err) {
      this.#options.logger.warn({ err }, fact)
      return false
    }
  }
}

/** SQLSTATE classes 22 and 23: the values are at fault, and would be again. */
const isBadData = (err: unknown): boolean => err instanceof pg.DatabaseError && /^2[23]/.test(err.code ?? '')

const soon = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 5))
