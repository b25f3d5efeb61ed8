import t, { type Test } from 'tap'
import { accessToken, accountId, build, type CallOptions, numberId } from './build.ts'

const registration = { messaging_product: 'whatsapp', pin: '123456', certificate: 'demo-certificate' }

const buildUnregistered = async (t: Test) => {
  const simulator = await build(t)
  simulator.control.putNumber(numberId, { registered: false })
  const register = (changes: object = {}, options: CallOptions = {}) =>
    simulator.call(`/v17.0/${numberId}/register`, { body: { ...registration, ...changes }, ...options })
  return { ...simulator, register }
}

t.test('a number is registered and can send', async t => {
  const { register, send } = await buildUnregistered(t)
  t.equal((await send()).body.error.code, 133010)
  const response = await register()
  t.equal(response.status, 200)
  t.same(response.body, { success: true })
  t.equal((await send()).status, 200)
})

t.test('refuses a registration with a wrong token, field, certificate or PIN', async t => {
  const { register } = await buildUnregistered(t)
  const getCode = async (changes: object, options: CallOptions = {}) =>
    (await register(changes, options)).body.error.code
  t.equal(await getCode({}, { token: 'unknown' }), 190)
  const wrong = [
    ...[{ messaging_product: undefined }, { messaging_product: 'telegram' }, { certificate: undefined }],
    ...[undefined, '12345', 123456].map(pin => ({ pin })),
  ]
  for (const changes of wrong) t.equal(await getCode(changes), 100)
  t.equal(await getCode({ certificate: 'of another' }), 131045)
  t.equal(await getCode({ pin: '654321' }), 133005)
})

t.test('a number shows its fields and its health', async t => {
  const { call, control } = await build(t)
  t.same((await call(`/v17.0/${numberId}`)).body, {
    verified_name: 'Demo Couriers',
    code_verification_status: 'VERIFIED',
    display_phone_number: '+94 11 755 5000',
    quality_rating: 'GREEN',
    id: numberId,
  })
  const getHealth = () => call(`/v17.0/${numberId}?fields=status,throughput,health_status`)
  t.match((await getHealth()).body, {
    id: numberId,
    status: 'CONNECTED',
    throughput: { level: 'STANDARD' },
    health_status: { can_send_message: 'AVAILABLE', entities: [{ entity_type: 'PHONE_NUMBER', id: numberId }] },
  })
  control.putNumber(numberId, { registered: false })
  t.match((await getHealth()).body, {
    status: 'DISCONNECTED',
    health_status: { can_send_message: 'BLOCKED', entities: [{ errors: [{ error_code: 133010 }] }] },
  })
  t.match((await call(`/v17.0/${numberId}?fields=colour`)).body.error, {
    code: 100,
    message: /nonexisting field \(colour\)/,
  })
  t.equal((await call('/v17.0/1234')).body.error.error_subcode, 33)
})

t.test('debug_token shows what a token may do', async t => {
  const { call } = await build(t)
  const ask = (token: string) => call(`/debug_token?input_token=${token}`)
  const { body, headers } = await ask(accessToken)
  t.match(body.data, { is_valid: true, expires_at: 0, type: 'SYSTEM_USER' })
  t.same(body.data.granular_scopes, [
    { scope: 'whatsapp_business_management', target_ids: [accountId] },
    { scope: 'whatsapp_business_messaging', target_ids: [accountId] },
  ])
  t.equal(headers.get('facebook-api-version'), 'v21.0')
  t.match((await ask('unknown')).body.data, { is_valid: false, error: { code: 190 } })
  t.equal((await call(`/v17.0/debug_token?input_token=${accessToken}`)).status, 200)
  t.equal((await call('/debug_token')).body.error.code, 100)
  t.equal((await call('/debug_token', { token: null })).body.error.code, 104)
})

t.test('the served version is the oldest usable one, or the later one requested', async t => {
  const { call } = await build(t)
  const ask = async (version: string) => (await call(`/${version}/${numberId}`)).headers.get('facebook-api-version')
  t.equal(await ask('v17.0'), 'v21.0')
  t.equal(await ask('v24.0'), 'v24.0')
  t.equal(await ask('v9.0'), 'v21.0')
})
