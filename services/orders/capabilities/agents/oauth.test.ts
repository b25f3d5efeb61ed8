import { setTimeout as delay } from 'node:timers/promises'
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { findFreePort } from '../../../../dev/ports.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { createSeals } from './seals.ts'

const port = await findFreePort()
const address = `http://127.0.0.1:${port}`
const orders = await ordersFixture(t, { publicUrl: address })
const { app, apply, createToken, rows, send, get, ordersOptions } = orders
await app.listen({ host: '127.0.0.1', port })
await apply(tenantFile({ id: 'rival', name: 'Rival Couriers' }))
const rivalToken = await createToken('shop@example.com', 'rival')
const seals = createSeals(ordersOptions.serviceToken)
const resource = `${address}/mcp/demo`
const redirect_uri = 'https://agent.example/callback'
const merchant = '/api/public/merchant'
const logIn = async (email: string, password: string): Promise<string> =>
  (await send('POST', `${merchant}/login`, { email, password }, { token: '' })).body.token
const ownerToken = await logIn('shop@example.com', 'lanka-shoes-demo')

/** Keeps what the official client keeps, and where it sent the browser. */
class Memory implements OAuthClientProvider {
  information: OAuthClientInformationMixed | undefined
  kept: OAuthTokens | undefined
  verifier = ''
  sentTo = new URL('http://nowhere.example')
  redirectUrl = redirect_uri
  clientMetadata = { client_name: 'Claude', redirect_uris: [redirect_uri], token_endpoint_auth_method: 'none' }
  state = () => 'a state'
  clientInformation = () => this.information
  saveClientInformation = (information: OAuthClientInformationMixed) => {
    this.information = information
  }
  tokens = () => this.kept
  saveTokens = (tokens: OAuthTokens) => {
    this.kept = tokens
  }
  redirectToAuthorization = (url: URL) => {
    this.sentTo = url
  }
  saveCodeVerifier = (verifier: string) => {
    this.verifier = verifier
  }
  codeVerifier = () => this.verifier
}

/** Does what the desk does: decides as a signed-in person. Returns where the browser goes next. */
const decide = async (authorize: URL | string, decision: object = {}, options: object = { token: ownerToken }) => {
  const { headers } = await fetch(authorize, { redirect: 'manual' })
  const location = headers.get('location') ?? ''
  t.match(location, `${address}/desk/#/agent/`)
  const body = { request: location.split('/').at(-1), allow: true, may_book: true, days: 30, ...decision }
  return send('POST', `${merchant}/agent`, body, options)
}

const connect = async (t: Test, memory: Memory) => {
  const client = new Client({ name: 'test', version: '1' })
  t.teardown(() => client.close())
  const transport = new StreamableHTTPClientTransport(new URL(resource), { authProvider: memory })
  await client.connect(transport)
  return client
}

/** Connects the official client from the first 401 on, as a person allows it. */
const dance = async (t: Test, decision: object = {}, options?: object) => {
  const memory = new Memory()
  const transport = new StreamableHTTPClientTransport(new URL(resource), { authProvider: memory })
  await t.rejects(new Client({ name: 'test', version: '1' }).connect(transport), UnauthorizedError)
  const { data } = (await decide(memory.sentTo, decision, options)).body
  await transport.finishAuth(new URL(data.url).searchParams)
  return { memory, client: await connect(t, memory), code: new URL(data.url).searchParams.get('code') ?? '' }
}

const post = async (path: string, fields: Record<string, string> | [string, string][]) => {
  const response = await fetch(`${resource}/${path}`, { method: 'POST', body: new URLSearchParams(fields) })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}
const register = async (metadata: unknown) => {
  const headers = { 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body: JSON.stringify(metadata) }
  const response = await fetch(`${resource}/register`, init)
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}
const challengeOf = async (verifier: string): Promise<string> =>
  Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(verifier))).toString('base64url')
