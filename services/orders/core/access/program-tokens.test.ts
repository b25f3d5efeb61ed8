import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { refusal, tenantFixture } from '../../test/orders-fixture.ts'

const { request, createToken, booksToken, rows, token: program } = await tenantFixture(t)
const base = '/api/public/merchant'
const logIn = async (email: string, password: string) =>
  (await request('POST', `${base}/login`, { email, password }, { token: '' })).body.token
const owner = await logIn('shop@example.com', 'lanka-shoes-demo')
const ofBooks = await logIn('books@example.com', 'ceylon-books-demo')
const create = (body: unknown, token = owner) => request('POST', `${base}/token`, body, { token })
const list = async (token = owner) => (await request('GET', `${base}/token`, undefined, { token })).body.data
const revoke = (id: string, token = owner) => request('DELETE', `${base}/token/${id}`, undefined, { token })
const getStatus = async (token: string) => (await request('GET', `${base}/state`, undefined, { token })).status

t.test('an owner creates tokens for programs, sees them without the secret, and revokes them', async t => {
  const { status, body } = await create({ name: ' Web shop 🛒 ', expires_at: '2999-01-31T00:00:00Z' })
  const { id, token, created_at, ...rest } = body.data
  t.match([status, body.message, token], [201, 'Token Created Successfully', /^courier_[\w-]{48}$/])
  t.strictSame(rest, { name: 'Web shop 🛒', expires_at: '2999-01-31T00:00:00.000Z', last_used_at: null })
  t.equal(await getStatus(token), 200)
  const [first, ...others] = await list()
  t.match(first, { id, name: 'Web shop 🛒', created_at })
  t.notOk('token' in first)
  t.match(others, [{ name: null }], 'the one that the operator made')
  t.strictSame(await list(ofBooks), [{ ...(await list(ofBooks))[0], name: null }], 'another merchant sees its own')

  t.equal((await revoke(id, ofBooks)).status, 404, 'a token of another merchant')
  t.equal((await revoke(id)).status, 200)
  t.equal((await revoke(id)).status, 404, 'already revoked')
  t.equal((await list()).length, 1)
  await delay(3_100)
  t.equal(await getStatus(token), 401)
  const audited = await rows('select actor_kind, action from audit where object_id = $1 order by audit_id', [id])
  t.strictSame(audited, [
    { actor_kind: 'merchant', action: 'token.created' },
    { actor_kind: 'merchant', action: 'token.revoked' },
  ])
})

t.test('a program may not manage tokens, and the refusal names the remedy', async t => {
  const made = (await create({ name: 'ERP' })).body.data.token
  for (const token of [program, made, booksToken, await createToken('shop@example.com')])
    for (const { status, body } of [await create({ name: 'x' }, token), await revoke('tok_x', token)])
      t.strictSame(
        [status, body],
        [
          403,
          {
            message: 'A token of a program may not do this. Log in as an owner of the merchant, with POST /login.',
            code: 'role_forbidden',
          },
        ],
      )
  t.equal((await request('GET', `${base}/token`, undefined, { token: made })).status, 403)
  t.equal(await getStatus(made), 200)
})

t.test('a session cannot be revoked as the token of a program', async t => {
  const [session] = await rows(`select token_id from tokens join merchants using (tenant_id, merchant_id)
    where from_login and revoked_at is null and email = 'shop@example.com'`)
  t.equal((await revoke(session.token_id)).status, 404)
})

t.test('refuses invalid names and times under their fields, and more than 50 tokens', async t => {
  const time = 'The expires at field must be a future time such as 2027-01-31T00:00:00Z.'
  for (const expires_at of ['2020-01-01T00:00:00Z', '2999-01-01', 'soon', '2999-02-30T00:00:00Z'])
    t.strictSame((await create({ name: 'x', expires_at })).body, refusal({ expires_at: [time] }), expires_at)
  for (const name of ['', '  ', 'a\nb', 'x\0', 'x'.repeat(101)])
    t.match((await create({ name })).body.errors, { name: [/^The name field/] }, JSON.stringify(name))
  t.match((await create({ name: 'x', scope: 'all' })).body.errors, { scope: [String] })
  for (let count = (await list()).length; count < 49; count++) await create({ name: `n${count}` })
  const last = await Promise.all(Array.from({ length: 8 }, (_, number) => create({ name: `last ${number}` })))
  t.equal(last.filter(({ status }) => status === 201).length, 1)
  t.strictSame((await create({ name: 'x' })).body, refusal({ name: ['There are already 50 tokens: revoke one.'] }))
})
