import { tenantFile } from '../services/orders/test/tenant.ts'
import type { Canaries } from './canary-set.ts'
import type { Stage } from './canary-stage.ts'

const admin = 'services/orders/admin.ts'
const path = '/api/public/merchant/order/bulk'

/** Canaries through every path of orders, those that fail too. Returns the tokens that it gave out. */
export const runOrders = async (stage: Stage, canaries: Canaries): Promise<Record<string, string>> => {
  const tokens = await provide(stage, canaries)
  const headers = { authorization: `Bearer ${tokens.merchantToken}`, 'x-tenant': 'demo' }
  const bulk = (fields: object = {}, more: object = {}) =>
    stage.call('POST', path, { ...headers, ...more }, batchOf(canaries, fields))
  await bulk()
  await bulk({}, { 'idempotency-key': 'once' })
  await bulk({ cod: 2 }, { 'idempotency-key': 'once' })
  await stage.call('POST', `${path}?dry_run=${canaries.name}`, headers, batchOf(canaries))
  // Not the waybill number: its refusal repeats it, by contract.
  for (const field of ['cod', 'weight', 'destination_city_id', 'destination_city_name', 'initial_status_key'])
    await bulk({ [field]: canaries.name })
  await bulk({ customer_phone: [canaries.phone], customer_name: { [canaries.name]: canaries.name } })
  await bulk({ customer_name: `${canaries.name}\0` })
  await stage.call('POST', path, headers, `{"customer_name": "${canaries.name}", ${canaries.phone}`)
  await stage.call('POST', path, { ...headers, authorization: `Bearer ${canaries.strangeToken}` }, batchOf(canaries))
  await stage.call('POST', path, { ...headers, 'content-type': `text/${canaries.name}` }, canaries.name)
  await stage.call('GET', `/orders/${canaries.name}?phone=${canaries.phone}&token=${canaries.strangeToken}`, headers)
  for (const condition of ['length(customer_name) < 3', 'customer_name::integer > 0', 'customer_phone::smallint > 0'])
    await stage.refuseDuring('orders', condition, () => bulk())
  await stage.killDuring('orders', () => bulk())
  return tokens
}

/** The tenant, by the operator's commands, also by files that are refused. */
const provide = async (stage: Stage, { password, staffName }: Canaries) => {
  const file = tenantFile()
  for (const merchant of file.merchants) merchant.password = password
  const good = JSON.stringify(file)
  const odd = good.replaceAll('"standard"', `"${password}"`).replace('"Galle"', '1')
  for (const text of [good, good.slice(0, -5), odd, JSON.stringify({ ...file, merchants: [{ password }] })])
    await stage.command(admin, ['apply', '-'], text)
  return {
    merchantToken: await stage.createToken(admin, '--merchant', 'shop@example.com'),
    ordersStaffToken: await stage.createToken(admin, '--staff', staffName),
  }
}

const batchOf = (canaries: Canaries, fields: object = {}) => ({
  general_data: { merchant_business_id: '7290', origin_city_id: '1500' },
  order_data: [
    {
      customer_name: canaries.name,
      customer_address: canaries.address,
      customer_phone: `0${canaries.phone}`,
      customer_secondary_phone: `0${canaries.secondaryPhone}`,
      customer_email: `${canaries.email}@example.com`,
      destination_city_id: 2100,
      cod: 1,
      weight: 1,
      description: canaries.description,
      remark: canaries.remark,
      ...fields,
    },
  ],
})
