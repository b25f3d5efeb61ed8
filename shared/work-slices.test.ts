import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { createSlices } from './work-slices.ts'

t.test('each round of the event loop gives one of many tasks a slice, in turn', async t => {
  const nextSlice = createSlices()
  const done: string[] = []
  const work = async (name: string) => {
    for (let slice = 1; slice <= 2; slice++) {
      await nextSlice()
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
