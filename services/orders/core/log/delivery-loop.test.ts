import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { DeliveryLoop } from './delivery-loop.ts'

t.test('a key whose drain fails rests, and the other keys do not', async t => {
  const drains = { broken: 0, works: 0 }
  const loop = new DeliveryLoop<keyof typeof drains>({
    logger: pino({ level: 'silent' }),
    name: 'test',
    findWaiting: async () => [{ key: 'broken' }, { key: 'works' }],
    drain: async key => {
      drains[key]++
      await delay(5)
      if (key === 'broken') throw new Error('it fails')
    },
    identify: key => key,
    describe: key => ({ key }),
    concurrency: 2,
  })
  loop.start()
  while (drains.works < 20) await delay(5)
  await loop.stop()
  t.ok(drains.broken > 0 && drains.broken < 10, `${drains.broken} drains fail while ${drains.works} succeed`)
})
