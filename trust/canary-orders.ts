import { createHmac } from 'node:crypto'
import { type startProvider, walk } from '../services/orders/test/provider.ts'
import { makeJpeg } from '../services/orders/test/riders-fixture.ts'
import { wooOrder } from '../services/orders/test/shops-fixture.ts'
import { tenantFile } from '../services/orders/test/tenant.ts'
import type { Observed } from './canary-service.ts'
import type { Canaries } from './canary-set.ts'

type Provider = Awaited<ReturnType<typeof startProvider>>

const path = '/api/public/merchant/order/bulk'

/** Sends canaries through every path of orders, including failing ones. Returns the tokens that it created. */
export const runOrders = async (
  orders: Observed,
  canaries: Canaries,
  provider: Provider,
): Promise<Record<string, string>> => {
  const { name, phone, password, staffName, strangeToken } = canaries
  const { send } = orders
  for (const file of filesWith(password)) await orders.command(['apply', '-'], file)
  const ordersStaffToken = await orders.createToken('--staff', staffName)
  const merchantToken = await orders.createToken('--merchant', 'shop@example.com')
  const bulk = (fields: object = {}, headers = {}) => send('POST', path, makeBatch(canaries, fields), headers)
  const [waybill = ''] = JSON.parse(await bulk()).data
  await send('PATCH', `/api/public/merchant/order/${waybill}`, { customer_name: 'Kamal', customer_phone: '0770000109' })
  await writeAddress(orders, canaries, waybill)
  await bulk({}, { 'idempotency-key': 'once' })
  await bulk({ cod: 2 }, { 'idempotency-key': 'once' })
  await send('POST', `${path}?dry_run=${name}`, makeBatch(canaries))
  // Leaves the waybill number out: by contract, the refusal repeats it.
  for (const field of ['cod', 'weight', 'destination_city_id', 'destination_city_name', 'initial_status_key'])
    await bulk({ [field]: name })
  await bulk({ customer_phone: [phone], customer_name: { [name]: name } })
  await bulk({ customer_name: `${name}\0` })
  await send('POST', path, `{"customer_name": "${name}", ${phone}`)
  await bulk({}, { authorization: `Bearer ${strangeToken}` })
  await send('POST', path, name, { 'content-type': `text/${name}` })
  await send('GET', `/orders/${name}?phone=${phone}&token=${strangeToken}`)
  for (const condition of ['length(customer_name) < 3', 'customer_name::integer > 0', 'customer_phone::smallint > 0'])
    await orders.refuseDuring('orders', condition, () => bulk())
  await runAgent(orders, canaries)
  const webhookSecret = await runWebhook(orders, canaries)
  await runShop(orders, canaries)
  await runPickup(orders, canaries)
  await runMoney(orders, canaries, ordersStaffToken)
  const sessionToken = await runStaff(orders, canaries)
  const personToken = await runPeople(orders, canaries)
  const riderTokens = await runRiders(orders, canaries, ordersStaffToken)
  const codes = await runSignIn(orders, canaries, provider, ordersStaffToken)
  await orders.killDuring('orders', () => bulk())
  return { merchantToken, ordersStaffToken, webhookSecret, sessionToken, personToken, ...riderTokens, ...codes }
}

/** Sends an address that staff must read, as the customer. */
const writeAddress = async ({ send, service }: Observed, { address }: Canaries, waybill: string): Promise<void> => {
  const action = { id: 'msg_canary 0', waybill_number: waybill, action: 'change_address', address }
  const body = { tenant: 'demo', actions: [{ ...action, happened_at: new Date().toISOString() }] }
  await send('POST', '/internal/customer-actions', body, {
    authorization: `Bearer ${service.environment.SERVICE_TOKEN}`,
  })
}

/** Calls tools with right, wrong and unknown arguments. */
const runAgent = async ({ send }: Observed, canaries: Canaries): Promise<void> => {
  const { name, phone, address } = canaries
  const call = async (tool: string, given: object) => {
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: given } }
    return JSON.parse(await send('POST', '/mcp', message)).result.structuredContent
  }
  const { digest } = await call('quote', makeBatch(canaries))
  await call('book', { ...makeBatch(canaries), digest })
  await call('book', { ...makeBatch(canaries, { cod: 2 }), digest })
  await call('quote', makeBatch(canaries, { weight: name }))
  await call('list_orders', { search: name, phone, [address]: address })
  await call('track', { waybill: name })
  await call(name, {})
  await send('POST', '/mcp', { jsonrpc: '2.0', id: 1, method: name, params: { [phone]: address } })
}

