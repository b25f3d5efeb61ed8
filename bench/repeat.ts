import { setTimeout as delay } from 'node:timers/promises'

/** The work and the cost of a process in one measurement. */
export interface Measurement {
  /** The time from the start to the end of the last request. */
  seconds: number
  /** The milliseconds of each request, in the order in which they ended. */
  requestMilliseconds: number[]
  /** The CPU that the measuring process itself took. */
  cpuSeconds: number
}

type Action = () => Promise<unknown>

/** Repeats actions at that rate; without one, each action again as soon as it has ended. Throws what the actions throw. */
export const repeat = (
  seconds: number,
  requestsPerSecond: number | undefined,
  actions: Action[],
): Promise<Measurement> =>
  requestsPerSecond === undefined ? repeatFor(seconds, actions) : paceFor(seconds, requestsPerSecond, actions)

/** Runs all actions side by side, one request each at a time, until the time is up. */
const repeatFor = (seconds: number, actions: Action[]): Promise<Measurement> =>
  measure(async (start, ended) => {
    const end = start + seconds * 1000
    const repeat = async (action: Action): Promise<void> => {
      for (let begun = start; begun < end; ) {
        await action()
        begun = ended(begun)
      }
    }
    await Promise.all(actions.map(repeat))
  })

/**
 * Sends requests at a steady rate, whether or not earlier ones have ended: one that finds every action busy waits, and
 * its time counts from when it was due.
 */
const paceFor = (seconds: number, requestsPerSecond: number, actions: Action[]): Promise<Measurement> =>
  measure(async (start, ended) => {
    const end = start + seconds * 1000
    let next = 0
    const repeat = async (action: Action): Promise<void> => {
      for (;;) {
        const due = start + (next++ * 1000) / requestsPerSecond
        if (due >= end) return
        const early = due - performance.now()
        if (early > 0) await delay(early)
        // A timer that fires late does not count against the service.
        const begun = early > 0 ? performance.now() : due
        await action()
        ended(begun)
      }
    }
    await Promise.all(actions.map(repeat))
  })

/** `ended` records a request that began then, and returns the time. */
export const measure = async (
  run: (start: number, ended: (begun: number) => number) => Promise<void>,
): Promise<Measurement> => {
  const requestMilliseconds: number[] = []
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  await run(start, begun => {
    const now = performance.now()
    requestMilliseconds.push(now - begun)
    return now
  })
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpuBefore)
  return { seconds, requestMilliseconds, cpuSeconds: (user + system) / 1_000_000 }
}