const verifier = 'v'.repeat(50)
const { client_id = '' } = (await register({ client_name: 'Plain', redirect_uris: [redirect_uri] })).body
const asked = {
  ...{ response_type: 'code', client_id, redirect_uri, code_challenge: await challengeOf(verifier) },
  ...{ code_challenge_method: 'S256', resource, state: 'mine', scope: 'parcels.read parcels.book' },
}
const authorizeUrl = (changes: Record<string, string | undefined> = {}) => {
  const fields = Object.entries({ ...asked, ...changes }).flatMap(([name, value]) =>
    value ? [[name, value] as [string, string]] : [],
  )
  return `${resource}/authorize?${new URLSearchParams(fields)}`
}
const newCode = async (decision: object = {}, token = ownerToken): Promise<string> =>
  new URL((await decide(authorizeUrl(), decision, { token })).body.data.url).searchParams.get('code') ?? ''
const exchange = (code: string, changes: Record<string, string> = {}) =>
  post('token', {
    grant_type: 'authorization_code',
    code,
    redirect_uri,
    client_id,
    code_verifier: verifier,
    ...changes,
  })
const refresh = (refresh_token: string, changes: Record<string, string> = {}) =>
  post('token', { grant_type: 'refresh_token', refresh_token, client_id, ...changes })
const callTools = (token: string) =>
  send('POST', '/mcp/demo', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { token, tenant: '' })
const invalidGrant = { status: 400, body: { error: 'invalid_grant', error_description: /Connect the agent again/ } }

t.test('the official client connects from a 401, calls tools, refreshes its token and is out once revoked', async t => {
  const { memory, client } = await dance(t)
  t.equal(memory.sentTo.searchParams.get('resource'), resource)
  t.match(memory.kept, { token_type: 'Bearer', expires_in: 3600, scope: 'parcels.read parcels.book' })
  const content = batch([order({ order_no: 'from the web' })])
  const { structuredContent } = await client.callTool({ name: 'quote', arguments: { ...content } })
  const { digest } = structuredContent as { digest: string }
  const booked = await client.callTool({ name: 'book', arguments: { ...content, digest } })
  t.match(booked.structuredContent, { data: [/^DM/] })

  const { access_token = '', refresh_token = '' } = memory.kept ?? {}
  await rows(`update tokens set expires_at = now() where name = 'Claude'`)
  await delay(3_200)
  t.match((await client.listTools()).tools, [{ name: 'find_city' }], 'the client has refreshed its token')
  t.not(memory.kept?.access_token, access_token)
  t.not(memory.kept?.refresh_token, refresh_token)
  t.equal((await callTools(access_token)).status, 401)

  const { information } = memory
  const revoked = await post('revoke', {
    token: memory.kept?.refresh_token ?? '',
    client_id: information?.client_id ?? '',
  })
  t.equal(revoked.status, 200)
  await delay(3_200)
  await t.rejects(client.listTools(), 'neither token works')
  t.match(await callTools(memory.kept?.access_token ?? ''), { status: 401 })
  t.match(await rows(`select revoked_at from tokens where name = 'Claude'`), [{ revoked_at: Date }])
})

t.test('documents say where to go: the resource, its authorization server, and a 401 says where they are', async t => {
  const { headers, body } = await send('POST', '/mcp/demo', {}, { token: '', tenant: '' })
  const metadata = `${address}/.well-known/oauth-protected-resource/mcp/demo`
  t.equal(headers['www-authenticate'], `Bearer resource_metadata="${metadata}"`)
  t.match(body, { message: 'Unauthenticated.' })
  t.match(await (await fetch(metadata)).json(), { resource, authorization_servers: [resource] })
  const server = await (await fetch(`${address}/.well-known/oauth-authorization-server/mcp/demo`)).json()
  t.match(server, { issuer: resource, code_challenge_methods_supported: ['S256'], registration_endpoint: String })
  for (const path of ['.well-known/oauth-protected-resource/mcp/No!', 'mcp/No!/authorize'])
    t.equal((await fetch(`${address}/${path}`)).status, 404)
})

