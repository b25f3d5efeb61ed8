import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { UsageError } from '@courier/shared/cli/command-line.ts'
import { revokeTokenById } from '@courier/shared/cli/token-commands.ts'
import { mayBeToken } from '@courier/shared/postgres/tokens.ts'
import t, { type Test } from 'tap'
import { applyFile, build } from '../../test/build.ts'
import { buildTenant } from '../../test/build-tenant.ts'
import { batch, tenantFile } from '../../test/tenant.ts'
import { hashPassword, isPassword } from './passwords.ts'
import { createTokenFor, listTokens, type TokenRequest } from './token-commands.ts'
import { createTokenReader } from './tokens.ts'

/** Opens a tenant of its own; `getStatus` returns the status of a request with a token. */
const open = async (t: Test) => {
  const { tenant, pool, bulk, rows } = await buildTenant(t)
  const getStatus = async (token: string, of = tenant): Promise<number> =>
    (await bulk(batch(), { token, tenant: of, query: '?dry_run=true' })).status
  return { tenant, shop: { tenant, merchant: 'shop@example.com' }, pool, bulk, rows, getStatus }
}

t.test('a token is a prefix, 256 random bits and a checksum, and its id does not reveal it', async t => {
  const { shop, pool } = await open(t)
  const made = await Promise.all(Array.from({ length: 20 }, () => createTokenFor(pool, shop)))
  for (const { id, token } of made) {
    t.match(id, /^tok_[\w-]{12}$/)
    t.match(token, /^courier_[\w-]{48}$/)
    t.equal(Buffer.from(token.slice('courier_'.length), 'base64url').length, 36)
    t.ok(mayBeToken(token))
    t.notOk(mayBeToken(`${token.slice(0, 20)}${token[20] === 'a' ? 'b' : 'a'}${token.slice(21)}`), 'a typing error')
    t.notOk(token.includes(id.slice('tok_'.length)))
  }
  t.equal(new Set(made.flatMap(({ id, token }) => [id, token])).size, 40)
})

t.test('only the hash of a token is stored', async t => {
  const { shop, pool, rows } = await open(t)
  const { id, token } = await createTokenFor(pool, shop)
  const stored = await rows('select hash, tokens::text as row from tokens where token_id = $1', [id])
  t.strictSame(stored[0].hash, createHash('sha256').update(token).digest())
  const random = token.slice('courier_'.length)
  for (const form of [random, Buffer.from(random, 'base64url').toString('hex'), Buffer.from(token).toString('hex')])
    t.notOk(stored[0].row.includes(form))
})

t.test('a token expires on time, even one that was just used', async t => {
  const { tenant, shop, pool, getStatus } = await open(t)
  const start = async (milliseconds: number) => {
    const until = Date.now() + milliseconds
    const { token } = await createTokenFor(pool, { ...shop, expires: new Date(until).toISOString() })
    return { token, until, before: await getStatus(token), isLate: Date.now() >= until }
  }
  const first = await start(1_500)
  // On a busy machine the first request may come after the end.
  const { token, until, before } = first.isLate ? await start(15_000) : first
  t.equal(before, 200)
  await delay(until - Date.now() + 50)
  t.equal(await getStatus(token), 401)
  t.equal(await createTokenReader(pool)(tenant, token), undefined)
})

t.test('a token is refused within 5 seconds of its revocation, however often it is used', async t => {
  const { tenant, shop, pool, getStatus } = await open(t)
  const { id, token } = await createTokenFor(pool, shop)
  const other = await createTokenFor(pool, shop)
  t.equal(await getStatus(token), 200)
  t.equal(await revokeTokenById(pool, id), tenant)
  const revoked = performance.now()
  while ((await getStatus(token)) === 200 && performance.now() - revoked < 8_000) await delay(50)
  const seconds = (performance.now() - revoked) / 1000
  t.comment(`refused after ${seconds.toFixed(2)} s`)
  t.equal(await getStatus(token), 401)
  t.ok(seconds < 5, `refused after ${seconds} s`)
  t.equal(await getStatus(other.token), 200, 'other tokens of the merchant stay valid')
})

t.test('a second revocation keeps the time of the first, and an unknown id is reported', async t => {
  const { tenant, pool } = await open(t)
  const { id } = await createTokenFor(pool, { tenant, staff: 'Ruwan' })
  const readRevokedAt = async () => (await listTokens(pool)).find(token => token.token_id === id)?.revoked_at
  await revokeTokenById(pool, id)
  const first = await readRevokedAt()
  t.type(first, Date)
  await revokeTokenById(pool, id)
  t.same(await readRevokedAt(), first)
  await t.rejects(
    revokeTokenById(pool, 'tok_unknown'),
    new UsageError('there is no token tok_unknown; token list shows them'),
  )
})

