import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { type Service, stopService } from './run-service.ts'

t.test('what fails to stop is logged, and everything else stops in its phase', async t => {
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