t.test('a token does what the person allowed, no more, and tokens of programs work as before', async t => {
  const { body: made } = await exchange(await newCode({ may_book: false, days: 1 }))
  t.match(made, { scope: 'parcels.read' })
  const token = made.access_token ?? ''
  t.equal((await get('/order', { token })).status, 200)
  const refused = { status: 403, body: { code: 'role_forbidden', message: /allow it there/ } }
  const bulk = await send('POST', `${merchant}/order/bulk?dry_run=true`, batch([order()]), { token })
  t.match(bulk, { ...refused, headers: { ratelimit: /^"merchant"/ } }, 'counts against the merchant, not as a guess')
  for (const path of ['/token', '/webhook', '/person', '/sessions', '/user/get-current', '/balance'])
    t.match(await get(path, { token }), refused, path)
  t.equal((await callTools(token)).status, 200)
  t.equal((await send('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { token })).status, 200)
  t.match(await send('POST', '/mcp/rival', {}, { token }), { status: 401 }, 'made for one company')
  t.equal((await callTools(orders.token)).status, 200, 'a token of a program')

  const listed = (await get('/token', { token: ownerToken })).body.data
  const own = listed.find(({ name }: { name: string }) => name === 'Plain')
  t.ok(Date.parse(own.expires_at) > Date.now() + 80_000_000, 'shown until the end that the person chose')
  t.equal((await send('DELETE', `${merchant}/token/${own.id}`, undefined, { token: ownerToken })).status, 200)
  await delay(3_200)
  t.equal((await callTools(token)).status, 401)
  t.match(await refresh(made.refresh_token ?? ''), invalidGrant)
})

t.test("a deactivated person's agents are out within five seconds", async t => {
  const person = { name: 'Nimali Silva', email: 'nimali@example.com', role: 'owner', password: 'nimali-silva' }
  const { id } = (await send('POST', `${merchant}/person`, person, { token: ownerToken })).body.data
  const { memory } = await dance(t, {}, { token: await logIn(person.email, person.password) })
  const { access_token = '', refresh_token = '' } = memory.kept ?? {}
  t.equal((await callTools(access_token)).status, 200)
  const audited = await rows(`select actor from audit where action = 'token.created' order by audit_id desc limit 1`)
  t.match(audited, [{ actor: /^\d+ Nimali Silva$/ }], 'the audit names who allowed the agent')
  await send('PATCH', `${merchant}/person/${id}`, { is_active: false }, { token: ownerToken })
  await delay(3_200)
  t.equal((await callTools(access_token)).status, 401)
  t.match(await refresh(refresh_token, { client_id: memory.information?.client_id ?? '' }), invalidGrant)
})

t.test('agents end with the role or the account of the owner who allowed them, and do not come back', async t => {
  const person = { name: 'Kamal Dias', email: 'kamal@example.com', role: 'owner', password: 'kamal-the-owner' }
  const { id } = (await send('POST', `${merchant}/person`, person, { token: ownerToken })).body.data
  const change = (body: object) => send('PATCH', `${merchant}/person/${id}`, body, { token: ownerToken })
  const find = async () =>
    (await rows('select token_id, revoked_at from tokens where person_id = $1 and not from_login', [id]))[0] ?? {}
  for (const [ending, restoring] of [
    [{ role: 'clerk' }, { role: 'owner' }],
    [{ is_active: false }, { is_active: true }],
  ] as const) {
    const token = await logIn(person.email, person.password)
    const { memory } = await dance(t, {}, { token })
    const late = await newCode({}, token)
    const { access_token = '', refresh_token = '' } = memory.kept ?? {}
    t.equal((await callTools(access_token)).status, 200)
    await change(ending)
    const { token_id, revoked_at } = await find()
    t.ok(revoked_at, 'the list of tokens and the audit show the end')
    t.match(await rows(`select from audit where action = 'token.revoked' and object_id = $1`, [token_id]), [{}])
    t.match(await exchange(late), invalidGrant, 'a code from before')
    await change(restoring)
    await delay(3_200)
    t.equal((await callTools(access_token)).status, 401)
    t.match(await refresh(refresh_token, { client_id: memory.information?.client_id ?? '' }), invalidGrant)
    await rows('delete from tokens where token_id = $1', [token_id])
  }
  const code = await newCode({}, await logIn(person.email, person.password))
  const { access_token = '', refresh_token = '' } = (await exchange(code)).body
  await rows(`update merchant_people set role = 'clerk' where person_id = $1`, [id])
  t.match(await refresh(refresh_token), invalidGrant)
  t.equal((await callTools(access_token)).status, 401, 'of a clerk from before this rule')
})

t.test(
  'a code works once, within a minute, for its client, redirect URI and verifier; a second use ends the token',
  async t => {
    const code = await newCode()
    t.match(await exchange(code, { code_verifier: 'w'.repeat(50) }), invalidGrant)
    t.match(await exchange(code, { redirect_uri: 'https://agent.example/other' }), invalidGrant)
    const other = (await register({ client_name: 'Other', redirect_uris: [redirect_uri] })).body.client_id ?? ''
    t.match(await exchange(code, { client_id: other }), invalidGrant)
    // The last character has two bits that are no part of the signature.
    const twin = code.slice(0, -1) + String.fromCharCode(code.charCodeAt(code.length - 1) + 1)
    const wrongs = [twin, `${code}A`, `A${code}`, 'x', '', '\u0000', 'x'.repeat(3_000), code.replace('.', '..')]
    for (const wrong of wrongs) t.match(await exchange(wrong), invalidGrant)
    const both = await Promise.all([exchange(code), exchange(code)])
    t.strictSame(both.map(({ status }) => status).sort(), [200, 400])
    const { access_token = '', refresh_token = '' } = both.find(({ status }) => status === 200)?.body ?? {}
    t.match(await exchange(code), invalidGrant)
    t.match(await refresh(refresh_token), invalidGrant, 'the second use ended it')
    t.equal((await callTools(access_token)).status, 401)

    const opened = seals.open('code', 'demo', await newCode())
    if (!opened) throw new Error('no code')
    t.match(await exchange(seals.seal('code', 'demo', { ...opened, ends_at: Date.now() - 1 })), invalidGrant, 'expired')
    t.match(await exchange(seals.seal('code', 'rival', opened)), invalidGrant, 'of another company')
    t.match(await exchange(seals.seal('request', 'demo', { ...opened })), invalidGrant, 'a seal of another kind')
  },
)

t.test('a refresh token works once: a second use ends the token that came of the first', async t => {
  const { body: first } = await exchange(await newCode())
  t.match(await refresh(first.access_token ?? ''), invalidGrant, 'an access token refreshes nothing')
  const other = (await register({ client_name: 'Other', redirect_uris: [redirect_uri] })).body.client_id ?? ''
  t.match(await refresh(first.refresh_token ?? '', { client_id: other }), invalidGrant)
  t.equal((await post('revoke', { token: first.access_token ?? '', client_id: other })).status, 200)
  const { status, body: second } = await refresh(first.refresh_token ?? '')
  t.equal(status, 200, 'another client revoked nothing')
  t.equal((await callTools(second.access_token ?? '')).status, 200)
  t.match(await refresh(first.refresh_token ?? ''), invalidGrant)
  t.match(await refresh(second.refresh_token ?? ''), invalidGrant)
  await delay(3_200)
  t.equal((await callTools(second.access_token ?? '')).status, 401)

  const { body: last } = await exchange(await newCode({ days: 1 }))
  await rows(`update tokens set refreshed_until = now() + interval '10 minutes' where refreshed_until > now()`)
  const { body: short } = await refresh(last.refresh_token ?? '')
  t.ok(Number(short.expires_in) <= 600, 'no token outlives what the person allowed')
  t.equal((await post('revoke', { token: short.access_token ?? '', client_id })).status, 200)
  t.match(await refresh(short.refresh_token ?? ''), invalidGrant)
})

t.test(
  'each wrong request for an authorization has its error on a page of ours: anybody may register an address',
  async t => {
    const table: [Record<string, string | undefined>, string][] = [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ code_challenge_method: undefined }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ code_challenge: undefined }, 'invalid_request'],
      [{ state: 'x'.repeat(2_001) }, 'invalid_request'],
      [{ resource: `${address}/mcp/rival` }, 'invalid_target'],
      [{ scope: 'parcels.read everything' }, 'invalid_scope'],
    ]
    for (const [changes, error] of table) {
      const response = await fetch(authorizeUrl(changes), { redirect: 'manual' })
      t.match([response.status, response.headers.get('location')], [400, null], error)
      t.match(response.headers.get('content-type'), /^text\/plain/)
      t.match(await response.text(), new RegExp(`: ${error}\\. Connect the agent again`))
    }
    for (const query of [`&state=1&state=2`, '&code_challenge=x', '&response_type=code', '&scope=x'])
      t.ok((await fetch(authorizeUrl() + query, { redirect: 'manual' })).status < 500, query)
    const foreign = seals.seal('client', 'rival', { name: 'Foreign', redirect_uris: [redirect_uri] })
    for (const changes of [
      ...[{ client_id: 'unknown' }, { client_id: foreign }, { client_id: `${client_id}x` }, { client_id: undefined }],
      ...[{ redirect_uri: `${redirect_uri}/` }, { redirect_uri: 'https://evil.example/' }, { redirect_uri: undefined }],
    ]) {
      const response = await fetch(authorizeUrl(changes), { redirect: 'manual' })
      t.match(
        [response.status, await response.text()],
        [400, /not registered. Connect the agent/],
        JSON.stringify(changes),
      )
    }
  },
)

