import t from 'tap'
import { connect, credentials, respond, startServer } from '../../test/messaging-api-server.ts'

const entry = (name: string, more: object = {}) => ({
  id: '1387372356726668',
  name,
  language: 'en_US',
  status: 'APPROVED',
  category: 'UTILITY',
  parameter_format: 'POSITIONAL',
  components: [{ type: 'BODY', text: 'Hi {{1}}', example: { body_text: [['Asha']] } }],
  ...more,
})

t.test('requests and reads the health of a number', async t => {
  const body = {
    id: '106540352242922',
    display_phone_number: '+94 77 000 0100',
    verified_name: 'Demo Couriers',
    quality_rating: 'GREEN',
    code_verification_status: 'VERIFIED',
    name_status: 'APPROVED',
    status: 'CONNECTED',
    platform_type: 'CLOUD_API',
    throughput: { level: 'STANDARD' },
    health_status: {
      can_send_message: 'LIMITED',
      entities: [
        { entity_type: 'PHONE_NUMBER', id: '1', can_send_message: 'LIMITED', additional_info: ['Name is pending'] },
        { entity_type: 'WABA', id: '2', errors: [{ error_code: 141006, error_description: 'No payment method' }] },
        { entity_type: 'BUSINESS', id: '3', can_send_message: 'AVAILABLE' },
      ],
    },
  }
  const { url, arrived } = await startServer(t, {
    onRequest: ({ socket }, index) => respond(socket, 200, index === 0 ? JSON.stringify(body) : '{"id":"7"}'),
  })
  const api = connect(t, url)
  t.same(await api.phoneNumber(credentials, '106540352242922'), {
    kind: 'received',
    servedVersion: null,
    value: {
      id: '106540352242922',
      display_phone_number: '+94 77 000 0100',
      verified_name: 'Demo Couriers',
      quality_rating: 'GREEN',
      code_verification_status: 'VERIFIED',
      name_status: 'APPROVED',
      status: 'CONNECTED',
      throughput: 'STANDARD',
      can_send_message: 'LIMITED',
      health_problems: ['PHONE_NUMBER: Name is pending', 'WABA: No payment method'],
    },
  })
  t.match(arrived[0]?.line, /^GET \/v17\.0\/106540352242922\?fields=id,display_phone_number,.*,health_status HTTP/)
  t.equal(arrived[0]?.headers.get('authorization'), 'Bearer EAAG-secret-token')
  t.match(await api.phoneNumber(credentials, '7'), { kind: 'received', value: { status: null, health_problems: [] } })
})

t.test('looks up a token with the token itself', async t => {
  const data = {
    app_id: '138483919580948',
    type: 'SYSTEM_USER',
    is_valid: true,
    expires_at: 0,
    scopes: ['whatsapp_business_management', 'whatsapp_business_messaging'],
    granular_scopes: [
      { scope: 'whatsapp_business_management', target_ids: ['102290129340398'] },
      { scope: 'whatsapp_business_messaging' },
    ],
  }
  const bodies = [
    { data },
    { data: { is_valid: false, expires_at: 1_763_719_200 } },
    { data: { ...data, expires_at: 1e300 } },
    {},
  ]
  const { url, arrived } = await startServer(t, {
    onRequest: ({ socket }, index) => respond(socket, 200, JSON.stringify(bodies[index])),
  })
  const api = connect(t, url)
  const common = { kind: 'received', servedVersion: null }
  t.same(await api.debugToken(credentials), {
    ...common,
    value: {
      is_valid: true,
      app_id: '138483919580948',
      expires_at: null,
      scopes: data.scopes,
      accounts: ['102290129340398'],
    },
  })
  t.equal(arrived[0]?.line, 'GET /debug_token?input_token=EAAG-secret-token HTTP/1.1')
  t.match(await api.debugToken(credentials), {
    value: { is_valid: false, expires_at: '2025-11-21T10:00:00.000Z', scopes: [], accounts: [] },
  })
  t.match(await api.debugToken(credentials), { value: { is_valid: true, expires_at: null } })
  t.match(await api.debugToken(credentials), { kind: 'no_response' })
})

t.test('reads the catalogue page by page by cursor, never by the address in the response', async t => {
  const elsewhere = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, '{"data":[]}') })
  const next = `${elsewhere.url}/v17.0/102290129340398/message_templates?access_token=x`
  const pages = [
    {
      data: [entry('one'), entry('two', { language: 'en-GB', status: 'paused' })],
      paging: { cursors: { after: 'A&=' }, next },
    },
    {
      data: [entry('three', { id: 99, parameter_format: 'named', components: null })],
      paging: { cursors: { after: 'B' }, next },
    },
    { data: [entry('four'), entry('No Name'), null], paging: { cursors: { before: 'B', after: 'C' } } },
  ]
  const { url, arrived } = await startServer(t, {
    onRequest: ({ socket }, index) =>
      respond(socket, 200, JSON.stringify(pages[index]), { 'facebook-api-version': 'v22.0' }),
  })
  const got = await connect(t, url).templates(credentials, '102290129340398')
  t.same(got, { kind: 'received', servedVersion: 'v22.0', value: pages.flatMap(({ data }) => data) })
  const path =
    '/v17.0/102290129340398/message_templates?fields=id,name,language,status,category,parameter_format,components&limit=25'
  t.same(
    arrived.map(({ line }) => line),
    [`GET ${path} HTTP/1.1`, `GET ${path}&after=A%26%3D HTTP/1.1`, `GET ${path}&after=B HTTP/1.1`],
  )
  t.equal(elsewhere.connections(), 0)
})

t.test('returns a failure, not a shorter catalogue, when the list breaks off', async t => {
  const first = JSON.stringify({ data: [entry('one')], paging: { cursors: { after: 'A' }, next: 'x' } })
  const { url } = await startServer(t, {
    onRequest: ({ socket }, index) =>
      respond(socket, index % 2 ? 400 : 200, index % 2 ? '{"error":{"code":131059}}' : first),
  })
  t.match(await connect(t, url).templates(credentials, '1'), { kind: 'refused', code: 131059 })
  const lost = await startServer(t, {
    onRequest: ({ socket }, index) => (index === 0 ? respond(socket, 200, first) : socket.destroy()),
  })
  t.match(await connect(t, lost.url).templates(credentials, '1'), { kind: 'no_response' })
})

t.test('stops reading when cursors repeat or are missing', async t => {
  for (const cursors of [{ after: 'A' }, {}, { after: 7 }]) {
    const page = JSON.stringify({ data: [entry('one')], paging: { cursors, next: 'x' } })
    const { url, arrived } = await startServer(t, { onRequest: ({ socket }) => respond(socket, 200, page) })
    t.match(await connect(t, url).templates(credentials, '1'), { kind: 'no_response', reason: /cursors/ })
    t.ok(arrived.length <= 2)
  }
})