t.test('the last use of a token is stored, at most once a minute', async t => {
  const { tenant, shop, pool, getStatus, rows } = await open(t)
  const { id, token } = await createTokenFor(pool, shop)
  const readLastUse = async () => (await listTokens(pool, tenant)).find(row => row.token_id === id)?.last_used_at
  t.equal(await readLastUse(), null)
  await getStatus(token)
  const used = await readLastUse()
  t.ok(used && Math.abs(Date.now() - used.getTime()) < 10_000, `used ${used?.toISOString()}`)
  await createTokenReader(pool)(tenant, token)
  t.same(await readLastUse(), used, 'not written again within the minute')
  await rows(`update tokens set last_used_at = now() - interval '61 seconds' where token_id = $1`, [id])
  await createTokenReader(pool)(tenant, token)
  t.ok(Date.now() - ((await readLastUse())?.getTime() ?? 0) < 10_000)
})

t.test('a token authenticates its holder only in its tenant', async t => {
  const { tenant, shop, pool, bulk, getStatus } = await open(t)
  const other = `${tenant}-other`
  await applyFile(pool, tenantFile({ id: other }))
  const { token } = await createTokenFor(pool, shop)
  const staff = await createTokenFor(pool, { tenant, staff: 'Ruwan' })
  t.equal(await getStatus(token), 200)
  const wrong = [
    [token, other],
    [token, 'nowhere'],
    [staff.token, tenant],
    [token.slice(0, -1), tenant],
    [token.toUpperCase(), tenant],
    ['courier_', tenant],
  ] as const
  for (const [token, tenant] of wrong) {
    const { status, body } = await bulk(batch(), { token, tenant })
    t.strictSame(
      [status, body],
      [401, { message: 'Unauthenticated.', code: 'unauthenticated' }],
      `${token.slice(0, 10)} of ${tenant}`,
    )
  }
  t.match(await createTokenReader(pool)(tenant, staff.token), { merchantId: null })
  const { token: own } = await createTokenFor(pool, { ...shop, staff: ' ' })
  t.match(await createTokenReader(pool)(tenant, own), { merchantId: String })
})

t.test('a merchant is found by e-mail address in any letter case', async t => {
  const { tenant, pool, getStatus } = await open(t)
  const { token } = await createTokenFor(pool, { tenant, merchant: ' Shop@Example.com ' })
  t.equal(await getStatus(token), 200)
})

t.test('a refused command says why, and creates no token', async t => {
  const { pool, rows } = await build(t)
  const shop = { tenant: 'demo', merchant: 'shop@example.com' }
  const ending = (expires: string): [TokenRequest, string] => [
    { ...shop, expires },
    `--expires must be a future time such as 2027-01-31T00:00:00Z, not ${expires}`,
  ]
  const oneHolder = 'name one holder: --merchant EMAIL or --staff NAME'
  const table: [TokenRequest, string][] = [
    [{ tenant: 'demo' }, oneHolder],
    [{ ...shop, staff: 'Ruwan' }, oneHolder],
    [{ tenant: 'demo', staff: ' ' }, oneHolder],
    [{ tenant: 'demo', staff: 'Ru\nwan' }, '--staff must be 1 to 100 characters on one line'],
    [{ tenant: 'nowhere', staff: 'Ruwan' }, 'there is no tenant nowhere; there are: demo'],
    [{ tenant: 'demo', merchant: 'nobody@example.com' }, 'tenant demo has no merchant nobody@example.com'],
    ending('2020-01-01T00:00:00Z'),
    ending('tomorrow'),
    ending('2099-13-01'),
    ending(''),
    ending('99'),
    ending('12/31/2099'),
  ]
  const count = async () => (await rows('select count(*)::integer as tokens from tokens'))[0].tokens
  const before = await count()
  for (const [request, sentence] of table)
    await t.rejects(createTokenFor(pool, request), new UsageError(sentence), JSON.stringify(request))
  t.equal(await count(), before)
})

t.test('two hashes of a password differ, and each matches that password only', async t => {
  const [first, second] = await Promise.all([hashPassword('lanka-shoes-demo'), hashPassword('lanka-shoes-demo')])
  t.match(first, /^argon2id\$[\w-]{22}\$[\w-]{43}$/)
  t.not(first.split('$')[1], second.split('$')[1], 'the salts differ')
  t.not(first.split('$')[2], second.split('$')[2])
  for (const hash of [first, second]) {
    t.equal(await isPassword('lanka-shoes-demo', hash), true)
    for (const wrong of ['lanka-shoes-dem', 'Lanka-shoes-demo', 'lanka-shoes-demo ', ''])
      t.equal(await isPassword(wrong, hash), false, wrong)
  }
})

t.test('a password is the same however its letters were composed', async t => {
  t.equal(await isPassword('Cafe\u0301-demo', await hashPassword('Caf\u00e9-demo')), true)
})
