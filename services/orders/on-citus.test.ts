import { revokeTokenById } from '@courier/shared/cli/token-commands.ts'
import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { takeAudit } from '@courier/shared/postgres/old-rows.ts'
import { readKeys } from '@courier/shared/vault.ts'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { onCitus } from '../../dev/test-database.ts'
import { type Operation, readOperations } from '../../trust/document.ts'
import { rightBodies } from '../../trust/inputs.ts'
import { rotateSecrets } from './capabilities/feed/rotate-secrets.ts'
import { checkLedger, listFindings } from './capabilities/money/ledger/check-ledger.ts'
import { recover } from './capabilities/restoring/restored.ts'
import { createTokenFor, listTokens } from './core/access/token-commands.ts'
import type { Tx } from './core/database/tables.ts'
import { takeTimelines } from './core/lists/archive.ts'
import { acquireLease, postpone } from './core/relay/leases.ts'
import { createOrdersHousekeeping } from './housekeeping.ts'
import { allCapabilities, serviceToken } from './test/build.ts'
import { startReceiver, waitUntil } from './test/receiver.ts'
import { createClient } from './test/relay-fixture.ts'
import { batch, order, tenantFile } from './test/tenant.ts'
import { webhooksFixture } from './test/webhooks-fixture.ts'

const skip = !process.argv.includes(onCitus) && 'TEST_CITUS_URL names no Citus'

/** Opens two tenants whose rows lie on different nodes, with relay and sender; `complaints` lists logged warnings. */
const openTwo = async (t: Test) => {
  const complaints: string[] = []
  // Statements of loops, which try again, run out of time on a busy machine.
  const write = (line: string) => void (line.includes('Query read timeout') || complaints.push(line))
  const logger = pino({ level: 'warn' }, { write })
  const receiver = await startReceiver(t)
  // Three nodes beside other tests: a new connection may ask all of them for more than the usual four seconds.
  const poolOf = async (url: string) => {
    const patient = createPool({ url, name: 'test', connections: 10, statementSeconds: 20 })
    t.teardown(() => patient.end())
    return patient
  }
  const fixture = await webhooksFixture(t, { logger, notifier: createClient(t, receiver.url), poolOf })
  const { rows, apply, pool, relay, sender } = fixture
  const findNode = async (tenant: string): Promise<string> => {
    const text = `select nodename || ':' || nodeport as node from citus_shards
      where shardid = get_shard_id_for_distribution_column('orders', $1::text)`
    return (await rows(text, [tenant]))[0].node
  }
  let rival = 'rival'
  while ((await findNode(rival)) === (await findNode('demo'))) rival += 'x'
  await apply(tenantFile({ id: rival, waybills: { mode: 'manual', format: 'RV########' } }))
  relay.start()
  sender.start()
  const createTokens = async (tenant: string) => ({
    merchant: (await createTokenFor(pool, { tenant, merchant: 'shop@example.com' })).token,
    staff: (await createTokenFor(pool, { tenant, staff: 'Ruwan' })).token,
  })
  return { ...fixture, complaints, events: receiver.events, rival, createTokens }
}

