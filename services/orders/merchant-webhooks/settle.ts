import { type Attempt, isSuccess } from './post.ts'
import { failuresAfter, heldAttempt, isDown, nextAttempt, pauseAfter } from './schedule.ts'

/** The result of an attempt to deliver an event. */
export interface Outcome extends Attempt {
  readonly position: number
  readonly waybill: string
  /** With this one. */
  readonly attempts: number
}

export interface Health {
  /** Since the last success. */
  readonly failures: number
  /** It has been failing for five days. */
  readonly isOverdue: boolean
  /** It is to get nothing for now: these requests were in flight, and their failures do not count again. */
  readonly isPaused: boolean
}

export type DisabledReason = 'merchant' | 'gone' | 'failing' | 'merchant_inactive'

interface Verdict {
  readonly position: number
  readonly state: 'pending' | 'delivered' | 'failed'
  /** Seconds until the next attempt; null: there is none. */
  readonly delay: number | null
}

export interface Settled {
  readonly verdicts: readonly Verdict[]
  readonly failures: number
  /** It was down and works again. */
  readonly isRecovered: boolean
  /** Seconds for which it gets nothing. */
  readonly pause: number
  readonly disabledReason: DisabledReason | null
}

/**
 * What attempts mean for the events and their endpoint. An event is given up after its last attempt if the endpoint
 * took others meanwhile; while it takes none its events wait, until it works or is disabled.
 */
export const settle = (health: Health, outcomes: readonly Outcome[], random: () => number): Settled => {
  const failed = outcomes.filter(({ code }) => !isSuccess(code))
  const failures =
    failed.length < outcomes.length ? 0 : failuresAfter(health.failures, health.isPaused ? 0 : failed.length)
  const verdictOf = ({ position, code, attempts, retryAfter }: Outcome): Verdict => {
    if (isSuccess(code)) return { position, state: 'delivered', delay: null }
    const delay = nextAttempt(attempts, random) ?? (isDown(failures) ? heldAttempt(random) : undefined)
    if (delay === undefined) return { position, state: 'failed', delay: null }
    return { position, state: 'pending', delay: Math.max(delay, retryAfter) }
  }
  return {
    verdicts: outcomes.map(verdictOf),
    failures,
    isRecovered: isDown(health.failures) && failures === 0,
    pause: Math.max(pauseAfter(failures, random), ...outcomes.map(({ retryAfter }) => retryAfter)),
    disabledReason: disabledBy(failed, failures > 0 && health.isOverdue),
  }
}

const disabledBy = (failed: readonly Outcome[], isOverdue: boolean): DisabledReason | null => {
  if (failed.some(({ code }) => code === 410)) return 'gone'
  return isOverdue ? 'failing' : null
}
