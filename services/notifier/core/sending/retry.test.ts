import t from 'tap'
import { findRetryWait, unknownMinutes } from './decide.ts'

const wait = (attempts: number, chance: number, retryAfter?: number): number | undefined =>
  findRetryWait(attempts, () => chance, retryAfter)

t.test('retries sends after 5 s, 30 s, 2 m, 10 m, 30 m, 2 h and 5 h, then no more', async t => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map(attempts => wait(attempts, 0))
  t.same(waits, [5, 30, 120, 600, 1_800, 7_200, 18_000, undefined])
})

t.test('jitter adds at most a fifth', async t => {
  for (const [index, seconds] of [5, 30, 120, 600, 1_800, 7_200, 18_000].entries()) {
    const longest = wait(index + 1, 0.999_999) ?? 0
    t.ok(longest > seconds * 1.19 && longest <= seconds * 1.2)
  }
})

t.test('a wait that the API requests is a minimum that never shortens the schedule', async t => {
  t.equal(wait(1, 0.5, 60), 60)
  t.equal(wait(4, 0, 60), 600)
})

t.test('returns no time before the first failed send or after the last retry', async t => {
  t.equal(wait(0, 0), undefined)
  t.equal(wait(99, 0), undefined)
})

t.test('expects a webhook for ten minutes after a send without a response', async t => {
  t.equal(unknownMinutes, 10)
})
