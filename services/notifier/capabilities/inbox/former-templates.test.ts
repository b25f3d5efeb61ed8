import t from 'tap'
import { syncTemplates } from '../../core/templates/sync.ts'
import { until } from '../../test/fixture.ts'
import { standIn } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'

const wabaId = 'waba'
const listed = (text: string) => ({
  name: 'order_delivered',
  language: 'en_US',
  status: 'APPROVED',
  category: 'UTILITY',
  parameter_format: 'POSITIONAL',
  components: [
    { type: 'BODY', text },
    { type: 'FOOTER', text: 'Demo Couriers' },
  ],
})
const parameters = ['Nimali', 'DM00000001'].map(text => ({ type: 'text', text }))
const template = {
  name: 'order_delivered',
  language: { code: 'en_US' },
  components: [{ type: 'body', parameters }],
}

t.test('staff read a message as its customer did, after its template has changed and left the catalogue', async t => {
  const { client } = await standIn(t, {})
  const { pool, call, queue, rows } = await build(t, undefined, client, { wabaId })
  const sync = (...templates: object[]) =>
    syncTemplates(pool, 'demo', wabaId, async () => ({ kind: 'received', value: templates, servedVersion: null }))
  const send = async (more: object = {}) => {
    const body = { to: '+94770000101', waybill_number: 'DM00000001', template, ...more }
    return (await call('POST', '/api/messages', body)).body.data.id
  }
  const readThread = async () => (await call('GET', '/api/conversations/+94770000101/messages')).body.data
  const readBody = async (id: string) =>
    (await readThread()).find((message: { id: string }) => message.id === id).rendered?.body
  await sync(listed('Hello {{1}}, {{2}} was delivered.'))
  const sent = await send()
  queue.start()
  await until('it is accepted', async () => (await rows(`select from messages where status = 'accepted'`))[0])
  await queue.stop()
  const waiting = await send({ send_at: new Date(Date.now() + 3_600_000).toISOString() })

  await sync(listed('{{1}}: {{2}} is there!'))
  t.match(await readThread(), [
    { id: waiting, rendered: { body: 'Nimali: DM00000001 is there!', footer: 'Demo Couriers', buttons: [] } },
    { id: sent, type: 'template', text: null, rendered: { body: 'Hello Nimali, DM00000001 was delivered.' } },
  ])
  await sync(listed('{{1}}: {{2}} is there!'))
  t.equal((await rows('select from former_templates')).length, 1, 'a sync without a change keeps nothing')

  await sync()
  t.equal(await readBody(sent), 'Hello Nimali, DM00000001 was delivered.')
  t.equal(await readBody(waiting), undefined, 'nobody knows how a message without a template will read')
  await call('POST', `/api/messages/${waiting}/cancel`)
  await sync(listed('{{2}}'))
  const { timeline } = (await call('GET', '/api/timeline/DM00000001')).body.data
  t.match(
    timeline.filter(({ message_id: id }: { message_id: string }) => id === sent),
    ['accepted', 'queued'].map(status => ({ status, rendered: { body: 'Hello Nimali, DM00000001 was delivered.' } })),
  )
})
