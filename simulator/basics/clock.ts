/** Runs actions later; `reset` forgets the planned ones. A planned action keeps no process alive. */
export const createClock = () => {
  const timers = new Set<NodeJS.Timeout>()
  return {
    after(delayMs: number, action: () => void): void {
      const run = () => {
        timers.delete(timer)
        action()
      }
      const timer = setTimeout(run, Math.ceil(delayMs / tickMs) * tickMs).unref()
      timers.add(timer)
    },
    planned: (): number => timers.size,
    reset(): void {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}
export type Clock = ReturnType<typeof createClock>

/** Node keeps a list for timers of the same duration: few durations make a hundred thousand timers cheap. */
const tickMs = 20
