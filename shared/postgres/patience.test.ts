import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import t, { type Test } from 'tap'
import { startProxy } from '../../dev/tcp-proxy.ts'
import { cloneDatabase } from '../../dev/test-database.ts'
import { openPool } from '../cli/operator-commands.ts'
import { createPool, inTenant, isUnavailable, readInTenant } from './database.ts'

const open = async (t: Test, connections: number) => {
  const { url } = await cloneDatabase(t, 'orders')
  const address = new URL(url)
  const proxy = await startProxy({ host: address.hostname, port: Number(address.port) })
  address.host = `127.0.0.1:${proxy.port}`
  const pool = createPool({ url: address.href, name: 'patient', connections })
  t.teardown(() => pool.end().then(proxy.close))
  return { pool, proxy }
}

/** Stops this process as a machine without a free processor does: nothing is read meanwhile. */
const stall = (milliseconds: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

/** Returns the error and the seconds until it was thrown. */
const fail = async (action: () => Promise<unknown>) => {
  const since = performance.now()
  const error = await action().then(
    () => undefined,
    error => error,
  )
  return { error, seconds: (performance.now() - since) / 1000 }
}

t.test('waits for a slow handshake as long as it makes progress', async t => {
  const { pool, proxy } = await open(t, 3)
  proxy.trouble = { kind: 'slow', milliseconds: 450 }
  const since = performance.now()
  const waiting = Array.from({ length: 6 }, () => pool.query('select 1'))
  t.equal((await Promise.all(waiting)).length, 6)
  t.ok(performance.now() - since > 2_500, 'the handshake alone took longer than a silent connection may')
})

t.test('notices a silent peer in two seconds: at the first byte, within a handshake, and for all who wait', async t => {
  const { pool, proxy } = await open(t, 2)
  const failAll = () => Promise.all(Array.from({ length: 5 }, () => fail(() => pool.query('select 1'))))
  const check = (failures: Awaited<ReturnType<typeof failAll>>, most: number) => {
    for (const { error, seconds } of failures) {
      t.ok(isUnavailable(error), String(error))
      t.ok(seconds < most, `${seconds} s`)
    }
  }
  proxy.trouble = { kind: 'black_hole' }
  check(await failAll(), 3)
  proxy.trouble = { kind: 'slow', milliseconds: 200 }
  const failing = failAll()
  await delay(700)
  proxy.trouble = { kind: 'black_hole' }
  check(await failing, 4)
  proxy.trouble = undefined
  t.equal((await pool.query('select 1')).rowCount, 1)
})

t.test('waits for a busy pool and a busy tenant as long as others get their connections', async t => {
  const { pool } = await open(t, 1)
  const slow = { text: 'select pg_sleep(0.5)' }
  const queries = Array.from({ length: 3 }, () => pool.query(slow))
  const reads = Array.from({ length: 3 }, () => readInTenant(pool, 'demo', slow))
  t.equal((await Promise.all([...queries, ...reads])).length, 6)
})

t.test('a command waits for its own statements, however long they take', async t => {
  const { url } = await cloneDatabase(t, 'orders')
  const pause = (pool: pg.Pool) => pool.query('select pg_sleep(2.4)')
  const results = await openPool('test', () => url)(pool => Promise.all(Array.from({ length: 3 }, () => pause(pool))))
  t.equal(results.length, 3)
})

t.test('does not take a stall of this process for silence', async t => {
  const { pool } = await open(t, 1)
  const connecting = pool.query('select 1')
  await delay(1)
  stall(2_500)
  t.equal((await connecting).rowCount, 1)
  const reading = readInTenant(pool, 'demo', { text: 'select 1 as one' })
  await delay(1)
  stall(2_500)
  t.strictSame(await reading, [{ one: 1 }])
  const result = inTenant(pool, 'demo', async tx => {
    const rows = tx.rows('select 1 as one')
    stall(2_500)
    return rows
  })
  t.strictSame(await result, [{ one: 1 }])
})
