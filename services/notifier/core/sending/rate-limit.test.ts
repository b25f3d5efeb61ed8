import fc from 'fast-check'
import t from 'tap'
import { computeRate, countTokens, slowDown, type TokenBucket } from './rate-limit.ts'

const start = new Date('2026-11-21T00:00:00Z')
const after = (milliseconds: number): Date => new Date(start.getTime() + milliseconds)
const createBucket = (rate: number, more: Partial<TokenBucket> = {}): TokenBucket => ({
  rate,
  tokens: 0,
  at: start,
  slowedRate: null,
  slowedAt: null,
  ...more,
})

/** Returns the time at which each message leaves, if messages are wanted after these gaps. */
const departures = (rate: number, gaps: readonly { gap: number; wanted: number }[]): number[] => {
  const left: number[] = []
  let bucket = createBucket(rate)
  let at = 0
  for (const { gap, wanted } of gaps) {
    at += gap
    const allowed = countTokens(bucket, after(at))
    const sent = Math.min(Math.floor(allowed), wanted)
    bucket = { ...bucket, tokens: allowed - sent, at: after(at) }
    for (let n = 0; n < sent; n++) left.push(at)
  }
  return left
}

const countPerSecond = (times: readonly number[]): number =>
  times.reduce((most, from, index) => {
    const beyond = times.findIndex(time => time >= from + 1_000)
    return Math.max(most, (beyond === -1 ? times.length : beyond) - index)
  }, 0)

const gap = fc.record({ gap: fc.integer({ min: 0, max: 400 }), wanted: fc.integer({ min: 0, max: 200 }) })

t.test('stays within the rate in every one-second interval, wherever it begins', async t => {
  const property = fc.property(
    fc.integer({ min: 1, max: 300 }),
    fc.array(gap, { minLength: 1, maxLength: 120 }),
    (rate, gaps) => countPerSecond(departures(rate, gaps)) <= rate,
  )
  t.doesNotThrow(() => fc.assert(property, { numRuns: 500, seed: 7 }))
})

t.test('a number with a constant backlog sends nearly its rate', async t => {
  const everyTen = Array.from({ length: 1_000 }, () => ({ gap: 10, wanted: 1_000 }))
  t.ok(departures(80, everyTen).length >= 750, 'in ten seconds')
  t.ok(departures(1, everyTen).length >= 5, 'at a rate of one a second, at least one every two seconds')
})

t.test('a clock that goes back adds no tokens', async t => {
  t.equal(countTokens(createBucket(80, { tokens: 2 }), after(-5_000)), 2)
})

t.test('a slowed rate doubles every ten seconds until the number’s own is reached', async t => {
  const slowed = createBucket(80, { slowedRate: 10, slowedAt: start })
  const rates = [0, 9, 10, 20, 30, 40, 100_000].map(seconds => computeRate(slowed, after(seconds * 1_000)))
  t.same(rates, [10, 10, 20, 40, 80, 80, 80])
})

t.test('a bucket holds a twentieth of a second’s messages, but at least one', async t => {
  const later = after(60_000)
  t.strictSame(
    [1, 20, 30, 80, 1_000].map(rate => countTokens(createBucket(rate), later)),
    [1, 1, 1.5, 4, 50],
  )
  t.equal(countTokens(createBucket(80, { tokens: 1 }), after(10)), 1 + 0.01 * 76)
  t.equal(countTokens(createBucket(1), after(500)), 0.25)
})

t.test('a lowered rate applies only with its start time', async t => {
  t.equal(computeRate(createBucket(80, { slowedAt: start }), after(1)), 80)
  t.equal(computeRate(createBucket(80, { slowedRate: 10 }), after(1)), 80)
})

t.test('slowing halves the current rate, down to one a second, with a rest of 1 to 5 s', async t => {
  t.strictSame(
    slowDown(createBucket(80), start, () => 0),
    { slowedRate: 40, restSeconds: 1 },
  )
  t.equal(slowDown(createBucket(80), start, () => 1).restSeconds, 5)
  const again = createBucket(80, { slowedRate: 40, slowedAt: start })
  t.equal(slowDown(again, after(10), () => 0).slowedRate, 20)
  t.equal(slowDown(createBucket(1), start, () => 0).slowedRate, 1)
})