/**
 * Registers an address that never responds, with a secret in its path, and sends events to it. Returns the signing
 * secret.
 */
const runWebhook = async ({ send }: Observed, canaries: Canaries): Promise<string> => {
  const webhook = '/api/public/merchant/webhook'
  const { id, secret } = JSON.parse(
    await send('POST', webhook, { url: `http://127.0.0.1:1/${canaries.webhookPath}` }),
  ).data
  await send('POST', path, makeBatch(canaries))
  await send('POST', `${webhook}/${id}/ping`)
  await send('PATCH', `${webhook}/${id}`, { url: `ftp://127.0.0.1/${canaries.webhookPath}` })
  return secret
}

/** Connects a shop, which sends orders that are signed, wrong or unreadable, and books one. */
const runShop = async ({ send }: Observed, canaries: Canaries): Promise<void> => {
  const { name, address, appSecret, webhookPath } = canaries
  const base = '/api/public/merchant'
  const asked = { kind: 'woocommerce', name: 'Shoes', merchant_business_id: 7290, origin_city_id: 1500 }
  const { id, url } = JSON.parse(await send('POST', `${base}/shop`, asked)).data
  await send('POST', `${base}/shop/${id}/secret`, { secret: appSecret })
  await send('POST', `${base}/shop/${id}/secret`, { secret: `${appSecret} ${name}` })
  const keys = { address: `http://127.0.0.1:1/${webhookPath}`, key: appSecret, secret: appSecret, statuses: {} }
  await send('PUT', `${base}/shop/${id}/keys`, keys)
  await send('PUT', `${base}/shop/${id}/keys`, { ...keys, address: `ftp://127.0.0.1/${webhookPath}` })
  const order = wooOrder(1, {
    customer_note: canaries.remark,
    line_items: [{ quantity: 1, name: canaries.description }],
    billing: { first_name: name, address_1: address, city: 'Galle', country: 'LK', phone: `0${canaries.phone}` },
  })
  const payload = JSON.stringify(order)
  const sign = (body: string) => ({
    'x-wc-webhook-signature': createHmac('sha256', appSecret).update(body).digest('base64'),
  })
  const to = new URL(url, 'http://orders.example').pathname
  await send('POST', to, payload, sign(payload))
  await send('POST', to, payload, sign(`${payload} `))
  for (const body of [payload.slice(0, -1), `{"id":"${name}"}`, name]) await send('POST', to, body, sign(body))
  const [row] = JSON.parse(await send('GET', `${base}/shop-order`)).data
  const { shop_id, shop_order_id, received_at: seen_at } = row
  const { order_data, general_data } = makeBatch(canaries)
  const own = { ...order_data[0], shop_id, shop_order_id, seen_at }
  await send('POST', `${base}/shop-order/book`, { general_data, order_data: [{ ...own, weight: name }] })
  await send('POST', `${base}/shop-order/book`, { general_data, order_data: [own] })
}

/** Gives a merchant an address for pickups, asks for one and writes to the company, with valid and invalid requests. */
const runPickup = async ({ send }: Observed, canaries: Canaries): Promise<void> => {
  const { name, address, remark } = canaries
  const base = '/api/public/merchant'
  const place = { name: 'Shop', address, city_id: 1500, phone: `0${canaries.phone}`, is_default: true }
  const { id } = JSON.parse(await send('POST', `${base}/pickup-address`, place)).data
  await send('POST', `${base}/pickup-address`, { ...place, city_id: name })
  const day = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
  const asked = { pickup_address_id: String(id), day, parcels: 3, note: remark }
  await send('POST', `${base}/pickup`, asked)
  await send('POST', `${base}/pickup`, { ...asked, day: name })
  const ticket = { ticket_type_id: 1, subject: name, message: remark }
  await send('POST', `${base}/ticket`, ticket)
  await send('POST', `${base}/ticket`, { ...ticket, ticket_type_id: name })
}

