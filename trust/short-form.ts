import t from 'tap'
import { describe, seed, type TrustPromise } from './promise.ts'

/** The promise's short form as a test. */
export const testShortForm = (promise: TrustPromise): Promise<unknown> =>
  t.test(promise.promise, async t => {
    const report = (progress: string) => t.comment(progress)
    const outcome = await promise.run({ short: true, isTest: true, seed, report, teardown: clean => t.teardown(clean) })
    t.comment(describe(outcome))
    t.strictSame(outcome.broken, [])
  })
