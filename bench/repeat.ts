/** What a process did in one measurement. */
export interface Measurement {
  /** From the start to the end of the last call. */
  seconds: number
  /** One for each call, in the order in which they ended. */
  callMilliseconds: number[]
  /** CPU that the measuring process itself took. */
  cpuSeconds: number
}

/** Repeats each action, one call at a time and all actions side by side, until the time is up. Throws what they throw. */
export const repeatFor = async (seconds: number, actions: (() => Promise<unknown>)[]): Promise<Measurement> => {
  const callMilliseconds: number[] = []
  const cpuBefore = process.cpuUsage()
  const start = performance.now()
  const end = start + seconds * 1000
  const repeat = async (action: () => Promise<unknown>): Promise<void> => {
    for (let begun = start; begun < end; ) {
      await action()
      const now = performance.now()
      callMilliseconds.push(now - begun)
      begun = now
    }
  }
  await Promise.all(actions.map(repeat))
  const stop = performance.now()
  const { user, system } = process.cpuUsage(cpuBefore)
  return { seconds: (stop - start) / 1000, callMilliseconds, cpuSeconds: (user + system) / 1_000_000 }
}
