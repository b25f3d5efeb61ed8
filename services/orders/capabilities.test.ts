import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { loadConfig } from '@courier/shared/config.ts'
import { ordersOperations } from '@courier/shared/contract/staff-roles.ts'
import t from 'tap'
import { createOrders } from './app.ts'
import { capabilities, createCompanyFile } from './capabilities.ts'
import { Settings } from './config.ts'
import { checkFile } from './core/provisioning/check-file.ts'
import { changePassword } from './core/provisioning/merchant-commands.ts'
import { allCapabilities } from './test/build.ts'
import { ordersFixture, refusal } from './test/orders-fixture.ts'
import { tenantFile } from './test/tenant.ts'

const names = Object.keys(capabilities)
const load = (setting: string) => loadCapabilities(capabilities, setting)
const { ordersOptions, pool, rows, ...withAll } = await ordersFixture(t)

/** Returns the operations in the document of a service with this setting, such as `GET /api/staff/order`. */
const listOperations = async (setting: string): Promise<string[]> => {
  const { app, clients } = await createOrders({ ...ordersOptions, capabilities: await load(setting) })
  const { paths } = (await app.inject('/openapi.json')).json()
  await app.close()
  for (const client of clients) await client.close()
  return Object.entries<object>(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path.replace('/api/public/merchant', 'shop')}`),
  )
}
const core = await listOperations('none')

/** Lists each capability's own operations. The tracking page and the commands of restoring are in no document. */
const operations: Record<string, string[]> = {
  people: ['GET shop/person', 'POST shop/person', 'PATCH shop/person/{id}'],
  'sign-in': [
    ...['GET', 'POST'].map(method => `${method} /api/staff/people`),
    'PATCH /api/staff/people/{staff_id}',
    ...['invite', 'reset', 'sessions/end'].map(what => `POST /api/staff/people/{staff_id}/${what}`),
    'GET /api/staff/people/{staff_id}/sessions',
    ...['shop', '/api/staff'].flatMap(side => [
      ...[`GET ${side}/sessions`, `POST ${side}/sessions/end`, `GET ${side}/sign-in/methods`],
      ...['password', 'start', 'finish', 'second-factor'].map(step => `POST ${side}/sign-in/${step}`),
    ]),
    ...['POST shop/person/{id}/invite', 'POST shop/person/{id}/reset'],
  ],
  labels: [
    ...['GET shop/order/{waybill}/label', 'POST shop/order/labels'],
    ...['GET /api/staff/order/{waybill}/label', 'POST /api/staff/order/labels', 'POST /api/staff/order/run-sheet'],
  ],
  'tracking-page': [],
  money: [
    ...['GET shop/order/waybill-finance-status', 'POST shop/order/waybill-finance-status', 'GET shop/balance'],
    ...['GET shop/order/finance', 'GET shop/invoice', 'GET shop/invoice/{invoice_no}'],
    ...['shop', '/api/staff'].map(side => `GET ${side}/credit-note/{credit_note_no}`),
    ...['approve', 'dispute'].map(step => `POST shop/invoice/{invoice_no}/${step}`),
    ...['GET /api/staff/cash/parcel', 'GET /api/staff/cash/person', 'POST /api/staff/cash/transfer'],
    ...['GET /api/staff/cash', 'GET /api/staff/cash/handover', 'POST /api/staff/cash/handover'],
    ...['POST /api/staff/cash/handover/{handover_id}/settle', 'POST /api/staff/cash/deposit'],
    ...['GET', 'POST'].map(method => `${method} /api/staff/merchant/{merchant_id}/bank-account`),
    'POST /api/staff/merchant/{merchant_id}/bank-account/confirm',
    'GET /api/staff/merchant/{merchant_id}/bank-account/details',
    ...['GET shop/bank-account', 'POST shop/bank-account/object', 'GET /api/staff/payout/{batch_no}/lines'],
    ...['GET /api/staff/payout', 'POST /api/staff/payout', 'GET /api/staff/order/{waybill}/money'],
    'GET /api/staff/payout/{batch_no}',
    ...['release', 'cancel', 'fail', 'settle'].map(step => `POST /api/staff/payout/{batch_no}/${step}`),
    ...['GET', 'POST'].map(method => `${method} /api/staff/ledger/correction`),
    ...['approve', 'reject'].map(step => `POST /api/staff/ledger/correction/{correction_id}/${step}`),
    ...['GET', 'POST'].map(method => `${method} /api/staff/ledger/bank-entry`),
    ...['approve', 'reject'].map(step => `POST /api/staff/ledger/bank-entry/{entry_id}/${step}`),
    ...['POST /api/staff/ledger/remit', 'GET /api/staff/ledger/taxes'],
    ...['POST /api/staff/compensation', 'GET /api/staff/merchant/{merchant_id}/balance', 'GET /api/staff/invoice'],
    ...['POST /api/staff/invoice', 'GET /api/staff/invoice/{invoice_no}'],
    ...['submit', 'approve', 'reject', 'cancel', 'charges', 'dispute/settle'].map(
      step => `POST /api/staff/invoice/{invoice_no}/${step}`,
    ),
  ],
  books: [
    ...['', '/accounts', '/trial-balance', '/journal', '/month', '/month/documents', '/month/withholding'].map(
      report => `GET /api/staff/ledger${report}`,
    ),
    ...['account', 'withholding'].flatMap(of => [`GET shop/${of}`, `GET /api/staff/merchant/{merchant_id}/${of}`]),
    'GET /api/staff/audit',
  ],
  editing: ['PATCH shop/order/{waybill}', 'PATCH /api/staff/order/{waybill}'],
  failures: ['shop', '/api/staff'].flatMap(side => [
    ...[`POST ${side}/order/{waybill}/instruction`, `GET ${side}/order/failed-deliveries`],
    `GET ${side}/order/failure-reasons`,
  ]),
  pickups: [
    ...['pickup-address', 'pickup', 'ticket'].flatMap(what => [`GET shop/${what}`, `POST shop/${what}`]),
    ...['pickup-address', 'pickup'].map(what => `DELETE shop/${what}/{id}`),
    ...['shop', '/api/staff'].map(side => `GET ${side}/pickup/{id}/receipt`),
    ...['GET /api/staff/pickup', 'GET /api/staff/pickup/{id}', 'GET /api/staff/ticket'],
    ...['assign', 'done', 'missed'].map(step => `POST /api/staff/pickup/{id}/${step}`),
    ...['reply', 'close'].map(step => `POST /api/staff/ticket/{id}/${step}`),
  ],
  riders: [
    ...['assign', 'unassign'].map(what => `POST /api/staff/order/${what}`),
    ...['GET /api/staff/riders', 'GET /api/staff/rider/parcels', 'GET /api/staff/rider/parcels/{waybill}'],
    ...['POST /api/staff/rider/sequence', 'POST /api/staff/rider/acts', 'GET /api/staff/rider-acts'],
    ...['POST /api/staff/rider-acts/{act_no}/decide', 'POST /api/staff/riders/{rider_id}/sign-in'],
    ...['GET /api/staff/riders/{rider_id}/sign-ins', 'POST /api/staff/riders/{rider_id}/sign-ins/{token_id}/end'],
    ...['shop', '/api/staff'].flatMap(side => ['', '/{id}'].map(id => `GET ${side}/order/{waybill}/proofs${id}`)),
    ...['POST /api/staff/sign-in', 'POST /api/public/rider/acts', 'POST /api/public/rider/proof-part'],
    'GET /api/public/proof/{tenant}/{waybill}/{id}/{end}/{signature}',
  ],
  'customer-actions': [
    ...['GET /api/staff/order/requests', 'POST /api/staff/order/requests/{id}/decision'],
    'POST /internal/customer-actions',
  ],
  feed: [
    ...['GET shop/order/changes', 'GET shop/webhook', 'POST shop/webhook', 'PATCH shop/webhook/{id}'],
    ...['DELETE shop/webhook/{id}', 'GET shop/webhook/{id}/deliveries'],
    ...['rotate', 'ping', 'replay'].map(what => `POST shop/webhook/{id}/${what}`),
  ],
  shops: [
    ...['GET shop/shop-order', 'POST shop/shop-order/book', 'POST shop/shop-order/settle', 'GET shop/shop'],
    ...['POST shop/shop', 'PATCH shop/shop/{shop_id}', 'DELETE shop/shop/{shop_id}', 'POST shop/shop/{shop_id}/secret'],
    ...['GET shop/shop/{shop_id}/deliveries', 'GET shop/shop/{shop_id}/sent', 'PUT shop/shop/{shop_id}/keys'],
    ...['DELETE shop/shop/{shop_id}/keys', 'POST /webhooks/shops/{tenant}/{shop_id}'],
  ],
  reports: ['GET shop/order/summary', 'GET shop/recipient/{phone}', 'GET /api/staff/today'],
  'rate-gaps': ['GET /api/staff/rate-gaps'],
  agents: ['POST /mcp', 'POST shop/agent'],
  restoring: [],
}

t.test('with all capabilities staff may use every operation of the contract', async t => {
  const { data } = (await withAll.staffGet('/me')).body
  t.strictSame(data.operations, ordersOperations)
})

t.test('without capabilities the document has the operations of the core alone', async t => {
  t.same(
    new Set(core),
    new Set([
      ...['GET /metrics', 'GET /health/live', 'GET /health/ready', 'POST shop/login', 'POST /api/staff/login'],
      ...[
        'GET shop/user/get-current',
        'POST shop/logout',
        'GET shop/token',
        'POST shop/token',
        'DELETE shop/token/{id}',
      ],
      ...['business', 'city', 'state'].flatMap(list => [`GET shop/${list}`, `GET shop/${list}/{id}`]),
      ...['city/resolve', 'order/quote', 'order/bulk', 'order/single'].map(path => `POST shop/${path}`),
      ...['GET shop/order', 'GET shop/order/{waybill}', 'GET shop/order/{waybill}/status', 'POST shop/order/lookup'],
      ...['POST shop/order/confirm', 'POST shop/order/cancel', 'GET shop/order/status-list'],
      ...['GET shop/order/tracking-info', 'POST shop/order/tracking-info', 'GET shop/order/{waybill}/messages'],
      ...[
        'POST /api/public/order/tracking-info',
        'GET /api/staff/me',
        'POST /api/staff/logout',
        'GET /api/staff/order',
      ],
      ...['GET /api/staff/order/{waybill}', 'POST /api/staff/order/status', 'GET /api/staff/status'],
      ...['GET /api/staff/city', 'GET /api/staff/merchant', 'POST /api/staff/order/{waybill}/take-back'],
      ...['GET /internal/orders/{tenant}/{waybill}', 'POST /internal/staff-tokens'],
    ]),
  )
})

t.test('a list adds the operations of what it names, and of nothing else', async t => {
  const settings = [
    ...names.filter(name => capabilities[name]?.needs === undefined),
    'labels,money',
    'labels,money,books',
    'feed, editing,failures',
  ]
  for (const setting of [...settings, names.join()]) {
    const wanted = setting.split(',').flatMap(name => operations[name.trim()] ?? `no operations are listed for ${name}`)
    t.same(new Set(await listOperations(setting)), new Set([...core, ...wanted]), setting)
  }
  t.same(await listOperations('all'), await listOperations(names.join()))
})

t.test('a service without capabilities books, moves and shows orders; what is left out is not found', async t => {
  const { app, make, move, get, staffGet, request, rows } = await ordersFixture(t, { capabilities: new Map() })
  await make(['DM00000001'], { initial_status_key: 'key_2' })
  t.equal((await move(['DM00000001'], 'key_5')).status, 200)
  for (const key of ['key_6', 'key_8', 'key_9', 'key_10', 'key_11', 'key_12', 'key_13'])
    t.equal((await move(['DM00000001'], key)).status, 200, key)
  const { data } = (await get('/order/DM00000001')).body
  t.equal(data.status.key, 'key_13')
  for (const field of ['finance_status', 'edits', 'instructions', 'failed_attempts']) t.notOk(field in data, field)
  t.strictSame(
    (await move(['DM00000001'], 'key_21', { collected: [] })).body,
    refusal({
      collected: ['The collected field is not known.'],
    }),
  )
  t.strictSame(await rows('select from money_lines'), [])
  t.equal((await app.inject('/t/demo/DM00000001')).statusCode, 404)
  t.equal((await get('/webhook')).status, 404)
  t.equal((await staffGet('/today')).status, 404)
  t.equal((await request('PATCH', '/api/public/merchant/order/DM00000001', {})).status, 405)
})

t.test('an unknown name, or one without what it needs, is an error of the setting', async t => {
  const read = (ORDERS_CAPABILITIES: string) => {
    const others = { ORDERS_DATABASE_URL: 'postgres://orders@db/orders', SERVICE_TOKEN: 'a-service-token-of-tests' }
    return loadConfig(Settings, { ...others, ORDERS_CAPABILITIES }).ORDERS_CAPABILITIES
  }
  for (const setting of ['all', 'none', 'labels', 'money, labels', 'failures,editing']) t.equal(read(setting), setting)
  const known = names.join(', ')
  const unknown = { moneys: 'moneys', 'labels,constructor': 'constructor', 'none,labels': 'none', 'labels,': '' }
  for (const [setting, name] of Object.entries({ ...unknown, 'all,labels': 'all', Labels: 'Labels' }))
    t.throws(() => read(setting), {
      message: `ORDERS_CAPABILITIES must be all, none, or some of ${known}, with commas between; not "${name}"`,
    })
  const lacking = (sentence: string) => ({ message: `ORDERS_CAPABILITIES must name what others need: ${sentence}` })
  t.throws(() => read('money'), lacking('money needs labels'))
  t.throws(() => read('labels,books'), lacking('books needs money'))
  t.throws(
    () => read('customer-actions,money'),
    lacking('customer-actions needs editing, customer-actions needs failures, money needs labels'),
  )
})

const columns = `select color, tax_percent, withholding_percent, payable_when, payable_after_days, four_eyes,
  objection_hours, invoice_mask, cash_ceiling, failure_reasons, instruction_hours, recipient_history from tenants`
const cardColumns = 'select cod_fee_percent, cod_fee_min, return_fee, each_return_kg from rate_cards'
const merchantColumns = 'select email, payable_when, payable_after_days, charges_apart, phone from merchants order by 1'

t.test('the fields of a capability are known in every company file, and kept by changes without them', async t => {
  const file = tenantFile({
    ...{ color: '#0a5c8f', tax_percent: 18, withholding_percent: 2 },
    money: { payable_when: 'banked', four_eyes: true, cash_ceiling: 5000 },
    failed_deliveries: { reasons: [{ code: 'not_home', name: 'Nobody at home' }], instruction_hours: 24 },
  })
  Object.assign(file.rate_cards[0] ?? {}, { cod_fee_percent: 1.5, return_fee: 200 })
  Object.assign(file.merchants[0] ?? {}, { payable_when: 'delivered', charges_apart: true, phone: '+94112345678' })
  await withAll.apply(file)
  const readColumns = async () => [await rows(columns), await rows(cardColumns), await rows(merchantColumns)]
  const before = await readColumns()
  t.match(before, [
    [
      {
        color: '#0a5c8f',
        tax_percent: '18.00',
        payable_when: 'banked',
        cash_ceiling: '5000.00',
        instruction_hours: 24,
      },
    ],
    [{ cod_fee_percent: '1.50', return_fee: '200.00' }],
    [{}, { payable_when: 'delivered', charges_apart: true, phone: '+94112345678' }],
  ])
  const shop = { tenant: 'demo', email: 'shop@example.com' }
  t.match(await changePassword(pool, shop, 'another-password'), { kind: 'applied', changes: [{ kind: 'merchant' }] })
  t.strictSame(await readColumns(), before)
  t.match(checkFile({ ...file, tenant: { ...file.tenant, money: 'no object' } }, createCompanyFile(allCapabilities)), {
    kind: 'refused',
    errors: { 'tenant.money': ['The money field must be an object.'] },
  })
})
