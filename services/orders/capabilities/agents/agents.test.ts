import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../../../../dev/settings.ts'
import type { OpenApi } from '../../../../shared/api-docs/openapi.ts'
import { connectAgent } from '../../test/agent-client.ts'
import { build, serviceToken } from '../../test/build.ts'
import { ordersFixture } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'
import { createDigests } from './routes.ts'
import { createTools } from './tools.ts'

const orders = await ordersFixture(t)
const { app, createToken, make, move, moveAlong, rows, send, token, booksToken } = orders
const url = await app.listen({ host: '127.0.0.1', port: 0 })
const rivalToken = await orders
  .apply(tenantFile({ id: 'rival', name: 'Rival Couriers' }))
  .then(() => createToken('shop@example.com', 'rival'))

const connect = (t: Test, connection: Partial<Parameters<typeof connectAgent>[1]> = {}) =>
  connectAgent(t, { address: url, token, ...connection })
type Test = Parameters<typeof connectAgent>[0]

const countOrders = async (order_no: string): Promise<number> =>
  (await rows('select count(*)::int from orders where order_no = $1', [order_no]))[0].count

const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

t.test('the library of the protocol is loaded by the first message, not by processes without agents', async t => {
  const loaded: string[] = []
  const hooks = registerHooks({
    resolve: (name, context, next) => {
      loaded.push(name)
      return next(name, context)
    },
  })
  t.teardown(() => hooks.deregister())
  const without = await build(t, { capabilities: new Map() })
  t.equal((await without.app.inject({ method: 'POST', url: '/mcp', payload: message })).statusCode, 404)
  t.equal((await send('GET', '/api/public/merchant/order')).status, 200)
  t.notOk(loaded.some(name => name.includes('modelcontextprotocol')))
  t.equal((await send('POST', '/mcp', message)).status, 200)
  t.ok(loaded.includes('@modelcontextprotocol/server'))
})

const names = 'find_city quote book confirm cancel track list_orders failed_deliveries instruct'.split(' ')

for (const mode of ['legacy', { pin: '2026-07-28' }] as const)
  t.test(`the official client initializes, lists and calls each tool: ${JSON.stringify(mode)}`, async t => {
    const { client, use } = await connect(t, { mode })
    t.equal(client.getServerVersion()?.name, 'courier')
    t.match(client.getInstructions(), /Quote before you book/)
    const { tools } = await client.listTools()
    t.strictSame(
      tools.map(({ name }) => name),
      names,
    )
    for (const { description, inputSchema, outputSchema } of tools) {
      t.match(description, /^Use this .*[^.]\.$/)
      t.match([inputSchema, outputSchema], [{ type: 'object' }, { type: 'object' }])
      // Some models accept no other names of arguments.
      t.ok(Object.keys(inputSchema.properties ?? {}).every(name => /^[a-zA-Z0-9_.-]{1,64}$/.test(name)))
      t.notMatch(JSON.stringify([inputSchema, outputSchema]), /\$ref/)
    }
    const changing = tools.filter(({ annotations }) => annotations?.destructiveHint && !annotations.readOnlyHint)
    t.strictSame(
      changing.map(({ name }) => name),
      ['book', 'confirm', 'cancel', 'instruct'],
    )
    t.ok(tools.every(({ annotations }) => annotations?.idempotentHint))

    const found = await use('find_city', { places: [{ text: 'Gale' }], origin_city_id: 1500 })
    t.match(found.data, [{ confidence: 'likely', city: { id: 2100, name: 'Galle' }, served: true }])
    const content = batch([order({ order_no: `tools ${JSON.stringify(mode)}` })])
    const quoted = await use('quote', content)
    t.match(quoted, { dry_run: true, data: [{ destination_city: 'Galle', delivery_charge: 540.5 }], digest: /./ })
    const { data: waybills } = await use('book', { ...content, digest: quoted.digest })
    t.match(await use('track', { waybill: waybills[0] }), { data: { status: { key: 'key_1' } } })
    t.match(await use('confirm', { waybill_numbers: waybills }), { data: waybills })
    t.match((await use('list_orders', { waybill_number: waybills[0] })).data, [{ status: { key: 'key_2' } }])
    t.match(await use('cancel', { waybill_numbers: waybills }), { data: waybills })

    const [failing = ''] = await make([`DM1000000${mode === 'legacy' ? 1 : 2}`], { initial_status_key: 'key_2' })
    await moveAlong(failing, [9, 10, 11, 12])
    t.equal((await move([failing], 'key_15', { reason_code: 'not_home' })).status, 200)
    t.match((await use('failed_deliveries', { instructed: false })).data, [{ waybill_number: failing }])
    t.match(await use('instruct', { waybill: failing, action: 'return', date: null }), { data: { attempt: 1 } })
    t.match((await use('failed_deliveries', { instructed: 'false' })).data, [])
  })

