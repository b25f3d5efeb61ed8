import { failuresAfter, isDown, nextAttempt, pauseAfter } from './schedule.ts'

export interface Attempt {
  /** null: there was no response, and `error` says why. */
  readonly code: number | null
  readonly milliseconds: number
  readonly error: string | null
  /** Holds the beginning of the response's body. */
  readonly responseBody: string | null
  /** Holds the seconds for which the endpoint asks to get nothing. */
  readonly retryAfter: number
}

export const isSuccess = (code: number | null): boolean => code !== null && code >= 200 && code < 300

export interface Outcome extends Attempt {
  readonly position: number
  readonly waybill: string
  /** Counts the attempts, including this one. */
  readonly attempts: number
}

export interface Health {
  /** Counts the failures since the last success. */
  readonly failures: number
  /** The endpoint has been failing for five days. */
  readonly isOverdue: boolean
  /** The endpoint is paused. Its requests were in flight when the pause began, so their failures do not count again. */
  readonly isPaused: boolean
}

export interface Settled {
  /** Follows the order of the outcomes. `delay` is the seconds until the next attempt. */
  readonly verdicts: readonly { readonly state: 'pending' | 'delivered' | 'failed'; readonly delay: number | null }[]
  readonly failures: number
  /** The endpoint was down and works again. */
  readonly isRecovered: boolean
  /** Holds the seconds for which the endpoint gets nothing. */
  readonly pause: number
  readonly disabledReason: 'gone' | 'failing' | null
}

/**
 * Decides what the outcomes mean for the events and their endpoint. An event is given up after its last attempt unless
 * the endpoint is down: its events then wait until the endpoint works or is disabled.
 */
export const settle = (health: Health, outcomes: readonly Outcome[], random: () => number): Settled => {
  const failed = outcomes.filter(({ code }) => !isSuccess(code))
  const failures =
    failed.length < outcomes.length ? 0 : failuresAfter(health.failures, health.isPaused ? 0 : failed.length)
  const decide = ({ code, attempts, retryAfter }: Outcome): Settled['verdicts'][number] => {
    if (isSuccess(code)) return { state: 'delivered', delay: null }
    const delay = nextAttempt(attempts, isDown(failures), random)
    return delay === undefined
      ? { state: 'failed', delay: null }
      : { state: 'pending', delay: Math.max(delay, retryAfter) }
  }
  const isGone = failed.some(({ code }) => code === 410)
  return {
    verdicts: outcomes.map(decide),
    failures,
    isRecovered: isDown(health.failures) && failures === 0,
    pause: Math.max(pauseAfter(failures, random), ...outcomes.map(({ retryAfter }) => retryAfter)),
    disabledReason: isGone ? 'gone' : failures > 0 && health.isOverdue ? 'failing' : null,
  }
}
