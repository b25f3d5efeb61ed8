import t from 'tap'
import type { BulkCall } from './order-calls.ts'
import { Broken } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const call = (name: string, ending: BulkCall['ending'], waybills: string[] = []): BulkCall => ({
  name,
  ending,
  waybills,
  orders: 2,
  status: 0,
  milliseconds: 1,
})

/** Checks two rows, W1 and W2 of batch a, against the log. */
const check = async (log: BulkCall[], rows: [order: string, waybill: string][], untold = 0) => {
  const broken = new Broken()
  const answer = (text: string) =>
    text.includes('not exists')
      ? [{ orders: untold }]
      : rows.map(([order_no, waybill_number]) => ({ order_no, waybill_number }))
  const figures = await checkStored(async text => answer(text), log, broken)
  return { ...figures, broken: broken.count }
}

const whole: [string, string][] = [
  ['a 0', 'W1'],
  ['a 1', 'W2'],
]

t.test('what was acknowledged or is in doubt may be stored, whole', async t => {
  t.match(await check([call('a', 'ok', ['W1', 'W2'])], whole), { acknowledged: 2, ok: 1, broken: 0 })
  t.match(await check([call('a', 'unknown')], whole), { unknown: 1, broken: 0 })
  t.match(await check([call('a', 'unknown'), call('b', 'failed')], []), { failed: 1, broken: 0 })
})

t.test('what is lost, in part, twice there or never asked for is told', async t => {
  t.match(await check([call('a', 'ok', ['W1', 'W2'])], []), { lost: 2, broken: 1 })
  t.match(await check([call('a', 'unknown')], whole.slice(1)), { partial: 1, broken: 1 })
  t.match(await check([call('a', 'ok', ['W1', 'W2'])], [...whole, ['a 0', 'W3'], ['a 1', 'W4']]), {
    doubled: 1,
    broken: 1,
  })
  t.match(await check([call('a', 'failed')], whole), { unasked: 1, broken: 1 })
  t.match(await check([], whole), { unasked: 1, broken: 1 })
  t.match(await check([call('a', 'ok', ['W1', 'W2'])], whole, 1), { broken: 1 })
})
