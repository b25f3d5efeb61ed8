/** Describes the work and the cost of a process in one measurement. */
export interface Measurement {
  /** Counts from the start of the measurement to the end of the last request. */
  seconds: number
  /** Holds the milliseconds of each request, in the order in which the requests ended. */
  requestMilliseconds: number[]
  /** Counts the CPU time of the measuring process itself. */
  cpuSeconds: number
}

/** Adds the CPU seconds of the work: in the Node process that does it, and in Postgres (NaN: unknown). */
export interface Costed extends Measurement {
  nodeSeconds: number
  postgresSeconds: number
}

export type Measure = (seconds: number) => Promise<Costed>

/** Runs all actions side by side, each again as soon as it has ended, until the time is up. Throws what they throw. */
export const repeat = async (seconds: number, actions: (() => Promise<unknown>)[]): Promise<Measurement> => {
  const requestMilliseconds: number[] = []
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  const repeatOne = async (action: () => Promise<unknown>): Promise<void> => {
    for (let begun = start; begun < start + seconds * 1000; ) {
      await action()
      const now = performance.now()
      requestMilliseconds.push(now - begun)
      begun = now
    }
  }
  await Promise.all(actions.map(repeatOne))
  const { user, system } = process.cpuUsage(cpuBefore)
  return { seconds: (performance.now() - start) / 1000, requestMilliseconds, cpuSeconds: (user + system) / 1_000_000 }
}
