import t from 'tap'
import { ThroughputEstimate } from './claim-ahead.ts'

/** Creates an estimate, with a response at each of these times. */
const createEstimate = (...times: number[]): ThroughputEstimate => {
  const estimate = new ThroughputEstimate()
  for (const time of times) estimate.recordResponse(time)
  return estimate
}

/** Returns the responses expected during a claim that takes `milliseconds`. */
const within = (estimate: ThroughputEstimate, milliseconds: number, now: number): number => {
  estimate.recordClaim(milliseconds)
  return estimate.expectDuringClaim(now)
}

t.test('expects nothing before the first response', async t => {
  const estimate = new ThroughputEstimate()
  t.strictSame([within(estimate, 1_000, 50), within(estimate, 1_000, 1_000)], [0, 0])
  t.equal(createEstimate(1_000).expectDuringClaim(1_000), 0, 'nothing was claimed')
})

t.test('expects responses at the rate of a tenth of a second, rounded up', async t => {
  const three = [1_000, 1_010, 1_099]
  t.strictSame(
    [100, 50, 250, 1].map(milliseconds => within(createEstimate(...three), milliseconds, 1_099)),
    [3, 2, 8, 1],
  )
})

t.test('the busier of this tenth of a second and the one before counts', async t => {
  const expected = (now: number, ...times: number[]) => within(createEstimate(...times), 100, now)
  const three = [1_000, 1_010, 1_099]
  t.equal(expected(1_100, ...three), 3, 'now a slot begins')
  t.equal(expected(1_150, ...three, 1_140), 3)
  t.equal(expected(1_150, ...three, 1_140, 1_141, 1_142, 1_143), 4)
  t.equal(expected(1_199, ...three), 3)
  t.equal(expected(1_240, ...three, 1_140), 1, 'the slot before had one response')
  t.equal(expected(1_200, ...three), 0, 'a slot without a response')
})

t.test('the first tenth of a second begins at 0', async t => {
  t.equal(within(createEstimate(50, 100), 100, 100), 1)
  t.equal(within(createEstimate(50, 60, 70, 100), 100, 199), 3)
})

t.test('expects responses while messages are claimed; forgets a slow claim gradually', async t => {
  const estimate = createEstimate(...Array.from({ length: 10 }, () => 1_000))
  const expected = () => estimate.expectDuringClaim(1_000)
  estimate.recordClaim(100)
  t.equal(expected(), 10)
  estimate.recordClaim(10)
  t.equal(expected(), 9)
  estimate.recordClaim(85)
  t.equal(expected(), 9)
  estimate.recordClaim(200)
  t.equal(expected(), 20)
})
