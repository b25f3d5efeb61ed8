import { LRUCache } from 'lru-cache'

const windowMilliseconds = 60_000

interface Count {
  wrong: number
  running: number
  /** When the wrong tries are forgotten. */
  endsAt: number
  waiting: (() => void)[]
}

export type Entry =
  /** `leave` tells how the try ended; it must be called. */
  { kind: 'entered'; leave: (wasWrong: boolean) => void } | { kind: 'too_many'; retryAfterSeconds: number }

/**
 * Lets through at most `max` wrong tries of one key in a minute, in the memory of this process. A right try does not
 * count. Tries that run at once may all be wrong: what would be one too many waits for the others' end.
 */
export const createWrongTries = (max: number, now: () => number = Date.now) => {
  const counts = new LRUCache<string, Count>({ max: 20_000 })

  const countOf = (key: string): Count => {
    const count = counts.get(key) ?? { wrong: 0, running: 0, endsAt: 0, waiting: [] }
    counts.set(key, count)
    return count
  }

  const leave = (count: Count, wasWrong: boolean): void => {
    count.running--
    if (wasWrong && count.wrong++ === 0) count.endsAt = now() + windowMilliseconds
    for (const resume of count.waiting.splice(0)) resume()
  }

  return async (key: string): Promise<Entry> => {
    const count = countOf(key)
    for (;;) {
      if (now() >= count.endsAt) count.wrong = 0
      if (count.wrong >= max) return { kind: 'too_many', retryAfterSeconds: Math.ceil((count.endsAt - now()) / 1000) }
      if (count.wrong + count.running < max) break
      await new Promise<void>(resume => count.waiting.push(resume))
    }
    count.running++
    return { kind: 'entered', leave: wasWrong => leave(count, wasWrong) }
  }
}

export type WrongTries = ReturnType<typeof createWrongTries>
