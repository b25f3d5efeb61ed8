import t from 'tap'
import type { Dispatcher } from 'undici'
import { Exchange } from './exchange.ts'

const controller = (onAbort: () => void): Dispatcher.DispatchController => ({
  aborted: false,
  paused: false,
  reason: null,
  abort: onAbort,
  pause: () => {},
  resume: () => {},
})

t.test('stops a request that is about to be written a second time; its outcome stays unknown', async t => {
  let aborts = 0
  const exchange = new Exchange(1_000)
  exchange.onRequestStart(controller(() => aborts++))
  t.equal(aborts, 0)
  const second = controller(() => {
    aborts++
    exchange.onResponseError(second, new Error('aborted'))
  })
  exchange.onRequestStart(second)
  t.equal(aborts, 1)
  t.same(await exchange.result, { kind: 'no_response', reason: 'failure of the connection' })
})

t.test('stops a request that expired while it waited, before it is written', async t => {
  let aborts = 0
  const exchange = new Exchange(10)
  t.same(await exchange.result, { kind: 'not_written', reason: 'no connection in time' })
  exchange.onRequestStart(controller(() => aborts++))
  t.equal(aborts, 1)
})
