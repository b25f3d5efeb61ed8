import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

export interface PollOptions {
  /** Names the work in the log: a failure is `<name>_failed`. */
  readonly name: string
  /** Sets the seconds between the end of a run and the next. */
  readonly everySeconds: number
  /** Sets the seconds from the start to the first run. The default is 0. */
  readonly firstSeconds?: number
  /** Wakes within this time share a run. The default is 0. */
  readonly wakeMilliseconds?: number
  readonly logger: Logger
  /** Returns true if there is more to do at once. A stop aborts the signal and waits for the run in progress. */
  readonly run: (stopping: AbortSignal) => Promise<unknown>
  readonly onFailure?: (name: string) => void
}

/** Can start again once it has stopped. */
interface PollWorker {
  start(): void
  stop(): Promise<void>
  /** Runs now, or once more after the run in progress. */
  wake(): void
}

/** After failures in a row the wait doubles up to this; it is never below `everySeconds`. */
const longestWaitSeconds = 5

/** Runs after `firstSeconds`, and again `everySeconds` after the end of each run, until it is stopped. */
export const pollWorker = (options: PollOptions): PollWorker => {
  const { name, everySeconds, firstSeconds = 0, wakeMilliseconds = 0, logger, run, onFailure } = options
  let stopping = new AbortController()
  let waking = new AbortController()
  let work: Promise<void> | undefined

  const poll = async (): Promise<void> => {
    let seconds = firstSeconds
    let failures = 0
    for (;;) {
      await sleep(seconds * 1000, undefined, { signal: waking.signal }).catch(() => {})
      if (wakeMilliseconds > 0) await sleep(wakeMilliseconds, undefined, { signal: stopping.signal }).catch(() => {})
      if (stopping.signal.aborted) return
      waking = new AbortController()
      try {
        const hasMore = await run(stopping.signal)
        failures = 0
        seconds = hasMore === true ? 0 : everySeconds
      } catch (err) {
        failures++
        seconds = Math.max(everySeconds, Math.min(longestWaitSeconds, everySeconds * 2 ** failures))
        logger.warn({ err }, `${name}_failed`)
        onFailure?.(name)
      }
    }
  }

  return {
    start: () => {
      if (stopping.signal.aborted) stopping = new AbortController()
      work ??= poll()
    },
    wake: () => waking.abort(),
    stop: async () => {
      stopping.abort()
      waking.abort()
      await work
      work = undefined
      waking = new AbortController()
    },
  }
}