t.test('a program of the own machine comes back to any port, at the registered path', async t => {
  const uris = ['http://127.0.0.1:4321/a', 'http://localhost/a', 'http://[::1]:1/a', 'https://agent.example:1/a']
  const { client_id } = (await register({ redirect_uris: uris })).body
  const statusOf = async (redirect_uri: string) =>
    (await fetch(authorizeUrl({ client_id, redirect_uri }), { redirect: 'manual' })).status
  for (const right of [...uris, 'http://127.0.0.1/a', 'http://[::1]:65535/a'])
    t.equal(await statusOf(right), 302, right)
  for (const wrong of [
    ...['http://127.0.0.1:9/b', 'http://127.0.0.1:9/a?b', 'https://127.0.0.1:9/a', 'http://127.0.0.2:9/a'],
    ...['http://127.0.0.1:9/a#', 'http://u@127.0.0.1:9/a', 'http://127.0.0.1.:9/a', 'http://127.0.0.1:99999/a'],
    ...['https://agent.example:2/a', 'https://agent.example/a', 'http://127.0.0.1:9@evil.example/a'],
  ])
    t.equal(await statusOf(wrong), 400, wrong)
  const redirect_uri = 'http://127.0.0.1:9/a'
  const { body } = await decide(authorizeUrl({ client_id, redirect_uri }))
  t.equal(new URL(body.data.url).host, '127.0.0.1:9')
  const code = new URL(body.data.url).searchParams.get('code') ?? ''
  t.match(await exchange(code, { client_id: client_id ?? '', redirect_uri: uris[0] ?? '' }), invalidGrant)
  t.equal((await exchange(code, { client_id: client_id ?? '', redirect_uri })).status, 200)
})

