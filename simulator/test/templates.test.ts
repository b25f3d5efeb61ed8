import t from 'tap'
import { accountId, build, receiveWebhooks } from './build.ts'

const path = `/v17.0/${accountId}/message_templates`

t.test('the catalogue comes in pages', async t => {
  const { call } = await build(t)
  const names: string[] = []
  let after = ''
  for (let pages = 1; ; pages++) {
    const { body } = await call(`${path}?fields=name,status&limit=4${after}`)
    names.push(...body.data.map((template: { name: string }) => template.name))
    t.same(Object.keys(body.data[0]), ['id', 'name', 'status'])
    if (!body.paging.next) {
      t.equal(pages, 3)
      break
    }
    t.match(
      body.paging.next,
      new RegExp(`^http://127\\.0\\.0\\.1:\\d+/v21\\.0/${accountId}/message_templates\\?.*after=`),
    )
    after = `&after=${body.paging.cursors.after}`
  }
  t.equal(new Set(names).size, 9)
})

t.test('a template comes whole', async t => {
  const { call } = await build(t)
  const { body } = await call(`${path}?name=order_created`)
  t.match(body.data, [
    {
      name: 'order_created',
      language: 'en_US',
      status: 'APPROVED',
      category: 'UTILITY',
      parameter_format: 'POSITIONAL',
      components: [{ type: 'HEADER', format: 'TEXT', text: 'Parcel {{1}}' }, { type: 'BODY' }, { type: 'FOOTER' }],
    },
  ])
  t.notOk(body.paging.next)
})

t.test('the catalogue is filtered', async t => {
  const { call } = await build(t)
  const count = async (query: string) => (await call(`${path}?${query}`)).body.data.length
  t.equal(await count('status=PAUSED'), 1)
  t.equal(await count('category=MARKETING'), 1)
  t.equal(await count('language=si_LK'), 0)
})

t.test('what a catalogue refuses', async t => {
  const { call, control } = await build(t)
  const codeOf = async (query: string, options = {}) => (await call(`${path}${query}`, options)).body.error.code
  t.equal(await codeOf('?after=nonsense'), 100)
  t.equal(await codeOf('?limit=0'), 100)
  t.equal(await codeOf('?fields=colour'), 100)
  t.equal(await codeOf('', { token: null }), 200)
  t.equal(await codeOf('', { token: 'unknown' }), 190)
  control.putToken({ access_token: 'sender', scopes: ['whatsapp_business_messaging'] })
  t.equal(await codeOf('', { token: 'sender' }), 200)
  control.putNumber('200', { waba_id: '999' })
  t.equal((await call('/v17.0/999/message_templates')).body.error.code, 200)
  t.equal((await call('/v17.0/404/message_templates')).body.error.error_subcode, 33)
  const later = await call(`/v24.0/${accountId}/message_templates?after=nonsense`)
  t.equal(later.body.error.code, 131059)
})

t.test('a template event changes the template and is told', async t => {
  const callback = await receiveWebhooks(t)
  const { send, control } = await build(t, { behaviour: { webhook_url: callback.url } })
  control.templateEvent({ name: 'order_delivered', event: 'PAUSED', title: 'FIRST_PAUSE' })
  t.ok(await control.idle())
  t.match(callback.posts[0]?.body.entry[0], { id: accountId, time: Number })
  t.same(callback.changes(), [
    {
      field: 'message_template_status_update',
      value: {
        event: 'PAUSED',
        message_template_id: 1387372356726603,
        message_template_name: 'order_delivered',
        message_template_language: 'en-US',
        reason: 'NONE',
        message_template_category: 'UTILITY',
        other_info: { title: 'FIRST_PAUSE', description: 'FIRST_PAUSE' },
      },
    },
  ])
  t.equal((await send()).body.error.code, 132015)
  control.templateEvent({ name: 'order_delivered', event: 'REINSTATED' })
  t.equal((await send()).status, 200)
})

t.test('the id in an event is a number, with more digits than JavaScript keeps', async t => {
  const callback = await receiveWebhooks(t)
  const { control } = await build(t, { behaviour: { webhook_url: callback.url } })
  control.templateEvent({ name: 'pickup_reminder', event: 'DELETED' })
  t.ok(await control.idle())
  t.match(callback.posts[0]?.raw.toString(), '"message_template_id":13873723567266081,')
  t.notOk(control.accounts().templates.some(({ name }) => name === 'pickup_reminder'))
})
