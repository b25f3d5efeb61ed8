import t from 'tap'
import type { BulkRequest } from './order-requests.ts'
import { Broken } from './promise.ts'
import { checkStored } from './stored-orders.ts'

const requested = (name: string, ending: BulkRequest['ending'], waybills: string[] = []): BulkRequest => ({
  name,
  ending,
  waybills,
  orders: 2,
  status: 0,
  milliseconds: 1,
})

/** Checks two rows, W1 and W2 of batch a, against the log. */
const check = async (log: BulkRequest[], rows: [order: string, waybill: string][], withoutTimeline = 0) => {
  const broken = new Broken()
  const respond = (text: string) =>
    text.includes('not exists')
      ? [{ orders: withoutTimeline }]
      : rows.map(([order_no, waybill_number]) => ({ order_no, waybill_number }))
  const counts = await checkStored(async text => respond(text), log, broken)
  return { ...counts, broken: broken.count }
}

const whole: [string, string][] = [
  ['a 0', 'W1'],
  ['a 1', 'W2'],
]

t.test('what was acknowledged or is in doubt may be stored, whole', async t => {
  t.match(await check([requested('a', 'ok', ['W1', 'W2'])], whole), { acknowledged: 2, ok: 1, broken: 0 })
  t.match(await check([requested('a', 'unknown')], whole), { unknown: 1, broken: 0 })
  t.match(await check([requested('a', 'unknown'), requested('b', 'failed')], []), { failed: 1, broken: 0 })
})

t.test('what is lost, in part, twice there or never requested is found', async t => {
  t.match(await check([requested('a', 'ok', ['W1', 'W2'])], []), { lost: 2, broken: 1 })
  t.match(await check([requested('a', 'unknown')], whole.slice(1)), { partial: 1, broken: 1 })
  t.match(await check([requested('a', 'ok', ['W1', 'W2'])], [...whole, ['a 0', 'W3'], ['a 1', 'W4']]), {
    doubled: 1,
    broken: 1,
  })
  t.match(await check([requested('a', 'failed')], whole), { unasked: 1, broken: 1 })
  t.match(await check([], whole), { unasked: 1, broken: 1 })
  t.match(await check([requested('a', 'ok', ['W1', 'W2'])], whole, 1), { broken: 1 })
})