t.test('books only the quoted content, within the hour, for the merchant that it was quoted for', async t => {
  const { use } = await connect(t)
  const content = batch([order({ order_no: 'quoted' })])
  const { digest } = await use('quote', content)
  for (const wrong of ['', undefined, null, 1, `${digest}A`, digest.replace(/^\d/, '2'), '1.x', 'x'.repeat(10_000)])
    t.match(await use('book', { ...content, digest: wrong }), {
      isError: true,
      errors: { digest: [/Call quote with the same content for a new digest/] },
    })
  for (const other of [{ cod: 4501 }, { customer_phone: '0770000102' }, { remark: '' }])
    t.match(await use('book', { ...batch([order({ order_no: 'quoted', ...other })]), digest }), { isError: true })
  const { use: useAsBooks } = await connect(t, { token: booksToken })
  t.match(await useAsBooks('book', { ...content, digest }), { isError: true, errors: { digest: [/./] } })
  const { use: useAsRival } = await connect(t, { token: rivalToken, tenant: 'rival' })
  t.match(await useAsRival('book', { ...content, digest }), { isError: true, errors: { digest: [/./] } })
  t.equal(await countOrders('quoted'), 0)

  const reordered = { digest, order_data: [Object.fromEntries(Object.entries(content.order_data[0] ?? {}).reverse())] }
  const booked = await use('book', { ...reordered, general_data: content.general_data })
  t.match(booked, { isError: false, data: [/^DM/] })
  t.notOk('replayed' in booked)
  const earlier = { isError: false, data: booked.data, replayed: true, note: /another order_no/ }
  t.match(await use('book', { ...content, digest }), earlier, 'a repeated call is the same booking')
  const again = await use('quote', content)
  t.match(again.warnings, { 'order_data.0': [new RegExp(booked.data[0])] }, 'a new quote warns of the earlier order')
  t.match(await use('book', { ...content, digest: again.digest }), earlier, 'a quote anew books the content once')
  t.equal(await countOrders('quoted'), 1)
  const second = batch([order({ order_no: 'quoted too' })])
  const { digest: other } = await use('quote', second)
  t.not((await use('book', { ...second, digest: other })).data[0], booked.data[0], 'another order_no is another order')
})

t.test('a digest is valid in each process with the same secret, for an hour', async t => {
  let now = Date.now()
  const [one, other] = [serviceToken, serviceToken].map(secret => createDigests(secret, () => now))
  const merchant = { tenant: 'demo', merchantId: '1' }
  const digest = one?.create(merchant, 'content') ?? ''
  now += 3_599_999
  t.ok(other?.isValid(digest, merchant, 'content'))
  t.notOk(createDigests('another secret', () => now).isValid(digest, merchant, 'content'))
  now += 1
  t.notOk(other?.isValid(digest, merchant, 'content'))
})

t.test('an agent corrects a misspelt city by the answer alone', async t => {
  const { use } = await connect(t)
  const { destination_city_id: _, ...rest } = order({ order_no: 'misspelt' })
  const content = batch([{ ...rest, destination_city_name: 'Hikaduwa', destination_state_name: 'Galle' }])
  const refused = await use('quote', content)
  t.match(refused, { isError: true, code: 'validation_failed' })
  for (const [path, [nearest]] of Object.entries<[{ id: number }]>(refused.suggestions)) {
    const [, index, end] = /^order_data\.(\d+)\.(\w+)_city_name$/.exec(path) ?? []
    Object.assign(content.order_data[Number(index)] as object, { [`${end}_city_id`]: nearest.id })
  }
  const quoted = await use('quote', content)
  t.match(quoted.data, [{ destination_city: 'Hikkaduwa', destination_state: 'Galle' }])
  t.match(await use('book', { ...content, digest: quoted.digest }), { isError: false, data: [/^DM/] })
})

t.test("an agent sees and changes nothing of another merchant, and needs the merchant's token", async t => {
  await make(['DM20000001'], { initial_status_key: 'key_1' })
  for (const connection of [{ token: booksToken }, { token: rivalToken, tenant: 'rival' }]) {
    const { use } = await connect(t, connection)
    t.match(await use('track', { waybill: 'DM20000001' }), { isError: true, code: 'not_found' })
    t.match(await use('list_orders', { waybill_number: 'DM20000001' }), { isError: false, data: [] })
    for (const name of ['confirm', 'cancel'])
      t.match(await use(name, { waybill_numbers: ['DM20000001'] }), { isError: true })
    t.match(await use('instruct', { waybill: 'DM20000001', action: 'return' }), { code: 'not_found' })
    const { data } = await use('failed_deliveries')
    t.same(data, [])
  }
  t.match(await rows(`select status_key from orders where waybill_number = 'DM20000001'`), [{ status_key: 'key_1' }])
  for (const wrong of [{ token: 'courier_wrong' }, { token: rivalToken }, { token: orders.staffToken }])
    await t.rejects(connect(t, wrong))
  t.match(await send('POST', '/mcp', message, { token: '' }), { status: 401, body: { message: 'Unauthenticated.' } })
  t.match(await send('POST', '/mcp', message, { tenant: '' }), { status: 400, body: { code: 'tenant_required' } })
})

