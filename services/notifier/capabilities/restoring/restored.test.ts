import t from 'tap'
import { orderEvent, standIn } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { giveRules, perPerson } from '../../test/rules-of-demo.ts'
import { markRestored } from './restored.ts'

t.test('after a restore, messages of a window that may have left are unknown', async t => {
  const { client } = await standIn(t)
  const { pool, queue, control, rows, deliver } = await build(t, undefined, client)
  await giveRules(pool, [perPerson])
  for (const waybill_number of ['P1', 'P2'])
    await deliver(orderEvent(waybill_number, { waybill_number, status_key: 'key_12' }, 'order.status_changed'))
  await markRestored(pool, new Date(Date.now() + 60_000), false)
  await rows(`update messages set due_at = now(), send_at = now()`)
  queue.start()
  await new Promise(resolve => setTimeout(resolve, 500))
  t.same(control.messages(), [])
  t.same(await rows('select waybill_number, status from messages order by waybill_number'), [
    { waybill_number: 'P1', status: 'unknown' },
    { waybill_number: 'P2', status: 'unknown' },
  ])
})
