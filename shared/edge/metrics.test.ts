import Fastify from 'fastify'
import { Gauge, Registry } from 'prom-client'
import t from 'tap'
import { serveMetrics } from './metrics.ts'

t.test('fifty simultaneous scrapes collect at most twice, and each includes everything before it', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const registry = new Registry()
  let [collections, events] = [0, 0]
  new Gauge({
    name: 'events',
    help: 'A gauge of the test.',
    registers: [registry],
    collect() {
      collections++
      this.set(events)
    },
  })
  serveMetrics(app, registry)
  const scrape = async (): Promise<number> =>
    Number(/^events (.*)$/m.exec((await app.inject({ path: '/metrics' })).body)?.[1])

  const all = await Promise.all(Array.from({ length: 50 }, scrape))
  t.ok(all.every(value => value === 0))
  t.ok(collections <= 2, `${collections} collections`)
  for (events = 1; events < 4; events++) t.equal(await scrape(), events, 'a later scrape')
})

t.test('a collection that fails is tried again', async t => {
  const app = Fastify()
  t.teardown(() => app.close())
  const registry = new Registry()
  let isBroken = true
  new Gauge({
    name: 'broken',
    help: 'A gauge of the test.',
    registers: [registry],
    collect() {
      if (isBroken) throw new Error('broken')
    },
  })
  serveMetrics(app, registry)
  t.equal((await app.inject({ path: '/metrics' })).statusCode, 500)
  isBroken = false
  t.equal((await app.inject({ path: '/metrics' })).statusCode, 200)
})
