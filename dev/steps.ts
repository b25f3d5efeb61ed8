import { setTimeout as delay } from 'node:timers/promises'
import { isUnavailable } from '@courier/shared/postgres/database.ts'

interface Step {
  /** Completes "Still …", such as `starting Postgres`. */
  readonly doing: string
  /** Says what to do when the step fails. */
  readonly remedy: string
}

/** Reports what a busy machine has not done yet. */
export class NotYet extends Error {}

/** Limits a step: a busy machine needs minutes where an idle one needs seconds. */
export const giveUpSeconds = 600
const usual = { noteSeconds: 15, giveUpSeconds, pauseSeconds: 1 }

/**
 * Creates a function that runs the steps of a start: says what a step does that takes long, and repeats it while the
 * machine is too busy. Throws an Error with the step, the time and the remedy when it gives up; other errors unchanged.
 */
export const createSteps = (write: (line: string) => void, times: Partial<typeof usual> = {}) => {
  const { noteSeconds, giveUpSeconds, pauseSeconds } = { ...usual, ...times }
  return async <Result>({ doing, remedy }: Step, action: () => Promise<Result>): Promise<Result> => {
    const since = performance.now()
    const readSeconds = () => (performance.now() - since) / 1000
    const noting = setInterval(() => write(`Still ${doing} (${readSeconds().toFixed()} s) ...`), noteSeconds * 1000)
    try {
      for (;;)
        try {
          return await action()
        } catch (error) {
          if (!(error instanceof NotYet) && !isUnavailable(error)) throw error
          if (readSeconds() >= giveUpSeconds)
            throw new Error(
              `Gave up ${doing} after ${readSeconds().toFixed()} s: ${(error as Error).message}\n${remedy}`,
            )
          await delay(pauseSeconds * 1000)
        }
    } finally {
      clearInterval(noting)
    }
  }
}
