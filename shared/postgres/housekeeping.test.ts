import { pino } from 'pino'
import t from 'tap'
import { build } from '../../services/orders/test/build.ts'
import { createPool } from './database.ts'
import { createHousekeeping } from './housekeeping.ts'

t.test('the first run comes soon after the start', async t => {
  const { database } = await build(t)
  const pool = createPool({ url: database.url, name: 'housekeeping', connections: 1 })
  t.teardown(() => pool.end())
  const ran = Promise.withResolvers<void>()
  const deletion = async () => {
    ran.resolve()
    return 0
  }
  const { start, stop } = createHousekeeping(pool, pino({ level: 'silent' }), [deletion], 10)
  start()
  // The timer of housekeeping keeps no process alive.
  const alive = setInterval(() => {}, 1_000)
  await ran.promise
  clearInterval(alive)
  await stop()
})

t.test('stop ends a run after the deletion in progress, however many rows are left', async t => {
  const { database } = await build(t)
  const pool = createPool({ url: database.url, name: 'housekeeping', connections: 1 })
  t.teardown(() => pool.end())
  let deletions = 0
  const { clean, stop } = createHousekeeping(pool, pino({ level: 'silent' }), [
    async () => {
      deletions++
      if (deletions === 3) void stop()
      if (deletions > 50) throw new Error('it went on')
      return 1
    },
  ])
  await clean()
  t.equal(deletions, 3)
})

t.test('a deletion that fails keeps no other from running', async t => {
  const { database } = await build(t)
  const pool = createPool({ url: database.url, name: 'housekeeping', connections: 1 })
  t.teardown(() => pool.end())
  let ran = 0
  const failing = async () => {
    throw new Error('statement timeout')
  }
  const next = async () => {
    ran++
    return 0
  }
  await createHousekeeping(pool, pino({ level: 'silent' }), [failing, next]).clean()
  t.equal(ran, 1)
})
