import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createTurns } from '../catalogue/turns.ts'

t.test('of many at work one gets a turn in each round of the event loop, one after another', async t => {
  const turn = createTurns()
  const done: string[] = []
  const work = async (name: string) => {
    for (let slice = 1; slice <= 2; slice++) {
      await turn()
      done.push(`${name}${slice}`)
    }
  }
  const all = Promise.all(['a', 'b', 'c'].map(work))
  let most = 0
  for (let seen = 0; done.length < 6; seen = done.length) {
    await setImmediate()
    most = Math.max(most, done.length - seen)
  }
  await all
  t.equal(most, 1)
  t.strictSame(done, ['a1', 'b1', 'c1', 'a2', 'b2', 'c2'])
})