t.test("an agent with a clerk's token acts as the clerk, by operations that clerks may use", async t => {
  const people = '/api/public/merchant/person'
  const post = async (path: string, body: object, token = '') => (await send('POST', path, body, { token })).body
  const logIn = async (email: string, password: string): Promise<string> =>
    (await post('/api/public/merchant/login', { email, password })).token
  const clerk = { name: 'Nimali Silva', email: 'nimali@example.com', role: 'clerk', password: 'nimali-silva' }
  await post(people, clerk, await logIn('shop@example.com', 'lanka-shoes-demo'))
  const { use } = await connect(t, { token: await logIn(clerk.email, clerk.password) })
  const content = batch([order({ order_no: 'by a clerk' })])
  const { data } = await use('book', { ...content, digest: (await use('quote', content)).digest })
  const { timeline } = (await use('track', { waybill: data[0] })).data
  t.match(timeline, [{ user: { first_name: 'Nimali', last_name: 'Silva' }, by: 'merchant' }])
  const document: OpenApi = (await app.inject('/openapi.json')).json()
  const refusing = Object.entries(document.paths).filter(([, methods]) => JSON.stringify(methods).includes('"403"'))
  t.ok(refusing.length > 5)
  for (const { path } of createTools(document).values()) t.notOk(refusing.some(([refused]) => refused === path))
})

t.test('what is no call of a tool gets an answer that says what is wrong', async t => {
  const { use } = await connect(t)
  t.match(await use('pay'), { isError: true, errors: { name: [/The tools are find_city, quote/] } })
  t.match(await use('list_orders', { city: 'Galle' }), { errors: { city: [/Known are page, .*status/] } })
  t.match(await use('list_orders', { per_page: 'many' }), { isError: true, code: 'validation_failed' })
  t.match(await use('quote', { order_data: 'one' }), { errors: { general_data: [/./], order_data: [/./] } })
  for (const waybill of ['status-list', '..', undefined, {}, '\ud800', 'x'.repeat(300)])
    t.match(await use('track', { waybill }), { isError: true, message: /./ }, String(waybill))
  for (const body of [[message], {}, { jsonrpc: '2.0', method: 1 }])
    t.equal((await send('POST', '/mcp', body)).status, 422)
  t.equal((await send('GET', '/mcp')).status, 405)
  const nested = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
  const params = `{"name":"quote","arguments":{"order_data":${nested}}}`
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
  t.match(await send('POST', '/mcp', body), { status: 200, body: { result: { isError: true } } })
})

t.test('the limit of the merchant counts each call once, and an answer says when to come back', async t => {
  const few = await build(t, { requestsPerMinute: 5 })
  const { client, use } = await connect(t, {
    address: await few.app.listen({ host: '127.0.0.1', port: 0 }),
    token: few.token,
    mode: { pin: '2026-07-28' },
  })
  // The client has asked once which protocol the service speaks.
  for (let call = 0; call < 4; call++) t.match(await use('list_orders'), { isError: false })
  await few.request('/order')
  await t.rejects(client.callTool({ name: 'list_orders', arguments: {} }), 'the limit of /mcp is reached')
  const metrics = (await few.app.inject('/metrics')).body
  t.match(metrics, /route="\/api\/public\/merchant\/order",status="200"\} 5/)
})

t.test('without the capability of failed deliveries their tools are not listed', async t => {
  const { agents } = { agents: orders.ordersOptions.capabilities.get('agents') }
  const alone = await build(t, { capabilities: new Map(agents ? [['agents', agents]] : []) })
  const address = await alone.app.listen({ host: '127.0.0.1', port: 0 })
  const { client, use } = await connect(t, { address, token: alone.token })
  const { tools } = await client.listTools()
  t.strictSame(
    tools.map(({ name }) => name),
    names.slice(0, -2),
  )
  t.match(await use('instruct', { waybill: 'DM00000001' }), { errors: { name: [/There is no such tool/] } })
})

t.test('the transcript of the documentation is what happens', async t => {
  const page = readFileSync(join(root, 'docs/merchants/agents.md'), 'utf8')
  const [, transcript = ''] = /## A transcript\n[\s\S]*?```text\n([\s\S]*?)```/.exec(page) ?? []
  const steps = [...transcript.matchAll(/^> (\w+) (.*)\n< (.*)$/gm)]
  t.ok(steps.length > 5)
  const demo = await build(t, { file: JSON.parse(readFileSync(join(root, 'examples/demo-tenant.json'), 'utf8')) })
  const address = await demo.app.listen({ host: '127.0.0.1', port: 0 })
  const { use } = await connect(t, { address, token: demo.token })
  const known = new Map<string, string>()
  const fill = (text: string) => [...known].reduce((filled, [shown, real]) => filled.replaceAll(shown, real), text)
  for (const [, name = '', given = '', shown = ''] of steps) {
    const { isError, ...answer } = await use(name, JSON.parse(fill(given)))
    const expected = JSON.parse(shown)
    if (expected.digest) known.set(expected.digest, answer.digest)
    if (name === 'book') known.set(expected.data[0], answer.data[0])
    t.match(answer, JSON.parse(fill(shown)), `${name} ${given}`)
    t.equal(isError, 'errors' in expected)
  }
})