/** Gives a merchant a bank account, with valid and invalid requests. */
const runMoney = async ({ send }: Observed, { bankAccount, name }: Canaries, token: string): Promise<void> => {
  const account = '/api/staff/merchant/1/bank-account'
  const headers = { authorization: `Bearer ${token}` }
  const details = { bank: 'Bank of Ceylon', branch: 'Galle', holder: 'Lanka Shoes', number: bankAccount }
  await send('POST', account, details, headers)
  for (const wrong of [{ number: [bankAccount] }, { bank: `${name}\0` }, { number: `${bankAccount}!` }])
    await send('POST', account, { ...details, ...wrong }, headers)
  await send('GET', account, undefined, headers)
}

/** Logs a member of staff in, first with wrong data, and tries operations beyond the role. Returns the token. */
const runStaff = async ({ send, command }: Observed, canaries: Canaries): Promise<string> => {
  const { password, staffName, appSecret } = canaries
  const email = `${canaries.email}@courier.example`
  const add = ['staff', 'add', '--tenant', 'demo', '--email', email, '--name', staffName, '--role', 'viewer']
  await command(add, '', { STAFF_PASSWORD: password })
  const login = (body: object) => send('POST', '/api/staff/login', body)
  for (const body of [
    { email, password: appSecret },
    { email: password, password },
    { email, password, [appSecret]: 1 },
  ])
    await login(body)
  const { token } = JSON.parse(await login({ email, password }))
  const headers = { authorization: `Bearer ${token}` }
  await send('GET', '/api/staff/me', undefined, headers)
  await send('POST', '/api/staff/order/status', { note: password }, headers)
  await send('POST', '/api/staff/logout', {}, headers)
  return token
}

/**
 * Signs the member of staff of `runStaff` in by a provider, which also sends a stranger and a refusal; makes an
 * invitation. Returns the codes and the token.
 */
const runSignIn = async ({ send, service }: Observed, canaries: Canaries, provider: Provider, token: string) => {
  const { subject, name, staffName, email } = canaries
  const open = '/api/staff/sign-in'
  const comeBack = async (who: string) => {
    provider.state.who = who
    const { url, browser } = JSON.parse(await send('POST', `${open}/start`, { provider: 'canary' })).data
    const back = new URL(await walk(url, 'http://127.0.0.1:9/api/public/sign-in/callback'))
    const response = await fetch(service.url + back.pathname + back.search, { redirect: 'manual' })
    return { browser, code: response.headers.get('location')?.split('/').at(-1) ?? '' }
  }
  for (const who of [name, 'deny']) await comeBack(who)
  const back = await comeBack(subject)
  await send('POST', `${open}/finish`, { ...back, browser: back.code })
  const session = JSON.parse(await send('POST', `${open}/finish`, back)).token
  const member = { name: `${staffName} I`, email: `${email}@invited.example`, roles: ['viewer'] }
  const headers = { authorization: `Bearer ${token}` }
  const { invitation } = JSON.parse(await send('POST', '/api/staff/people', member, headers))
  return { signInCode: back.code, browserCode: back.browser, session, invitation: invitation.url.split('/').at(-1) }
}

/**
 * Gives a parcel to a rider, who signs in by a link and sends acts, also refused ones, and a photo whose metadata hold
 * a name. Returns the tokens and the code of the link.
 */
