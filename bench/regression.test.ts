import t from 'tap'
import { lastRelease, skipWithoutRelease } from '../dev/last-release.ts'
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

t.test('adds rounds while the code looks slower, up to 21, and reverses the order in every second round', async t => {
  const orders: boolean[] = []
  const play = async (...speeds: number[]): Promise<number> =>
    (
      await measureUntilSure(async isReversed => {
        orders.push(isReversed)
        const speed = speeds.shift() ?? 0.5
        return ratios(speed, speed)
      })
    ).length
  t.equal(await play(0.5, 1, 1), 3)
  t.equal(await play(0.5, 0.5, 1, 1, 1, 1), 6)
  t.equal(await play(), 21)
  t.same(orders.slice(0, 3), [false, true, false])
})

t.test('this code is not slower than the last release', { skip: skipWithoutRelease }, async t => {
  const cleanUps = new AsyncDisposableStack()
  t.teardown(() => cleanUps.disposeAsync())
  for (const { sentence, isSlower } of await compareWithCommit(lastRelease ?? '', cleanUps)) {
    t.comment(sentence)
    t.notOk(isSlower, sentence)
  }
})
