import { createHash } from 'node:crypto'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { change, createFixture, envelope, inbound, sign, status } from '../../test/webhooks-fixture.ts'

t.test('the token of any number verifies the address', async t => {
  const { app } = await createFixture(t)
  const verify = (query: string) => app.inject(`/webhooks/messaging?${query}`)
  for (const token of ['verify-100', 'verify-101', 'verify-200']) {
    const response = await verify(`hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}`)
    t.equal(response.statusCode, 200)
    t.equal(response.body, '1158201444')
    t.match(response.headers['content-type'], /^text\/plain/)
    t.equal(response.headers['x-content-type-options'], 'nosniff')
  }
  const wrong = [
    '',
    'hub.mode=subscribe&hub.challenge=1',
    'hub.mode=subscribe&hub.verify_token=verify-100',
    'hub.mode=subscribe&hub.challenge=1&hub.verify_token=verify-10',
    'hub.mode=unsubscribe&hub.challenge=1&hub.verify_token=verify-100',
    'hub.mode=subscribe&hub.challenge=1&hub.verify_token=verify-100&hub.verify_token=verify-100',
    `hub.mode=subscribe&hub.challenge=1&hub.verify_token=${createHash('sha256').update('verify-100').digest('hex')}`,
  ]
  for (const query of wrong) {
    const response = await verify(query)
    t.equal(response.statusCode, 403, query)
    t.same(response.json(), { message: 'Forbidden.', code: 'forbidden' })
  }
})

t.test('refuses a webhook that no secret of its numbers signed, and writes nothing', async t => {
  const { app, call, addMessages, messageOf, rows } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const body = envelope({ statuses: [status({})], messages: [inbound()] })
  const payload = JSON.stringify(body)
  const responses = [
    await call(body, 'rivals'),
    await call(body, ''),
    await call(envelope({ statuses: [status({})] }, '999'), 'nobody'),
    await call({ entry: [change({}, 'account_update', 'waba-other')] }, 'nobody'),
    await call('not json'),
    await call(''),
    await call('null'),
    await call(body, 'old', { 'x-hub-signature-256': sign(`${payload} `, 'old') }),
    await app.inject({ method: 'POST', url: '/webhooks/messaging', payload: body }),
  ]
  for (const response of responses) {
    t.equal(response.statusCode, 401)
    t.same(response.json(), { message: 'Unauthenticated.', code: 'unauthenticated' })
  }
  t.equal((await messageOf('m')).status, 'accepted')
  t.same(await rows('select * from conversations'), [])
})

t.test('acknowledges news of another number of our app that one of our secrets signed, and writes nothing', async t => {
  const { call, addMessages, messageOf, rows } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const body = envelope({ statuses: [status({})], messages: [inbound()] }, '999')
  t.same([(await call(body)).statusCode, (await call(body, 'rivals')).statusCode], [200, 200])
  t.equal((await call({ entry: [change({}, 'account_update', 'waba-other')] })).statusCode, 200)
  const large = { ...body, padding: 'x'.repeat(2 * 1024 * 1024) }
  t.equal((await call(large)).statusCode, 401, 'a large request would cost too much to try with every secret')
  t.equal((await messageOf('m')).status, 'accepted')
  t.same(await rows('select * from conversations'), [])
})

t.test('logs why a verification failed, without a secret', async t => {
  const lines: string[] = []
  const { app, call } = await createFixture(t, { logger: pino({}, { write: line => lines.push(line) }) })
  const collectReasons = async (actions: (() => Promise<unknown>)[]) => {
    lines.length = 0
    for (const action of actions) await action()
    return lines.map(line => JSON.parse(line)).flatMap(({ msg, reason }) => (reason ? [[msg, reason]] : []))
  }
  const verify = (query: string) => () => app.inject(`/webhooks/messaging?${query}`)
  const failed = 'webhook.verification_failed'
  const token = 'hub.mode=subscribe&hub.verify_token'
  t.same(
    await collectReasons([
      verify(''),
      verify('hub.mode=subscribe&hub.challenge=1'),
      verify(`${token}=verify-100`),
      verify(`${token}=verify-10&hub.challenge=1`),
    ]),
    [
      [failed, 'mode_not_subscribe'],
      [failed, 'no_verify_token'],
      [failed, 'no_challenge'],
      [failed, 'unknown_verify_token'],
    ],
  )
  const body = envelope({ statuses: [status({})] })
  const post = (headers: Record<string, string>) => () =>
    app.inject({ method: 'POST', url: '/webhooks/messaging', headers, payload: body })
  const reasons = await collectReasons([
    () => call(body, 'rivals'),
    () => call(envelope({ statuses: [status({})] }, '999'), 'nobody'),
    () => call('null'),
    post({}),
    post({ 'x-hub-signature-256': 'sha1=0' }),
  ])
  const logged = ['wrong_signature', 'unknown_number', 'names_no_number', 'no_signature', 'malformed_signature']
  t.same(
    reasons,
    logged.map(reason => ['webhook.refused', reason]),
  )
  t.notMatch(lines.join(), /verify-10|rivals/)
})

t.test('both secrets of a rotation sign, and the signature covers the bytes, not the JSON', async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  t.equal((await call(envelope({ statuses: [status({})] }), 'new')).statusCode, 200)
  const escaped = JSON.stringify(envelope({ statuses: [status({ status: 'delivered' })] })).replace(
    'wamid',
    '\\u0077amid',
  )
  t.equal((await call(`  ${escaped}\n`, 'old', { 'content-type': 'text/plain' })).statusCode, 200)
  t.equal((await messageOf('m')).status, 'delivered')
})