const runRiders = async ({ send, command }: Observed, canaries: Canaries, token: string) => {
  const { password, staffName, name, remark } = canaries
  const email = `${canaries.email}@rider.example`
  const add = ['staff', 'add', '--tenant', 'demo', '--email', email, '--name', `${staffName} R`, '--role', 'rider']
  await command(add, '', { STAFF_PASSWORD: password })
  const call = async (path: string, body?: object, by = token) =>
    JSON.parse(
      await send(body ? 'POST' : 'GET', `/api/staff${path}`, body, by ? { authorization: `Bearer ${by}` } : undefined),
    )
  const parcels = makeBatch(canaries, { initial_status_key: 'key_2' })
  const waybill_numbers = JSON.parse(await send('POST', path, parcels)).data
  const waybill_number = waybill_numbers[0]
  for (const key of [9, 10, 11, 12]) await call('/order/status', { waybill_numbers, status_key: `key_${key}` })
  const [{ id: rider }] = (await call('/riders')).data
  await call('/order/assign', { waybill_numbers, rider })
  const { url } = (await call(`/riders/${rider}/sign-in`, {})).data
  const linkCode: string = url.split('/').at(-1)
  const { token: riderToken } = await call('/sign-in', { code: linkCode, device: remark }, '')
  await call('/sign-in', { code: linkCode, device: remark }, '')
  await call('/rider/parcels', undefined, riderToken)
  const about = { waybill_number, happened_at: new Date().toISOString() }
  const photo = makeJpeg(name).toString('base64')
  const acts = [
    { ...about, id: 'canary-1', kind: 'fail', reason_code: name, note: remark, proof: { without: remark } },
    {
      ...about,
      id: 'canary-2',
      kind: 'fail',
      reason_code: 'not_home',
      note: remark,
      proof: { photo, without: remark },
    },
    { ...about, id: 'canary-3', kind: 'fail', reason_code: 'not_home', proof: { code: password, photo: name } },
  ]
  for (const each of acts) await call('/rider/acts', { acts: [each] }, riderToken)
  const [{ act_no }] = (await call('/rider-acts')).data
  await call(`/rider-acts/${act_no}/decide`, { decision: 'dismissed', note: remark })
  await call('/order/unassign', { waybill_numbers })
  await command(['staff', 'deactivate', '--tenant', 'demo', '--email', email])
  const left = { acts: [{ ...acts[1], id: 'canary-4' }] }
  await send('POST', '/api/public/rider/acts', left, { authorization: `Bearer ${riderToken}` })
  await call('/order/assign', { waybill_numbers, rider })
  return { riderToken, linkCode }
}

/**
 * Adds a person of a merchant who logs in and books, and one who objects to its bank account, also with wrong data.
 * Returns the token of the first.
 */
const runPeople = async ({ send }: Observed, canaries: Canaries): Promise<string> => {
  const { password, staffName: name, appSecret } = canaries
  const merchant = '/api/public/merchant'
  const logIn = async (email: string) => {
    const { token } = JSON.parse(await send('POST', `${merchant}/login`, { email, password }))
    return { token, headers: { authorization: `Bearer ${token}` } }
  }
  const person = { name, email: `${canaries.email}@shop.example`, role: 'clerk', password }
  const owner = await logIn('shop@example.com')
  for (const wrong of [
    { password: [password] },
    { email: password },
    { role: appSecret },
    { name: `${name}\0` },
    {},
    {},
  ])
    await send('POST', `${merchant}/person`, { ...person, ...wrong }, owner.headers)
  const { token, headers } = await logIn(person.email)
  await send('GET', `${merchant}/user/get-current`, undefined, headers)
  await send('POST', `${merchant}/person`, person, headers)
  await send('POST', path, makeBatch(canaries), headers)
  const second = { ...person, email: `second.${person.email}`, role: 'owner' }
  await send('POST', `${merchant}/person`, second, owner.headers)
  const objecting = await logIn(second.email)
  const objection = { version: 1, reason: canaries.remark }
  for (const wrong of [{ version: name }, {}])
    await send('POST', `${merchant}/bank-account/object`, { ...objection, ...wrong }, objecting.headers)
  return token
}

/** Returns a valid tenant file, and files that are refused. */
const filesWith = (password: string): string[] => {
  const file = tenantFile()
  for (const merchant of file.merchants) merchant.password = password
  const good = JSON.stringify(file)
  const odd = good.replaceAll('"standard"', `"${password}"`).replace('"Galle"', '1')
  return [good, good.slice(0, -5), odd, JSON.stringify({ ...file, merchants: [{ password }] })]
}

const makeBatch = (canaries: Canaries, fields: object = {}) => ({
  general_data: { merchant_business_id: '7290', origin_city_id: '1500' },
  order_data: [
    {
      customer_name: canaries.name,
      customer_address: canaries.address,
      customer_phone: `0${canaries.phone} (office)`,
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