t.test('a client of OAuth 2.1 redeems its code without the redirect URI', async t => {
  const grant = { grant_type: 'authorization_code', code: await newCode(), client_id, code_verifier: verifier }
  t.equal((await post('token', grant)).status, 200)
})

t.test('a person refuses, and only owners who are signed in to the company decide', async t => {
  const { body } = await decide(authorizeUrl(), { allow: false })
  const back = new URL(body.data.url)
  t.match(Object.fromEntries(back.searchParams), { error: 'access_denied', state: 'mine', iss: resource })
  t.match(await decide(authorizeUrl(), {}, { token: orders.token }), { status: 403 }, 'a program')
  t.match(await decide(authorizeUrl(), {}, { token: '' }), { status: 401 })
  t.match(await decide(authorizeUrl(), {}, { token: rivalToken, tenant: 'rival' }), { status: 403 })
  const clerk = { name: 'Sunil', email: 'sunil@example.com', role: 'clerk', password: 'sunil-the-clerk' }
  await send('POST', `${merchant}/person`, clerk, { token: ownerToken })
  const token = await logIn(clerk.email, clerk.password)
  t.match(await decide(authorizeUrl(), {}, { token }), { status: 403, body: { message: /Ask an owner/ } })
  for (const days of [0, 366, 1.5, '30']) t.match(await decide(authorizeUrl(), { days }), { status: 422 })
  const request = seals.open('request', 'demo', (await newRequest()) ?? '')
  if (!request) throw new Error('no request')
  const old = seals.seal('request', 'demo', { ...request, ends_at: Date.now() - 1 })
  for (const wrong of [old, seals.seal('request', 'rival', request), 'x', `${await newRequest()}x`])
    t.match(await decide(authorizeUrl(), { request: wrong }), { status: 422, body: { message: /Connect the agent/ } })
  const many = await Promise.all(Array.from({ length: 52 }, () => newCode().catch(() => '')))
  for (const code of many) if (code) await exchange(code)
  t.match(await decide(authorizeUrl()), { status: 422, body: { errors: { name: [/already 50 tokens/] } } })
})
const newRequest = async (): Promise<string | undefined> =>
  (await fetch(authorizeUrl(), { redirect: 'manual' })).headers.get('location')?.split('/').at(-1)