t.test('in a webhook about several numbers, only facts signed with the secret of their own number count', async t => {
  const { call, addMessages, messageOf, rows } = await createFixture(t)
  await addMessages([
    { id: 'own', status: 'accepted', providerMessageId: 'wamid.own' },
    { id: 'theirs', tenant: 'rival', phoneNumberId: '200', status: 'accepted', providerMessageId: 'wamid.theirs' },
  ])
  const entry = [
    ...envelope({ statuses: [status({ id: 'wamid.own' })] }, '100').entry,
    ...envelope({ statuses: [status({ id: 'wamid.theirs' })], messages: [inbound()] }, '200').entry,
    ...envelope({ statuses: [status({ id: 'wamid.theirs' })] }, '999').entry,
  ]
  t.equal((await call({ entry })).statusCode, 200)
  t.equal((await messageOf('own')).status, 'sent')
  t.equal((await messageOf('theirs')).status, 'accepted')
  t.same(await rows('select * from conversations'), [])
})

t.test('a tenant cannot report on the messages of another, nor on those of another number', async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([
    { id: 'm', status: 'accepted', providerMessageId: 'wamid.1' },
    { id: 'n', phoneNumberId: '101', status: 'accepted', providerMessageId: 'wamid.2' },
  ])
  const about = (id: string, wamid: string) => status({ id: wamid, biz_opaque_callback_data: id, status: 'failed' })
  const statuses = [about('m', 'wamid.1'), about('n', 'wamid.2')]
  t.equal((await call(envelope({ statuses }, '200'), 'rivals')).statusCode, 200)
  t.equal((await messageOf('m')).status, 'accepted')
  await call(envelope({ statuses }))
  t.equal((await messageOf('m')).status, 'failed')
  t.equal((await messageOf('n')).status, 'accepted')
})

t.test('unknown fields, objects and values are harmless', async t => {
  const { call, addMessages, messageOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const bodies = [
    envelope({ statuses: 'none', messages: { a: 1 }, errors: [{ code: 130429 }] }),
    envelope({ statuses: [status({ id: 'a\0b' }), status({ status: 'deleted' }), null] }),
    envelope({ messages: [inbound({ text: { body: 'nul \0 and \ud800' } })] }),
    { object: 'page', entry: [change({ any: 'thing' }, 'feed')] },
    { object: 'page', entry: [change({ event: 'X' }, 'message_template_status_update')] },
    { entry: [...envelope({ statuses: [status({})] }).entry, 7, null, { changes: 7 }, { changes: [{ value: [] }] }] },
  ]
  for (const body of bodies) t.equal((await call(body)).statusCode, 200, JSON.stringify(body).slice(0, 80))
  t.equal((await messageOf('m')).status, 'sent')
})

t.test('accepts a webhook of 3 MiB, and refuses a larger one', async t => {
  const { call } = await createFixture(t)
  const body = (bytes: number) => {
    const empty = JSON.stringify({ ...envelope({}), filling: '' })
    return empty.replace('"filling":""', `"filling":"${'x'.repeat(bytes - empty.length)}"`)
  }
  t.equal((await call(body(3 * 1024 * 1024))).statusCode, 200)
  t.equal((await call(body(3 * 1024 * 1024 + 1))).statusCode, 413)
})

t.test('a thousand updates fit into one webhook', async t => {
  const { call, addMessages, rows } = await createFixture(t)
  await addMessages(Array.from({ length: 1000 }, (_, index) => ({ id: `m${index}` })))
  const statuses = Array.from({ length: 1000 }, (_, index) =>
    status({ id: `wamid.${index}`, status: 'delivered', biz_opaque_callback_data: `m${index}` }),
  )
  t.equal((await call(envelope({ statuses }))).statusCode, 200)
  t.same(await rows('select status, count(*)::int from messages group by 1'), [{ status: 'delivered', count: 1000 }])
})

t.test('logs one line per transaction, with counts and nothing personal', async t => {
  const lines: string[] = []
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void lines.push(String(chunk))) })
  const counts: Record<string, number> = {}
  const { call, addMessages } = await createFixture(t, {
    logger: pino({ level: 'info' }, stream),
    onFact: (kind, count) => {
      counts[kind] = (counts[kind] ?? 0) + count
    },
  })
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  const statuses = [status({}), status({}), status({ id: 'wamid.unknown' })]
  const entry = [...envelope({ statuses, messages: [inbound()] }).entry, ...envelope({ statuses }, '999').entry]
  await call({ entry })
  await call({ entry }, 'wrong')
  const expected = {
    statuses: 3,
    moved: 1,
    unmatched: 1,
    inbound: 1,
    preferences: 0,
    released: 0,
    templates: 0,
    approved: 0,
    foreign: 3,
  }
  t.match(
    lines.map(line => JSON.parse(line)).filter(line => line.msg.startsWith('webhook')),
    [{ msg: 'webhook.applied', ...expected }, { msg: 'webhook.refused' }],
  )
  t.same(counts, { ...expected, refused: 1 })
  t.notMatch(lines.join(''), /94770000101|parcel|wamid/)
})

t.test('a webhook that cannot be stored is not acknowledged, so that the API repeats it', async t => {
  const { call, rows, addMessages, messageOf } = await createFixture(t)
  await addMessages([{ id: 'm', status: 'accepted', providerMessageId: 'wamid.1' }])
  await rows('alter table message_events rename to moved')
  const response = await call(envelope({ statuses: [status({})], messages: [inbound()] }))
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, /moved|message_events/)
  t.same(await rows('select * from conversations'), [], 'a webhook is stored whole or not at all')
  await rows('alter table moved rename to message_events')
  t.equal((await call(envelope({ statuses: [status({})] }))).statusCode, 200)
  t.equal((await messageOf('m')).status, 'sent')
})
