import { createHmac } from 'node:crypto'
import { newToken } from '@courier/shared/postgres/tokens.ts'
import t, { type Test } from 'tap'
import type { NotifierOptions } from './app.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { phoneNumberId } from './test/fixture.ts'
import { build } from './test/portal.ts'

const appSecret = 'an-app-secret-of-tests'

const limited = (t: Test, limits: Partial<NotifierOptions>) => build(t, undefined, undefined, undefined, limits)

t.test('the tokens of a member of staff share one rate limit', async t => {
  const { call, pool } = await build(t, 3)
  const of = async (staff: string) => {
    const { token } = await createTokenFor(pool, { tenant: 'demo', staff })
    return { authorization: `Bearer ${token}` }
  }
  const second = await of('Ruwan')
  const statusOf = async (headers = {}) => (await call('GET', '/api/channels', undefined, headers)).status
  t.strictSame([await statusOf(), await statusOf(second), await statusOf()], [200, 200, 200])
  t.strictSame([await statusOf(), await statusOf(second), await statusOf(await of('Ruwan'))], [429, 429, 429])
  t.equal(await statusOf(await of('Nimal')), 200)
})

t.test('wrong tokens from an address never block a valid one, however new', async t => {
  const { call, pool } = await limited(t, { addressLimits: { requests: 20, refusals: 3 } })
  const statusOf = async (token: string) =>
    (await call('GET', '/api/channels', undefined, { authorization: `Bearer ${token}` })).status
  const statuses: number[] = []
  for (let index = 0; index < 30; index++) statuses.push(await statusOf(index % 2 ? newToken().token : 'courier_x'))
  t.strictSame([...new Set(statuses)], [401, 429])
  t.equal(await statusOf((await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })).token), 200)
})

t.test('accepts any number of signed webhooks, even from a forger’s address', async t => {
  const limits = { requests: 5, refusals: 3 }
  const { app, call } = await limited(t, { addressLimits: limits })
  await call('PUT', `/api/channels/${phoneNumberId}`, { app_secret: appSecret })
  const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: phoneNumberId }, statuses: [] }
  const payload = JSON.stringify({
    object: 'whatsapp_business_account',
    entry: [{ id: '1', changes: [{ field: 'messages', value }] }],
  })
  const post = async (secret: string, remoteAddress: string) => {
    const signature = createHmac('sha256', secret).update(payload).digest('hex')
    const headers = { 'x-hub-signature-256': `sha256=${signature}`, 'content-type': 'application/json' }
    const response = await app.inject({ method: 'POST', url: '/webhooks/messaging', headers, payload, remoteAddress })
    return response.statusCode
  }
  const times = async (count: number, secret: string, address: string) => {
    const statuses = new Set<number>()
    for (let poll = 0; poll < count; poll++) statuses.add(await post(secret, address))
    return [...statuses]
  }
  t.strictSame(await times(30, appSecret, '192.0.2.1'), [200])
  t.strictSame(await times(3, 'forged', '192.0.2.1'), [401])
  t.strictSame(await times(10, appSecret, '192.0.2.1'), [200], 'the address is known')
  t.strictSame(await times(3, 'forged', '192.0.2.2'), [401])
  t.strictSame(await times(3, 'forged', '192.0.2.2'), [429], 'an address that sent only forged webhooks is not known')
})

t.test('a trusted proxy names the address whose requests are counted', async t => {
  const { app } = await limited(t, { addressLimits: { requests: 1, refusals: 60 }, trustedProxies: '10.0.0.0/8' })
  const from = async (address: string, remoteAddress: string) => {
    const headers = { 'x-forwarded-for': address }
    return (await app.inject({ url: '/openapi.json', headers, remoteAddress })).statusCode
  }
  t.strictSame([await from('192.0.2.1', '10.1.1.1'), await from('192.0.2.2', '10.1.1.1')], [200, 200])
  t.equal(await from('192.0.2.1', '10.1.1.1'), 429)
  t.equal(await from('192.0.2.7', '198.51.100.1'), 200)
  t.equal(await from('192.0.2.8', '198.51.100.1'), 429, 'only a trusted proxy may name another address')
})

t.test('bodies and batches have the configured limits', async t => {
  const { call } = await limited(t, { maxBodyBytes: 2_000, maxMessagesPerBatch: 2 })
  const messages = Array.from({ length: 3 }, () => ({ to: '0770000101' }))
  const many = await call('POST', '/api/messages/bulk', { messages })
  t.match(many, { status: 422, body: { errors: { messages: [/must not have more than 2/] } } })
  t.equal((await call('POST', '/api/messages', { to: 'x'.repeat(3_000) })).status, 413)
})
