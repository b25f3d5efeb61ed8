import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { findFreePort, toAddress } from '../../dev/ports.ts'
import { ServiceProcess } from '../../dev/service-process.ts'
import { startProxy } from '../../dev/tcp-proxy.ts'
import { cloneDatabase, connectTo } from '../../dev/test-database.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { applyTenant } from './core/provisioning/apply.ts'
import { batch, tenantFile } from './test/tenant.ts'

t.test('orders can be created again within seconds after all connections to Postgres go silent', async t => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const pool = createPool({ url, name: 'test', connections: 1 })
  await applyTenant(pool, tenantFile(), false)
  const { token } = await createTokenFor(pool, { tenant: 'demo', merchant: 'shop@example.com' })
  await pool.end()
  const { hostname: host, port: target } = new URL(url)
  const proxy = await startProxy({ host, port: Number(target) })
  t.teardown(proxy.close)
  const port = await findFreePort()
  const orders = new ServiceProcess('services/orders/main.ts', toAddress('127.0.0.1', port), {
    ORDERS_DATABASE_URL: Object.assign(new URL(url), { port: String(proxy.port) }).href,
    ORDERS_MIGRATE_DATABASE_URL: ownerUrl,
    ORDERS_PORT: String(port),
    SERVICE_TOKEN: 'a-service-token-of-tests',
  })
  t.teardown(() => orders.stop())
  orders.start()
  await orders.ready()
  const book = async (key: string = randomUUID()) => {
    const response = await fetch(`${orders.url}/api/public/merchant/order/bulk`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'x-tenant': 'demo',
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(batch()),
    })
    const { code, message } = (await response.json()) as Record<string, string>
    return { key, status: response.status, code, message }
  }
  const list = () =>
    fetch(`${orders.url}/api/public/merchant/order`, {
      headers: { authorization: `Bearer ${token}`, 'x-tenant': 'demo' },
    })
  t.equal((await book()).status, 200)
  // Enough requests at once open all connections of the pool.
  await Promise.all(Array.from({ length: 30 }, list))
  const since = performance.now()
  proxy.silence()
  const responses: Awaited<ReturnType<typeof book>>[] = []
  let again: number | undefined
  while (!again && performance.now() - since < 15_000) {
    const response = await book()
    responses.push(response)
    if (response.status === 200) again = performance.now() - since
  }
  t.comment(`created again after ${again?.toFixed(0)} ms`)
  t.ok((again ?? Number.POSITIVE_INFINITY) < 5_000, `${again} ms`)
  const owner = await connectTo(t, ownerUrl)
  await owner.query(`select set_config('app.tenant', 'demo', false)`)
  const { rows } = await owner.query('select idempotency_key as key from idempotency_keys')
  const stored = new Set(rows.map(({ key }) => key))
  const wrong = responses.filter(({ status, code, key }) => {
    if (status === 200) return !stored.has(key)
    return code !== 'outcome_unknown' && (code !== 'unavailable' || stored.has(key))
  })
  t.same(wrong, [], 'no response misreports the outcome')

  // The transaction stores its key, and its connection goes silent before it can commit.
  await owner.query('begin; lock table idempotency_keys in exclusive mode')
  const booking = book('held')
  const waiting = `select from pg_locks where not granted and relation = 'idempotency_keys'::regclass`
  while ((await owner.query(waiting)).rowCount === 0) await delay(10)
  proxy.silence()
  const silentSince = performance.now()
  await owner.query('rollback')
  const attempts = [await booking]
  for (; attempts.at(-1)?.status !== 200 && performance.now() - silentSince < 15_000; await delay(200))
    attempts.push(await book('held'))
  const seconds = (performance.now() - silentSince) / 1000
  t.comment(`the key was free again after ${seconds.toFixed(1)} s: ${attempts.map(({ status }) => status).join(' ')}`)
  t.equal(attempts[0]?.code, 'unavailable')
  t.same([...new Set(attempts.slice(1, -1).map(({ code }) => code))], ['idempotency_key_running'])
  t.equal(attempts.at(-1)?.status, 200)
  t.ok(seconds < 9, `${seconds} s`)
})
