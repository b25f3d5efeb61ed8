/** Actions that are planned for later. None of them keeps a process alive. */
export interface Clock {
  /** Runs `action` in `delayMs` or up to 20 ms later. */
  after(delayMs: number, action: () => void): void
  /** Returns how many actions are planned. */
  planned(): number
  /** Forgets all planned actions. */
  reset(): void
}

/** Node keeps one list for all timers of the same duration: few durations make a hundred thousand timers cheap. */
const tickMs = 20

export const createClock = (): Clock => {
  const timers = new Set<NodeJS.Timeout>()
  return {
    after(delayMs, action) {
      const timer = setTimeout(
        () => {
          timers.delete(timer)
          action()
        },
        Math.ceil(delayMs / tickMs) * tickMs,
      ).unref()
      timers.add(timer)
    },
    planned: () => timers.size,
    reset() {
      for (const timer of timers) clearTimeout(timer)
      timers.clear()
    },
  }
}
