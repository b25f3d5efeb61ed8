import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import { createLossyPool, type LossyPool, loseBetweenTransactions } from '../../dev/lossy-pool.ts'
import type { Tx } from './core/database/tables.ts'
import { type ApiResponse, serviceToken } from './test/build.ts'
import { ordersFixture } from './test/orders-fixture.ts'
import { batch, order } from './test/tenant.ts'

const merchant = '/api/public/merchant'
const tables = [
  'orders',
  'order_events',
  'order_edits',
  'outbox',
  'webhook_endpoints',
  'customer_actions',
  'audit',
  'tokens',
]

let lossy: LossyPool | undefined
const poolOf = async (url: string) => {
  lossy = await createLossyPool(t, url)
  return lossy.pool
}
const { bulk, cancel, make, move, pool, request, staffGet, createToken } = await ordersFixture(t, { poolOf })

const read = () => {
  const columns = tables.map(table =>
    table === 'tokens'
      ? `(select count(revoked_at) from tokens) as tokens`
      : `(select json_agg(${table} order by ${table}::text) from ${table}) as ${table}`,
  )
  return inTenant(pool, 'demo', async (tx: Tx) => (await tx.client.query(`select ${columns.join()}`)).rows)
}

/** Runs `change` for new orders, losing the database after one transaction, after two, and so on. */
const lose = (t: Test, change: (waybill: string) => Promise<ApiResponse>): Promise<ApiResponse[]> => {
  const request = async () => {
    const waybill = `DM${String(++made).padStart(8, '0')}`
    await make([waybill])
    // Caches the token, so that it is not looked up again.
    await staffGet('/order/requests')
    return () => change(waybill)
  }
  return loseBetweenTransactions(t, lossy as LossyPool, { request, read }) as Promise<ApiResponse[]>
}
// The numbers start far above the ones that the service assigns to orders without a number.
let made = 50_000

t.test('each request changes all or nothing, and reports the outcome', async t => {
  await lose(t, () => bulk(batch([order()])))
  await lose(t, waybill => move([waybill], 'key_2'))
  await lose(t, waybill => cancel([waybill]))
  await lose(t, waybill => request('PATCH', `${merchant}/order/${waybill}`, { customer_name: 'Nimali Silva' }))
  const [created] = (await lose(t, () => request('POST', `${merchant}/webhook`, { url: 'http://127.0.0.1:1/' }))).slice(
    -1,
  )
  await lose(t, () => request('POST', `${merchant}/webhook/${created?.body.data.id}/rotate`))
  const tokens = await Promise.all(Array.from({ length: 5 }, () => createToken('shop@example.com')))
  await lose(t, () => request('POST', `${merchant}/logout`, undefined, { token: tokens.pop() ?? '' }))
})

t.test('a failure keeps the customer actions that were stored before it', async t => {
  let actions = 0
  const responses = await lose(t, waybill => {
    const about = { waybill_number: waybill, action: 'confirm_order', happened_at: '2026-02-19T19:06:23.000Z' }
    const given = ['DM99999999', waybill, waybill].map(waybill_number => ({
      ...about,
      waybill_number,
      id: `msg_lost${++actions} 0`,
    }))
    return request('POST', '/internal/customer-actions', { tenant: 'demo', actions: given }, { token: serviceToken })
  })
  const failures = responses.filter(({ status }) => status === 503)
  t.ok(failures.length > 1)
  t.match(failures.at(-1)?.body.message, /what is done already is not done again/)
})
