import t from 'tap'
import { processEvents } from '../services/notifier/core/events/process.ts'
import { orderEvent } from '../services/notifier/test/orders-stand-in.ts'
import { giveRules } from '../services/notifier/test/rules-of-demo.ts'
import { startConsole } from './console.ts'

t.test('a merchant sees the statuses of the messages about a parcel, without texts and phone numbers', async t => {
  const { orders, notifier } = await startConsole(t)
  await giveRules(notifier.pool)
  const [waybill = '', silent] = await orders.book(2)
  await processEvents(notifier.pool, { tenant: 'demo', events: [orderEvent('a', { waybill_number: waybill })] })
  const read = (path: string, token = orders.token) => orders.request(`/order/${path}/messages`, undefined, { token })

  const { status, body } = await read(waybill)
  t.equal(status, 200)
  t.match(body.data[0].at, /^20\d\d-.*Z$/)
  t.strictSame(body.data, [{ template: 'order_created', status: 'queued', at: body.data[0].at }])
  const { message_id } = (await notifier.rows('select message_id from messages'))[0]
  await notifier.call('POST', `/api/messages/${message_id}/cancel`)
  t.match((await read(waybill.toLowerCase())).body.data, [{ template: 'order_created', status: 'cancelled' }])
  t.strictSame((await read(silent ?? '')).body, { data: [] })

  t.match(await read('DM99999999'), { status: 404 })
  t.match(
    await read(waybill, await orders.createToken('books@example.com')),
    { status: 404 },
    "another merchant's parcel",
  )
  const { token } = notifier
  const inside = await notifier.app.inject({
    url: `/internal/messages/demo/${waybill}`,
    headers: { authorization: `Bearer ${token}`, 'x-tenant': 'demo' },
  })
  t.equal(inside.statusCode, 401, 'a staff token is not accepted in place of the service token')

  await notifier.app.close()
  t.match(await read(waybill), {
    status: 503,
    body: { code: 'unavailable', message: 'The messages cannot be read now.' },
  })
  t.equal((await orders.request(`/order/${waybill}`)).status, 200, 'the parcel itself can still be read')
})
