import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { commands } from '../../test/command-line.ts'
import { standIn } from '../../test/orders-stand-in.ts'
import { demoFile } from '../../test/rules-of-demo.ts'
import type { Tx } from '../database/tables.ts'

const delivered = ['send', '--tenant', 'demo', '--template', 'order_delivered', '--language', 'en_US']

const prepare = async (t: Test) => {
  const { url: ordersUrl, state } = await standIn(t, {})
  const { notifier, save, url } = await commands(t, { ORDERS_URL: ordersUrl })
  const applied = await notifier('apply', save(demoFile()))
  if (applied.status !== 0) throw new Error(applied.stderr)
  const pool = createPool({ url, name: 'test', connections: 1 })
  t.teardown(() => pool.end())
  const stored = () =>
    inTenant(pool, 'demo', async (tx: Tx) => (await tx.client.query('select * from messages order by message_id')).rows)
  return { notifier, state, stored }
}

t.test('queues a message about a waybill, with the fields of its order', async t => {
  const { notifier, stored } = await prepare(t)
  const words = ['--waybill', 'DM00000001', '--body', '{{customer_name}}', '--body', '{{waybill_number}}']
  const told = await notifier(...delivered, ...words, '--header', 'For {{business_name}}')
  t.same([told.status, told.stderr], [0, ''])
  t.match(told.stdout, /^msg_\w{25} is queued\.\n$/)
  const json = await notifier(...delivered, '--to', '0770000199', '--body', 'a', '--body', 'b', '--json')
  t.match(JSON.parse(json.stdout), { id: /^msg_/, status: 'queued' })
  const [first, second] = await stored()
  t.match(first, { recipient: '94770000101', waybill_number: 'DM00000001', status: 'queued' })
  t.same(first.template.components, [
    { type: 'header', parameters: [{ type: 'text', text: 'For Lanka Shoes Online' }] },
    {
      type: 'body',
      parameters: [
        { type: 'text', text: 'Nimali Perera' },
        { type: 'text', text: 'DM00000001' },
      ],
    },
  ])
  t.match(second, { recipient: '94770000199', waybill_number: null })
})

t.test('every error names its field, as text and as JSON', async t => {
  const { notifier, stored } = await prepare(t)
  const unknown = await notifier(...delivered, '--waybill', 'DM404')
  t.same([unknown.status, unknown.stdout], [1, ''])
  t.match(unknown.stderr, /^The message was not queued:\n {2}waybill_number: The requested waybill does not exist/)
  const json = await notifier(...delivered, '--to', 'x', '--channel', '9', '--json')
  t.equal(json.status, 1)
  t.same(Object.keys(JSON.parse(json.stdout).errors).sort(), ['channel', 'to'])
  const field = await notifier(...delivered, '--waybill', 'DM00000001', '--body', '{{phone}}')
  t.match(field.stderr, /template\.components\.0\.parameters\.0\.text: An order has no field \{\{phone\}\}/)
  const empty = await notifier(...delivered, '--to', '0770000101', '--body', '')
  t.match(empty.stderr, /template\.components\.0\.parameters\.0\.text: The text field is required/)
  t.same(await stored(), [])
})

t.test('the errors for an unknown tenant, a missing option and unavailable orders name the remedy', async t => {
  const { notifier, state, stored } = await prepare(t)
  const [, , , ...rest] = delivered
  const stranger = await notifier('send', '--tenant', 'rival', ...rest, '--to', '0770000101')
  t.same([stranger.status, stranger.stderr], [1, 'notifier: there is no tenant rival; there are: demo\n'])
  const short = await notifier('send', '--tenant', 'demo')
  t.equal(short.status, 1)
  t.match(short.stderr, /required option '--template <name>' not specified/)
  state.isBroken = true
  const away = await notifier(...delivered, '--waybill', 'DM00000001')
  t.equal(away.status, 1)
  t.match(away.stderr, /^notifier: orders cannot look up the waybill: start it, or check ORDERS_URL/)
  t.same(await stored(), [])
})
