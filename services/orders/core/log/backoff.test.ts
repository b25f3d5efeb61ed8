import t from 'tap'
import { backoffAfter } from './backoff.ts'

t.test('back-off doubles from half a second to half a minute; jitter takes off at most half', async t => {
  const failures = [1, 2, 3, 4, 5, 6, 7, 8, 2_000]
  const longest = [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]
  t.strictSame(
    failures.map(count => backoffAfter(count, () => 0)),
    longest,
  )
  t.strictSame(
    failures.map(count => backoffAfter(count, () => 1)),
    longest.map(milliseconds => milliseconds / 2),
  )
})
