import { type BulkheadPolicy, BulkheadRejectedError, bulkhead } from 'cockatiel'
import { httpError } from '../errors/errors.ts'

type Task<Result> = () => Promise<Result>

/** Creates a bulkhead for each key and keeps it while the key has tasks. */
const createKeyed = (size: number, queueSize: number) => {
  const entries = new Map<string, { policy: BulkheadPolicy; tasks: number }>()
  return async <Result>(key: string, task: Task<Result>): Promise<Result> => {
    const entry = entries.get(key) ?? { policy: bulkhead(size, queueSize), tasks: 0 }
    entries.set(key, entry)
    entry.tasks++
    try {
      return await entry.policy.execute(task)
    } finally {
      if (--entry.tasks === 0) entries.delete(key)
    }
  }
}

/**
 * Creates a function that runs a task once the task has passed the bulkhead of its key at each level, first to last. A
 * key queues at its own level, so the queue of the next level holds few tasks of any key. Throws BulkheadRejectedError
 * when `queueSize` others wait.
 */
export const createBulkheads = <Level extends string>(sizes: Record<Level, number>, queueSize: number) => {
  const levels = (Object.keys(sizes) as Level[]).map(level => ({ level, run: createKeyed(sizes[level], queueSize) }))
  return <Result>(keys: Record<Level, string>, task: Task<Result>): Promise<Result> =>
    levels.reduceRight<Task<Result>>(
      (inner, { level, run }) =>
        () =>
          run(keys[level], inner),
      task,
    )()
}

/** Throws a 503 with this sentence when too many requests wait, otherwise the error itself. Use it in `catch`. */
export const refuseBusy =
  (sentence: string) =>
  (error: unknown): never => {
    throw error instanceof BulkheadRejectedError ? httpError('unavailable', sentence, { retryAfterSeconds: 2 }) : error
  }
