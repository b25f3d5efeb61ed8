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
  const { start, stop } = createHousekeeping(pool, pino({ level: 'silent' }), [deletion], 0.01)
  start()
  await ran.promise
  await stop()
})

t.test('stop ends a run after the deletion in progress, however many rows are left', async t => {
  const { database } = await build(t)
  const pool = createPool({ url: database.url, name: 'housekeeping', connections: 1 })
  t.teardown(() => pool.end())
  let deletions = 0
  const third = Promise.withResolvers<void>()
  const deletion = async () => {
    deletions++
    if (deletions === 3) third.resolve(stop())
    if (deletions > 50) throw new Error('the run went on after stop')
    return 1
  }
  const { start, stop } = createHousekeeping(pool, pino({ level: 'silent' }), [deletion], 0)
  start()
  await third.promise
  t.equal(deletions, 3)
})

t.test('a failed deletion does not stop the others', async t => {
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
