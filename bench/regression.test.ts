import t from 'tap'
import { lastRelease, skipWithoutRelease } from '../dev/last-release.ts'
import { createChance } from '../test/chance.ts'
import { compareWithCommit, isSlower, measureUntilSure, type Ratios } from './regression.ts'

const ratios = (perSecond: number, perCpuSecond: number): Ratios => ({ perSecond, perCpuSecond })

t.test('code is slower if most rounds show less throughput and more CPU, or far less throughput alone', async t => {
  t.equal(isSlower([ratios(0.6, 0.7), ratios(0.7, 0.6), ratios(0.8, 0.8)]), true)
  t.equal(isSlower([ratios(0.6, 0.98), ratios(0.7, 1), ratios(0.5, 0.97)]), false, 'a busy machine')
  t.equal(isSlower([ratios(0.5, 1), ratios(0.4, 1), ratios(0.5, 1)]), true, 'the code waits')
  t.equal(isSlower([ratios(1, 0.7), ratios(1.1, 0.6), ratios(0.9, 0.8)]), false)
  t.equal(isSlower([ratios(0.7, 0.7)], 0.75), false, 'a lower share is accepted')
  const split = (low: number) => Array.from({ length: 21 }, (_, n) => (n < low ? ratios(0.8, 0.8) : ratios(1, 1)))
  t.equal(isSlower(split(15)), false, 'may be chance')
  t.equal(isSlower(split(16)), true)
})

t.test('measures until the fast rounds lead by two or the verdict is settled, in alternating order', async t => {
  const orders: boolean[] = []
  const play = async (...speeds: number[]): Promise<number> =>
    (
      await measureUntilSure(async isReversed => {
        orders.push(isReversed)
        const speed = speeds.shift() ?? 0.5
        return ratios(speed, speed)
      })
    ).length
  t.equal(await play(1, 1), 2)
  t.equal(await play(0.5, 1, 1, 1), 4)
  t.equal(await play(0.5, 0.5, 1, 1, 1, 1), 6)
  t.equal(await play(), 16, 'with 16 low rounds the rest cannot save it')
  t.equal(await play(...Array.from({ length: 21 }, (_, n) => n % 2 || 0.5)), 12, 'with 6 others it cannot fail')
  t.same(orders.slice(0, 3), [false, true, false])
})

t.test('finds slow code and spares fast code, also on a busy machine', async t => {
  const chance = createChance(7)
  /** Returns a factor around 1, with this standard deviation of its logarithm. */
  const noise = (deviation: number): number =>
    Math.exp(deviation * Math.sqrt(-2 * Math.log(1 - chance())) * Math.cos(2 * Math.PI * chance()))
  const countFailures = async (speed: number, perSecond: number, perCpuSecond: number): Promise<number> => {
    let failures = 0
    for (let run = 0; run < 500; run++)
      if (isSlower(await measureUntilSure(async () => ratios(speed * noise(perSecond), speed * noise(perCpuSecond)))))
        failures++
    return failures
  }
  t.ok((await countFailures(0.7, 0.1, 0.05)) > 490, 'slow code')
  t.ok((await countFailures(0.6, 0.25, 0.1)) > 450, 'slower code on a busy machine')
  t.equal(await countFailures(1, 0.1, 0.05), 0, 'fast code')
  t.ok((await countFailures(1, 0.4, 0.1)) < 5, 'fast code on a busy machine')
})

t.test('this code is not slower than the last release', { skip: skipWithoutRelease }, async t => {
  const cleanUps = new AsyncDisposableStack()
  t.teardown(() => cleanUps.disposeAsync())
  for (const { sentence, isSlower } of await compareWithCommit(lastRelease ?? '', cleanUps)) {
    t.comment(sentence)
    t.notOk(isSlower, sentence)
  }
})
