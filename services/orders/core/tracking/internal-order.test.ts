import t from 'tap'
import { build, serviceToken } from '../../test/build.ts'
import { batch, order, snapshot } from '../../test/tenant.ts'

const { app, bulk, rows, token } = await build(t, { publicUrl: 'https://track.example/courier' })

const ask = async (tenant: string, waybill: string, authorization?: string) => {
  const headers = { authorization: authorization ?? `Bearer ${serviceToken}` }
  const response = await app.inject({ url: `/internal/orders/${tenant}/${waybill}`, headers })
  return { status: response.statusCode, body: response.json() }
}

t.test('the notifier reads an order, with its timeline newest first', async t => {
  const [waybill] = (await bulk(batch([order({ customer_secondary_phone: '0712223334' })]))).body.data
  await rows(
    `insert into order_events (tenant_id, waybill_number, status_key, staff_name, note)
      values ('demo', $1, 'key_2', null, null), ('demo', $1, 'key_9', 'Ruwan', 'shelf 4')`,
    [waybill],
  )
  await rows("update orders set status_key = 'key_9' where waybill_number = $1", [waybill])
  const { status, body } = await ask('demo', waybill)
  t.equal(status, 200)
  const { timeline, created_at, tracking_code, ...fields } = body.data
  t.strictSame(fields, {
    ...snapshot,
    waybill_number: waybill,
    status_key: 'key_9',
    status_name: 'RECEIVED TO ORIGIN WAREHOUSE',
    note: 'shelf 4',
    tracking_url: `https://track.example/courier/t/demo/${waybill}/${tracking_code}`,
    customer_secondary_phone: '0712223334',
  })
  t.match(created_at, /^\d{4}-\d\d-\d\dT.*Z$/)
  t.ok(timeline.every(({ at }: { at: string }) => /^\d{4}-\d\d-\d\dT.*Z$/.test(at)))
  t.strictSame(
    timeline.map(({ at, ...entry }: { at: string }) => entry),
    [
      ['key_9', 'RECEIVED TO ORIGIN WAREHOUSE', 'primary', 'Ruwan', 'shelf 4'],
      ['key_2', 'CONFIRMED', 'primary', null, null],
      ['key_1', 'DRAFT', 'secondary', null, null],
    ].map(([status_key, status_name, color, staff_name, note]) => ({
      status_key,
      status_name,
      color,
      staff_name,
      by: staff_name === null ? 'merchant' : 'staff',
      note,
    })),
  )
})

t.test('an unknown or malformed waybill or tenant gets 404', async t => {
  const [waybill] = (await bulk(batch())).body.data
  const unknown = {
    status: 404,
    body: { message: 'The requested waybill does not exist in the system', code: 'not_found' },
  }
  const malformed = ['%00', 'a%00b', '%27', '*', '%F0%9F%9A%9A', 'x'.repeat(200)]
  for (const text of ['DM99999999', ...malformed]) t.strictSame(await ask('demo', text), unknown, text)
  for (const text of ['other', ...malformed]) t.strictSame(await ask(text, waybill), unknown, text)
})

t.test('a wrong SERVICE_TOKEN gets 401, even for unknown orders', async t => {
  const [waybill] = (await bulk(batch())).body.data
  const wrong = [
    '',
    'Bearer',
    `Bearer ${token}`,
    `Bearer ${serviceToken}x`,
    `Bearer ${serviceToken.slice(1)}`,
    serviceToken,
  ]
  for (const authorization of wrong)
    for (const text of [waybill, 'DM99999999'])
      t.strictSame(await ask('demo', text, authorization), {
        status: 401,
        body: { message: 'Unauthenticated.', code: 'unauthenticated' },
      })
})

t.test('the OpenAPI document has the request and its credential', async t => {
  const { paths, components } = (await app.inject('/openapi.json')).json()
  t.strictSame(paths['/internal/orders/{tenant}/{waybill}'].get.security, [{ service: [] }])
  t.match(components.securitySchemes.service, { type: 'http', scheme: 'bearer' })
})