t.test('every operation works for both tenants, and the token of one is refused at the other', { skip }, async t => {
  const { app, complaints, rival, createTokens, ...fixture } = await openTwo(t)
  const operations = readOperations((await app.inject('/openapi.json')).json())
  const rank = ({ id }: Operation) => ['DELETE', 'logout'].findIndex(word => id.includes(word))
  const inOrder = operations.toSorted((a, b) => rank(a) - rank(b))
  for (const tenant of ['demo', rival]) {
    const { merchant, staff } = await createTokens(tenant)
    const own = { token: merchant, tenant }
    for (const count of [1, 100, 1000]) {
      const chooseNumber = (n: number) =>
        tenant === 'demo' ? {} : { waybill_number: `RV${String(count * 10_000 + n).padStart(8, '0')}` }
      const body = batch(Array.from({ length: count }, (_, n) => order(chooseNumber(n))))
      const headers = { 'idempotency-key': `of-${count}` }
      t.equal((await fixture.bulk(body, { ...own, query: '?dry_run=true' })).status, 200)
      const booked = await fixture.bulk(body, { ...own, headers })
      t.equal(booked.status, 200, JSON.stringify(booked.body).slice(0, 300))
      t.strictSame((await fixture.bulk(body, { ...own, headers })).body, booked.body, 'the key repeats the response')
    }
    const { id } = await fixture.addReceiver({}, own)
    const [{ waybill_number: waybill }] = await fixture.rows(
      `select waybill_number from orders where tenant_id = $1 limit 1`,
      [tenant],
    )
    const names: Record<string, string> = { waybill, waybill_number: waybill, tenant, id }
    const send = async ({ id, method, path }: Pick<Operation, 'id' | 'method' | 'path'>, payload?: unknown) => {
      const token = path.startsWith('/internal') ? serviceToken : path.startsWith('/api/staff') ? staff : merchant
      const url = path.replace(/\{([^}]+)\}/g, (_all, name: string) => names[name] ?? '1')
      const headers = { 'x-tenant': tenant, authorization: `Bearer ${token}` }
      const response = await app.inject({ method: method as 'GET', url, headers, ...(payload ? { payload } : {}) })
      // Messages come from the notifier, which is unavailable here.
      const isUnavailable = path.endsWith('/messages') && response.statusCode === 503
      t.ok(response.statusCode < 500 || isUnavailable, `${tenant} ${id}: ${response.statusCode}`)
      return response
    }
    const actions = [{ id: 'a1', waybill_number: waybill, phone: '94770000101', action: 'call_me', text: null }]
    const act = { tenant, actions: actions.map(action => ({ ...action, happened_at: new Date().toISOString() })) }
    await send({ id: 'an action', method: 'POST', path: '/internal/customer-actions' }, act)
    const [request] = await fixture.rows('select request_id from customer_actions where tenant_id = $1', [tenant])
    const [delivered] = (
      await fixture.bulk(
        batch([order({ initial_status_key: 'key_2', ...(tenant !== 'demo' && { waybill_number: 'RV99999999' }) })]),
        own,
      )
    ).body.data
    for (const status_key of ['key_5', 'key_6', 'key_7'])
      t.equal(
        (
          await send(
            { id: 'deliver', method: 'POST', path: '/api/staff/order/status' },
            { waybill_numbers: [delivered], status_key },
          )
        ).statusCode,
        200,
      )
    const check = await checkLedger(fixture.pool, tenant)
    t.strictSame([check.lines, listFindings(check)], [1, []])
    for (const [path, body] of [
      [`/api/staff/order/requests/${request.request_id}/decision`, { decision: 'accepted' }],
      ['/api/staff/order/status', { waybill_numbers: [waybill], status_key: 'key_2' }],
      ['/api/public/merchant/order/quote', batch([order({ destination_city_id: 3000 })])],
    ] as const)
      t.ok((await send({ id: path, method: 'POST', path }, body)).statusCode < 423, path)
    for (const operation of inOrder)
      for (const body of operation.body ? rightBodies(operation) : [undefined]) await send(operation, body)
    await waitUntil('webhooks are queued', async () => {
      const left = await fixture.rows(`select 1 from webhook_deliveries where tenant_id = $1`, [tenant])
      return left.length > 0
    })
  }
  const { merchant } = await createTokens('demo')
  t.equal((await fixture.request('/order', undefined, { tenant: rival, token: merchant })).status, 401)
  await waitUntil('the outbox is empty', async () => (await fixture.rows('select 1 from outbox')).length === 0)
  t.ok(fixture.events.size > 2 * 1101)
  const metrics = (await app.inject('/metrics')).body
  for (const name of ['outbox_depth 0', 'webhook_endpoints_disabled']) t.match(metrics, name)
  t.strictSame(complaints, [])
})

t.test('a waiting request gets changes; an order like an earlier one gets a warning', { skip }, async t => {
  const { app, bulk, token, complaints } = await openTwo(t)
  const headers = { 'x-tenant': 'demo', authorization: `Bearer ${token}` }
  const waiting = app.inject({ url: '/api/public/merchant/order/changes?wait=20&cursor=now', headers })
  const first = await bulk(batch([order({ order_no: 'A' }), order({ order_no: 'B' })]))
  t.notOk(first.body.warnings, 'orders of a batch are not like each other')
  t.match((await waiting).json().data, [{ type: 'order.created', waybill_number: first.body.data[0] }])
  t.match((await bulk(batch([order({ order_no: 'A' })]))).body.warnings, { 'order_data.0.order_no': [/.*/] })
  t.strictSame(complaints, [])
})

