import { Limit } from '@courier/shared/edge/limits.ts'
import { createClock } from '@courier/shared/postgres/clock.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import { hashToken } from '@courier/shared/postgres/tokens.ts'
import t from 'tap'
import { moveStopwatch, shiftClock } from '../../dev/shift-clock.ts'
import { createAgent } from './capabilities/feed/addresses.ts'
import { sendOnce } from './capabilities/feed/post.ts'
import { addStaff } from './core/access/staff-commands.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { serviceToken } from './test/build.ts'
import { waitUntil } from './test/receiver.ts'
import { webhooksFixture } from './test/webhooks-fixture.ts'

const { app, pool, rows, request, call, sender, addReceiver, book } = await webhooksFixture(t)
const staff = { email: 'nimali@courier.example', password: 'nimali-demo' }
await addStaff(pool, { tenant: 'demo', email: staff.email, name: 'Nimali', role: 'viewer' }, staff.password)
const hour = 3_600_000
const isNear = (time: string | number, due: number) => Math.abs(new Date(time).getTime() - due) < 10_000
const makeToken = async (interval: string) => {
  const { id, token } = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  await rows(`update tokens set expires_at = now() + $2::interval where token_id = $1`, [id, interval])
  return { id, token, status: async () => (await request('/state', undefined, { token })).status }
}

for (const hours of [-30, 30]) {
  t.test(`with a clock that is wrong by ${hours} hours a login lasts as long as it says, in both services`, async t => {
    const now = shiftClock(t, hours)
    const send = async (url: string, payload: object, authorization = '') => {
      const headers = { 'x-tenant': 'demo', authorization: `Bearer ${authorization}` }
      return (await app.inject({ method: 'POST', url, payload, headers })).json()
    }
    const merchant = await send('/api/public/merchant/login', {
      email: 'shop@example.com',
      password: 'lanka-shoes-demo',
    })
    t.ok(isNear(merchant.expires_at, now() + 30 * 24 * hour), merchant.expires_at)
    const { token, expires_at } = await send('/api/staff/login', staff)
    t.ok(isNear(expires_at, now() + 12 * hour), expires_at)
    const tokens = [{ tenant: 'demo', hash: hashToken(token).toString('hex') }]
    const holders = await send('/internal/staff-tokens', { tokens }, serviceToken)
    t.match(holders.data, [{ name: 'Nimali', expires_at }])
    t.ok(isNear(holders.now, now()), holders.now)
  })

  t.test(`with a clock that is wrong by ${hours} hours a token ends when Postgres says so`, async t => {
    const now = shiftClock(t, hours)
    const lasting = await makeToken('1 hour')
    t.equal(await lasting.status(), 200)
    const [used] = await rows('select last_used_at as at from tokens where token_id = $1', [lasting.id])
    t.ok(isNear(used.at, now()), String(used.at))
    t.equal(await (await makeToken('-1 second')).status(), 401)
  })

  t.test(`with a clock that is wrong by ${hours} hours Postgres says which expiry is in the future`, async t => {
    const now = shiftClock(t, hours)
    const create = (milliseconds: number) =>
      createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan', expires: new Date(now() + milliseconds).toISOString() })
    await t.resolves(create(hour))
    await t.rejects(create(-hour), /--expires must be a future time/)
  })

  t.test(`with a clock that is wrong by ${hours} hours webhooks carry the time of Postgres`, async t => {
    const { receiver, id } = await addReceiver()
    const now = shiftClock(t, hours)
    await call('POST', `/${id}/ping`)
    await book(1)
    sender.start()
    await waitUntil('both messages arrive', () => receiver.accepted.length === 2)
    for (const { headers, body } of receiver.accepted) {
      t.ok(isNear(Number(headers['webhook-timestamp']) * 1000, now()), String(headers['webhook-timestamp']))
      t.ok(isNear(body.timestamp, now()), body.timestamp)
    }
    const from = new Date(now() - hour).toISOString()
    t.match(await call('POST', `/${id}/replay`, { from }), { status: 202, body: { data: { changes: Number } } })
  })
}

t.test('a token is cached until it expires, whatever the clock', async t => {
  shiftClock(t, -30)
  const pass = moveStopwatch(t.teardown)
  const { id, status } = await makeToken('2.5 seconds')
  t.equal(await status(), 200)
  await rows('update tokens set expires_at = now() where token_id = $1', [id])
  t.equal(await status(), 200, 'from the cache')
  await pass(2_500)
  t.equal(await status(), 401)
})

t.test('without Postgres, webhooks use the time of the process', async t => {
  const { receiver } = await addReceiver()
  const down = createPool({ url: 'postgres://127.0.0.1:1/orders', name: 'test', connections: 1 })
  const dispatcher = createAgent(undefined)
  t.teardown(() => Promise.all([down.end(), dispatcher.destroy()]))
  const options = { dispatcher, allowsPrivate: true, clock: createClock(down), signal: new AbortController().signal }
  const message = { url: receiver.url, secrets: [receiver.secret], messageId: 'ping.1', body: '{"data":{}}' }
  t.match(await sendOnce(options, message), { code: 204 })
  t.equal(receiver.forged, 0)
})

t.test('a clock set back does not lengthen the minute of a limit', async t => {
  let hours = 30
  shiftClock(t, () => hours)
  const limit = new Limit('merchant', 1)
  limit.count('a')
  hours = 0
  t.ok(limit.secondsSpent('a') <= 60)
})
