/** The simulator's time, and what is planned for later. Nothing here keeps a process alive. */
export interface Clock {
  /** Milliseconds since 1970, plus what `advance` added. */
  now(): number
  /** Moves `now` forward without waiting, to outlive a 72 h limit; what is planned keeps its real delay. */
  advance(seconds: number): void
  /** Runs `action` in `delayMs`, give or take 20 ms; 0 is at once, after what runs now. */
  after(delayMs: number, action: () => void): void
  /** How many actions are planned. */
  planned(): number
  /** Forgets what is planned and what was advanced. */
  reset(): void
}

const tickMs = 20

/** One timer for everything planned: a timer for each of a hundred thousand statuses would cost more than they do. */
export const createClock = (): Clock => {
  let advancedMs = 0
  let planned = 0
  let timer: NodeJS.Timeout | undefined
  let reached = 0
  let epoch = 0
  const actions = new Map<number, (() => void)[]>()

  const stop = (): void => {
    clearInterval(timer)
    timer = undefined
  }
  const run = (): void => {
    const tick = Math.floor(performance.now() / tickMs)
    for (; reached <= tick; reached++) {
      const due = actions.get(reached) ?? []
      actions.delete(reached)
      planned -= due.length
      for (const action of due) action()
    }
    if (actions.size === 0) stop()
  }
  const runSoon = (action: () => void): void => {
    const before = epoch
    setImmediate(() => {
      if (before !== epoch) return
      planned -= 1
      action()
    })
  }
  const runAtTick = (tick: number, action: () => void): void => {
    if (!timer) {
      reached = Math.floor(performance.now() / tickMs)
      timer = setInterval(run, tickMs).unref()
    }
    const due = actions.get(tick)
    if (due) due.push(action)
    else actions.set(tick, [action])
  }

  return {
    now: () => Date.now() + advancedMs,
    advance: seconds => {
      advancedMs += seconds * 1000
    },
    after(delayMs, action) {
      planned += 1
      if (delayMs <= 0) runSoon(action)
      else runAtTick(Math.ceil((performance.now() + delayMs) / tickMs), action)
    },
    planned: () => planned,
    reset() {
      stop()
      actions.clear()
      planned = 0
      advancedMs = 0
      epoch += 1
    },
  }
}