t.test(
  '20 batches or moves at once with one key take effect once; the others get the same response or 409',
  { skip },
  async t => {
    const { bulk, app, createTokens, complaints } = await openTwo(t)
    const headers = { 'idempotency-key': 'at once' }
    const [waybill] = (await bulk(batch())).body.data
    const { staff } = await createTokens('demo')
    const move = async () => {
      const payload = { waybill_numbers: [waybill], status_key: 'key_2' }
      const own = { ...headers, 'x-tenant': 'demo', authorization: `Bearer ${staff}` }
      const response = await app.inject({ method: 'POST', url: '/api/staff/order/status', headers: own, payload })
      return { status: response.statusCode, headers: response.headers as Record<string, unknown> }
    }
    for (const act of [() => bulk(batch([order({ cod: 77 })]), { headers }), move]) {
      const responses = await Promise.all(Array.from({ length: 20 }, act))
      const unexpected = responses.filter(({ status }) => status !== 200 && status !== 409)
      t.strictSame(unexpected, [], 'neither an error nor a refusal')
      const successes = responses.filter(({ status }) => status === 200)
      t.equal(successes.filter(({ headers }) => headers['idempotency-replayed'] === undefined).length, 1)
    }
    t.strictSame(complaints, [], 'nothing was logged as a problem')
  },
)

t.test('the commands of the operator and the housekeeping run', { skip }, async t => {
  const { app, apply, pool, database, rows, book, addReceiver, bulk, complaints, ordersOptions } = await openTwo(t)
  await addReceiver()
  await book(3)
  const changed = tenantFile()
  changed.states[1]?.cities.pop()
  changed.rate_cards[0]?.rates.push({ from: 'metro', to: 'north', first_kg: 900, each_extra_kg: 100 })
  Object.assign(changed.merchants[0] ?? {}, { password: 'another-password' })
  for (const expected of [true, false]) t.equal(JSON.stringify(await apply(changed)).includes('change"'), expected)
  t.equal((await bulk(batch([order({ destination_city_id: 3000 })]))).status, 200)
  for (const { token_id } of (await listTokens(pool)).slice(0, 1)) t.ok(await revokeTokenById(pool, token_id))
  const keys = `new:${Buffer.alloc(32, 6).toString('base64')},test:${Buffer.alloc(32, 5).toString('base64')}`
  const keyring = readKeys('WEBHOOK_KEYS', keys)
  t.match(await rotateSecrets(pool, keyring), { count: 1, unopened: [] })

  const holder = '00000000-0000-0000-0000-000000000001'
  const inDemo = <Result>(act: (tx: Tx) => Promise<Result>) => inTenant(pool, 'demo', act)
  await rows('delete from outbox_leases')
  t.ok(await inDemo(tx => acquireLease(tx, 'demo', holder, 30)))
  t.equal(await inDemo(tx => acquireLease(tx, 'demo', holder.replace(/1$/, '2'), 30)), undefined)
  t.ok(await inDemo(tx => postpone(tx, { tenant: 'demo', holder, isUnknown: true }, () => 0.5)))

  const known = { data: [], next: null, in_doubt_before: new Date(Date.now() + 60_000).toISOString() }
  const notifier = { get: async () => ({ kind: 'response', status: 200, body: known }) } as never
  const since = new Date(Date.now() - 3_600_000)
  await rows('update log set is_relayed = true')
  const restored = await recover(pool, { since, skip: undefined, isDryRun: false, notifier, loaded: allCapabilities })
  t.equal(restored.find(({ tenant }) => tenant === 'demo')?.requeued.length, 4)

  for (const [table, column] of [
    ['webhook_deliveries', 'last_attempt_at'],
    ['rate_gaps', 'day'],
    ['customer_actions', 'stored_at'],
    ['idempotency_keys', 'created_at'],
    ['tokens', 'revoked_at'],
  ])
    await rows(`update ${table} set ${column} = now() - interval '100 days'`)
  await rows(`update log set happened_at = now() - interval '100 days', is_relayed = true`)
  await rows(`update orders set customer_phone = '0770000101 (office)', created_at = now() - interval '1 hour'`)
  await createOrdersHousekeeping(pool, ordersOptions.logger, allCapabilities).clean()
  t.match(await rows('select distinct customer_phone, phone_as_typed from orders'), [
    { customer_phone: '+94770000101', phone_as_typed: '+94770000101 0770000101 (office)' },
  ])
  t.strictSame(await rows('select 1 from log'), [])
  const owner = createPool({ url: database.ownerUrl, name: 'owner', connections: 1 })
  t.teardown(() => owner.end())
  await rows(`update orders set created_at = now() - interval '100 days', status_key = 'key_3'`)
  await rows(`update order_events set happened_at = now() - interval '100 days'`)
  for (const take of [takeTimelines, takeAudit])
    t.ok(Object.values((await inTenant(owner, 'demo', tx => take(tx, 'demo', 0, []))).rows).flat().length >= 4)
  t.equal((await app.inject('/health/ready')).statusCode, 200)
  t.strictSame(
    complaints.filter(line => !line.includes('has no key new')),
    [],
  )
})