t.test('a client registers names and redirect URIs that a person can trust, and nothing is stored', async t => {
  const loopback = ['http://127.0.0.1:4321/a', 'http://localhost/a', 'http://[::1]:1/a']
  const { status, body } = await register({ redirect_uris: loopback, token_endpoint_auth_method: 'client_secret_post' })
  t.match([status, body], [201, { client_name: '127.0.0.1:4321', token_endpoint_auth_method: 'none' }])
  for (const uri of [
    'http://agent.example/',
    'javascript:alert(1)',
    'cursor://x',
    'https://a/#b',
    'https://u@a/',
    'https://:p@a/',
    'http://localhost.evil.example/',
    'http://127.0.0.1@evil.example/',
    7,
    null,
  ])
    t.match(
      await register({ redirect_uris: [uri] }),
      { status: 400, body: { error: 'invalid_redirect_uri' } },
      String(uri),
    )
  for (const uris of [undefined, [], {}, 'x', Array(6).fill(redirect_uri), [`https://a/${'x'.repeat(500)}`]])
    t.match(await register({ redirect_uris: uris }), { status: 400, body: { error: 'invalid_redirect_uri' } })
  for (const client_name of ['', ' x', 7, {}, 'a\nb', '\u202eedualC', 'x'.repeat(81)]) {
    const refused = await register({ client_name, redirect_uris: [redirect_uri] })
    t.match(refused, { status: 400, body: { error: 'invalid_client_metadata' } }, JSON.stringify(client_name))
  }
  for (const metadata of [null, [], 'x', 1]) t.equal((await register(metadata)).status, 400)
})

t.test('the endpoints of tokens answer every wrong request with an error of OAuth, none with a 5xx', async t => {
  const right = { grant_type: 'refresh_token', refresh_token: 'x', client_id }
  for (const path of ['token', 'revoke'] as const) {
    t.match(await post(path, { ...right, client_id: 'x' }), { status: 401, body: { error: 'invalid_client' } })
    t.match(await post(path, {}), { status: 401, body: { error: 'invalid_client' } })
    t.match(await post(path, { ...right, resource: `${resource}/` }), {
      status: 400,
      body: { error: 'invalid_target' },
    })
    const twice: [string, string][] = [...Object.entries(right), ['client_id', client_id]]
    t.match(await post(path, twice), { status: 400, body: { error: 'invalid_request' } })
  }
  for (const grant_type of ['', 'password', 'client_credentials', 'toString'])
    t.match(await post('token', { ...right, grant_type }), { status: 400, body: { error: 'unsupported_grant_type' } })
  t.equal((await post('revoke', { client_id, token: '\u0000' })).status, 200)
  for (const path of ['token', 'revoke', 'register']) {
    for (const type of ['text/plain', 'application/json', 'application/x-www-form-urlencoded']) {
      const init = { method: 'POST', headers: { 'content-type': type }, body: '{"a":' }
      const response = await fetch(`${resource}/${path}`, init)
      t.match(response, { status: path !== 'register' && type.endsWith('urlencoded') ? 401 : 400 }, `${path} ${type}`)
      t.equal(response.headers.get('cache-control'), 'no-store')
      t.match(await response.json(), { error: /^invalid_/, error_description: /\.$/ }, `${path} ${type}`)
    }
    t.equal((await fetch(`${resource}/${path}`, { method: 'PUT' })).status, 405)
  }
})
