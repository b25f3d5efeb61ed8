import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { type Service, stopService, whenReachable } from './run-service.ts'

t.test('logs each failure to stop, and still stops everything else, in phases', async t => {
  const ended: string[] = []
  const logged: unknown[] = []
  const end = (name: string, milliseconds: number) => async () => {
    await delay(milliseconds)
    ended.push(name)
  }
  const fail = (message: string) => () => {
    throw new Error(message)
  }
  const service = {
    app: { close: fail('app') },
    workers: [
      { start: () => {}, stop: fail('worker') },
      { start: () => {}, stop: end('worker', 50) },
    ],
    clients: [{ close: fail('client') }, { close: end('client', 20) }],
    pool: { end: end('pool', 0) },
    logger: pino({}, { write: line => logged.push(JSON.parse(line)) }),
  }
  await t.rejects(stopService(service as unknown as Service), { message: 'app' })
  t.same(ended, ['worker', 'client', 'pool'])
  t.match(
    logged,
    ['app', 'worker', 'client'].map(message => ({ msg: 'process.stop_failed', err: { message } })),
  )
})

t.test('waits for Postgres until the deadline, and only while it cannot be reached', async t => {
  const waited: unknown[] = []
  const logger = { warn: (_fact: unknown, message: string) => waited.push(message) }
  const times = { longest: 0.2, between: 0.06 }
  let tries = 0
  const failing = (code: string, fails: number) => async () => {
    if (++tries <= fails) throw Object.assign(new Error('no'), { code })
    return 'done'
  }
  t.equal(await whenReachable(failing('ECONNREFUSED', 2), logger as never, times), 'done')
  t.equal(waited.length, 2)
  await t.rejects(whenReachable(failing('ECONNREFUSED', 99), logger as never, times), { code: 'ECONNREFUSED' })
  t.ok(tries < 10)
  tries = 0
  await t.rejects(whenReachable(failing('28P01', 99), logger as never, times), { code: '28P01' })
  t.equal(tries, 1)
})
