import { newToken } from '@courier/shared/postgres/tokens.ts'
import t, { type Test } from 'tap'
import { createOrders } from '../../app.ts'
import { build } from '../../test/build.ts'
import { createTokenFor } from './token-commands.ts'

const shop = { tenant: 'demo', merchant: 'shop@example.com' }
const credentials = { email: shop.merchant, password: 'lanka-shoes-demo' }

const garbage = (index: number): string => `courier_${index}`.padEnd(56, 'x')
const forged = (): string => newToken().token

/** Allows an address `calls` requests a minute, three of them with a wrong token. */
const open = async (t: Test, calls = 50) => {
  const built = await build(t, { addressLimits: { requests: calls, refusals: 3 } })
  const { request } = built
  const attempt = async (token: string, tenant = 'demo') =>
    (await request('/user/get-current', undefined, { token, tenant })).status
  /** Sends 100 wrong tokens, ten at once. */
  const flood = async (forge: (index: number) => string) => {
    const statuses: number[] = []
    for (let round = 0; round < 10; round++)
      statuses.push(
        ...(await Promise.all(Array.from({ length: 10 }, (_, index) => attempt(forge(round * 10 + index))))),
      )
    return statuses
  }
  return { ...built, attempt, flood }
}

t.test('wrong tokens from an address never block a valid one, however new', async t => {
  const { pool, request, attempt, flood, token } = await open(t)
  for (const forge of [garbage, forged]) {
    const statuses = await flood(forge)
    t.ok(
      statuses.every(status => status === 401 || status === 429),
      `${forge.name}: ${new Set(statuses)}`,
    )
    t.equal(statuses.at(-1), 429)
    t.equal(await attempt((await createTokenFor(pool, shop)).token), 200, `made by the operator after ${forge.name}`)
    const login = await request('/login', credentials, { token: '' })
    t.equal(await attempt(login.body.token), 200, `made by a login after ${forge.name}`)
    t.equal(await attempt(token), 200)
  }
})

t.test('valid tokens pass during a flood of forged ones, in any number of tenants', async t => {
  const { pool, attempt, flood } = await open(t, 400)
  await flood(forged)
  const wrong = Array.from({ length: 300 }, (_, index) => attempt(forged(), index % 2 ? 'demo' : `tenant-${index}`))
  const right = Array.from({ length: 20 }, async () => attempt((await createTokenFor(pool, shop)).token))
  t.strictSame([...new Set(await Promise.all(right))], [200])
  t.strictSame([...new Set(await Promise.all(wrong))], [429])
})

t.test('malformed tokens are never looked up, and a flood of forged ones uses one connection', async t => {
  const { pool, attempt, flood } = await open(t)
  let busy = 0
  let most = 0
  let uses = 0
  const onAcquire = () => {
    uses++
    most = Math.max(most, ++busy)
  }
  const onRelease = () => void busy--
  pool.on('acquire', onAcquire).on('release', onRelease)
  await flood(garbage)
  t.equal(uses, 0)
  await Promise.all(
    Array.from({ length: 500 }, (_, index) => attempt(forged(), index % 2 ? 'demo' : `tenant-${index}`)),
  )
  t.equal(most, 1)
  t.ok(uses < 100, `${uses} uses for 500 tokens`)
})

t.test('accepts tokens that another process of the service issued', async t => {
  const { ordersOptions, request, flood } = await open(t)
  const other = await createOrders(ordersOptions)
  t.teardown(() => other.app.close())
  await flood(forged)
  const login = await other.app.inject({
    method: 'POST',
    url: '/api/public/merchant/login',
    headers: { 'x-tenant': 'demo' },
    payload: credentials,
  })
  t.equal((await request('/state', undefined, { token: login.json().token })).status, 200)
})
