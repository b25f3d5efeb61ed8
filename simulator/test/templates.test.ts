import t from 'tap'
import { accountId, build } from './build.ts'

const path = `/v17.0/${accountId}/message_templates`

t.test('the catalogue comes in pages', async t => {
  const { call } = await build(t)
  const names: string[] = []
  let after = ''
  for (let pages = 1; ; pages++) {
    const { body } = await call(`${path}?fields=name,status&limit=5${after}`)
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
  t.equal(new Set(names).size, 13)
})

t.test('a template has all its fields', async t => {
  const { call } = await build(t)
  const { body } = await call(`${path}?limit=1`)
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
})

t.test('refuses an invalid request for a catalogue', async t => {
  const { call, control } = await build(t)
  const getCode = async (query: string, options = {}) => (await call(`${path}${query}`, options)).body.error.code
  t.equal(await getCode('?after=nonsense'), 100)
  t.equal(await getCode('?limit=0'), 100)
  t.equal(await getCode('?fields=colour'), 100)
  t.equal(await getCode('?fields=name&fields=colour'), 100)
  t.equal(await getCode('', { token: null }), 200)
  t.equal(await getCode('', { token: 'unknown' }), 190)
  control.putToken({ access_token: 'sender', scopes: ['whatsapp_business_messaging'] })
  t.equal(await getCode('', { token: 'sender' }), 200)
  control.putNumber('200', { waba_id: '999' })
  t.equal((await call('/v17.0/999/message_templates')).body.error.code, 200)
  t.equal((await call('/v17.0/404/message_templates')).body.error.error_subcode, 33)
})
