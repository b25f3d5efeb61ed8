import t from 'tap'
import { drawTimeline, type Sample } from './timeline.ts'

const ms = 1_000_000

/** A sample every 20 ms: half of a core for the event loop, one connection of two with a whole core. */
const sampleAt = (window: number): Sample => ({
  at: window * 20,
  loop: window * 10 * ms,
  loopWaits: 0,
  threads: 0,
  postgres: [window * 20 * ms, 0],
  others: 0,
  writes: window * 20,
})

t.test('a timeline has a mark for each window, and the mean', async t => {
  const lines = drawTimeline([0, 1, 2, 3].map(sampleAt)).split('\n')
  const line = (name: string) => lines.find(each => each.startsWith(name))
  t.match(line('event loop, of a core'), /▄▄▄ 0\.50$/)
  t.match(line('Postgres, of two cores'), /▄▄▄ 1\.00$/)
  t.match(line('busy connections'), /▁▁▁ 1\.00$/)
  t.match(line('neither, of two cores'), /▂▂▂ 0\.50$/)
  t.match(line('socket writes per ms'), / 1\.00$/)
})

t.test('of a longer time the fifty windows with the most writes are shown', async t => {
  const idle = Array.from({ length: 30 }, (_, window) => ({ ...sampleAt(0), at: window * 20 }))
  const busy = Array.from({ length: 61 }, (_, window) => ({ ...sampleAt(window), at: (30 + window) * 20 }))
  const [loop = ''] = drawTimeline([...idle, ...busy]).split('\n')
  t.match(loop, /▄{50} 0\.50$/)
})
