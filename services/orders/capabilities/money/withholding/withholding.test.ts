import { deepStrictEqual } from 'node:assert'
import { writeFileSync } from 'node:fs'
import { addAmounts } from '@courier/shared/currency.ts'
import t from 'tap'
import { checkFile } from '../../../core/provisioning/check-file.ts'
import { companyFile } from '../../../test/build.ts'
import { findContradictions, readCsv, readPages } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { batch, order, shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { Books, type Levied, levy, type ModelTax, totalOf } from '../test/model.ts'

// Withholds by a table such as Pakistan's: by goods, registration and payment, for two offices.

const from = '2025-07-01'
const withholding = [
  {
    name: 'INCOME',
    rates: [
      { from, registered: false, percent: 4 },
      { from, goods: 'electronics', percent: 0.25 },
      { from: '2020-01-01', goods: 'clothing', percent: 9 },
      { from, goods: 'clothing', percent: 2 },
      { from: '2099-01-01', goods: 'clothing', percent: 50 },
      { from, payment: 'digital', percent: 1.5 },
      { from, percent: 1 },
    ],
  },
  { name: 'SALES', rates: [{ from, percent: 2 }] },
]
/** Holds what the tables say, in hundredths of a percent. */
const ofRate = (income: number): ModelTax[] => [
  { name: 'INCOME', percent: income },
  { name: 'SALES', percent: 200 },
]

const readErrors = (settings: object) => {
  const checked = checkFile(tenantFile({ ...settings }), companyFile)
  return checked.kind === 'refused' ? checked.errors : 'accepted'
}

t.test('apply refuses tables that say two things, or nothing', async t => {
  const rates = [{ from, percent: 18 }]
  const vat = { name: 'VAT', rates }
  const of = (...more: object[]) => [{ name: 'INCOME', rates: more }]
  const table: [object, path: string, RegExp][] = [
    [{ taxes: [vat], tax_percent: 18 }, 'tenant.tax_percent', /tax_percent or taxes, not both/],
    [{ withholding, withholding_percent: 2 }, 'tenant.withholding_percent', /withholding_percent or withholding/],
    [{ taxes: [vat, vat] }, 'tenant.taxes.1.name', /VAT appears twice/],
    [{ taxes: [{ ...vat, on_top_of: ['SSCL'] }] }, 'tenant.taxes.0.on_top_of', /SSCL is no tax that stands above VAT/],
    [{ taxes: [{ ...vat, on_top_of: ['VAT'] }] }, 'tenant.taxes.0.on_top_of', /VAT is no tax/],
    [{ taxes: [{ name: 'VAT', rates: [...rates, ...rates] }] }, 'tenant.taxes.0.rates.1.from', /leave one out/],
    [{ taxes: [{ name: 'VAT', rates: [{ percent: 18 }] }] }, 'tenant.taxes.0.rates.0.from', /required/],
    [{ taxes: [{ ...vat, rates: [{ from: '2026-02-30', percent: 1 }] }] }, 'tenant.taxes.0.rates.0.from', /no day/],
    [{ taxes: [{ name: 'VAT', rates: [{ from, percent: 1.125 }] }] }, 'tenant.taxes.0.rates.0.percent', /two decimals/],
    [{ taxes: [{ ...vat, name: 'V T' }] }, 'tenant.taxes.0.name', /capital letters/],
    [{ taxes: [{ ...vat, rates: [{ from, percent: 1, goods: 'x' }] }] }, 'tenant.taxes.0.rates.0.goods', /not known/],
    [
      { withholding: of({ from, percent: 1 }, { from, goods: 'shoes', percent: 2 }) },
      ...(['tenant.withholding.0.rates.1.percent', /rate 0 above it fits all its parcels/] as const),
    ],
    [
      { withholding: of({ from, goods: 'shoes', percent: 1 }, { from, goods: 'shoes', percent: 2 }) },
      ...(['tenant.withholding.0.rates.1.from', /leave one out/] as const),
    ],
  ]
  for (const [settings, path, sentence] of table) t.match(readErrors(settings), { [path]: [sentence] }, path)
  t.equal(readErrors({ taxes: [vat] }), 'accepted')
  const inYen = Object.keys(readErrors({ withholding, currency: 'JPY' }))
  t.notOk(
    inYen.some(path => path.includes('withholding')),
    'a percentage is no amount',
  )
})

t.test('apply refuses a table that would withhold more of a parcel than was paid', async t => {
  const { apply } = await tenantFixture(t)
  const [income, sales] = [
    (...rates: object[]) => ({ name: 'INCOME', rates }),
    (...rates: object[]) => ({ name: 'SALES', rates }),
  ]
  const applied = async (...tables: object[]) => {
    const result = await apply(tenantFile({ withholding: tables }))
    return result.kind === 'refused' ? result.errors : result.kind
  }
  const thirds = ['ONE', 'TWO', 'REST'].map(name => ({
    name,
    rates: [{ from, percent: name === 'REST' ? 33.34 : 33.33 }],
  }))
  for (const tables of [
    thirds,
    [income({ from, goods: 'shoes', percent: 60 }), sales({ from, goods: 'books', percent: 60 })],
    [income({ from, registered: true, percent: 60 }), sales({ from, registered: false, percent: 60 })],
    [income({ from, percent: 60 }, { from: '2026-01-01', percent: 30 }), sales({ from: '2026-01-01', percent: 60 })],
  ])
    t.equal(await applied(...tables), 'applied')
  t.same(
    await applied(
      income({ from, payment: 'digital', percent: 60 }, { from: '2027-01-01', payment: 'digital', percent: 30 }),
      sales({ from: '2026-06-01', goods: 'shoes', percent: 40.5 }, { from, percent: 1 }),
    ),
    {
      'tenant.withholding': [
        'On 2026-06-01, INCOME 60 %, SALES 40.5 % would be withheld of one parcel: 100.5 % is more than 100 %.',
      ],
    },
  )
})

t.test('staff read the rates of the company file', async t => {
  const { apply, staffGet } = await tenantFixture(t)
  const read = async () => (await staffGet('/ledger/taxes')).body.data
  await apply(tenantFile({ tax_percent: 18 }))
  t.same(await read(), { tax_percent: 18, withholding_percent: 0, taxes: null, withholding: null })
  const vat = { name: 'VAT', on_top_of: ['SSCL'], rates: [{ from, percent: 18 }] }
  const taxes = [{ name: 'SSCL', rates: [{ from, percent: 2.5 }] }, vat]
  await apply(tenantFile({ taxes, withholding }))
  t.same(await read(), { tax_percent: 0, withholding_percent: 0, taxes, withholding })
})

t.test('a month of withholding by table is that of the model', async t => {
  const money = { objection_hours: 0, payable_when: 'delivered', registered_only: false }
  const file = { ...tenantFile({ currency: 'PKR', withholding, money }), statuses: shortStatuses }
  const [first, second] = file.merchants
  Object.assign(first ?? {}, { tax_number: 'NTN 1', postal_address: 'Saddar\nKarachi' })
  Object.assign(first?.businesses[0] ?? {}, { goods: 'clothing' })
  const fixture = await tenantFixture(t, { file })
  const { bulk, move, request, staffOf, staffGet, get, pool, tenant, booksToken, rows, app, staffToken } = fixture
  const { shop, books: bookshop, today } = await fixture.readFacts()
  const [clerk, other] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = async (path: string, body: object = {}, token = clerk) => {
    const { status, body: found } = await request('POST', `/api/staff${path}`, body, { token })
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(found)}`)
    return found.data
  }
  const free = { codFeePercent: 0, codFeeMin: 0, returnFee: 0, eachReturnKg: 0 }
  const model = new Books({ ...free, taxPercent: 0, withholdingPercent: 0 })
  const made: (readonly [merchant: number, rate: number, collected: number, Levied])[] = []
  const withhold = (merchant: number, income: number, collected: number) => {
    const levied = levy(ofRate(income), collected)
    made.push([merchant, income, collected, levied])
    model.levy(merchant, 'withholding', levied)
    return levied
  }
  /** Delivers a parcel whose delivery costs 450, and compares what is withheld with the model. */
  const deliver = async (waybill_number: string, general: object, cod: number, income: number, method = 'cash') => {
    const isBooks = 'merchant_business_id' in general && general.merchant_business_id === '7300'
    const merchant = isBooks ? bookshop : shop
    const orders = [order({ waybill_number, cod, weight: 1, initial_status_key: 'key_2' })]
    const booked = await bulk(batch(orders, { ...general }), isBooks ? { token: booksToken } : {})
    t.equal(booked.status, 200, JSON.stringify(booked.body))
    const collected = method === 'cash' ? {} : { [waybill_number]: { method } }
    t.equal((await move([waybill_number], 'key_13', { collected_by: 'Nimal', collected })).status, 200)
    const cents = cod * 100
    model.post(method === 'cash' ? 'rider:Nimal' : 'clearing', `merchant:${merchant}`, cents)
    model.charge(merchant, { delivery: 45_000, codFee: 0, returnFee: 0, tax: 0 })
    const levied = withhold(merchant, income, cents)
    const { lines } = (await staffGet(`/order/${waybill_number}/money`)).body.data
    const [line] = lines
    t.match(line, { withholding: totalOf(levied) / 100, withholding_percent: null, withheld: { length: 2 } })
    t.equal(line.withheld[0].amount, (levied.get('INCOME')?.amount ?? 0) / 100, waybill_number)
  }
  const outlet = { merchant_business_id: '7291' }
  await deliver('DM99000001', {}, 3333, 200)
  await deliver('DM99000002', outlet, 5000, 100)
  await deliver('DM99000003', outlet, 4999, 150, 'card')
  await deliver('DM99000004', { goods: 'electronics' }, 1999, 25)
  await deliver('DM99000005', { merchant_business_id: '7300' }, 1000, 400)
  await deliver('DM99000006', outlet, 800, 100)
  await deliver('DM99000007', outlet, 0, 100)
  await post('/order/DM99000006/take-back', { reason: 'The wrong parcel' })
  model.post('rider:Nimal', `merchant:${shop}`, -80_000)
  model.charge(shop, { delivery: -45_000, codFee: 0, returnFee: 0, tax: 0 })
  withhold(shop, 100, -80_000)
  const { correction_id } = await post('/ledger/correction', {
    ...{ kind: 'collection', waybill_number: 'DM99000001', amount: -333, reason: 'A discount' },
  })
  await post(`/ledger/correction/${correction_id}/approve`, {}, other)
  model.post('differences', `merchant:${shop}`, -33_300)
  withhold(shop, 200, -33_300)

  for (const goods of ['fruit', ['clothing']]) {
    const unknown = await bulk(batch([order({ cod: 100 })], { goods }))
    t.match(unknown, { status: 422, body: { errors: { 'general_data.goods': [/one of electronics, clothing/] } } })
  }
  Object.assign(second?.businesses[0] ?? {}, { goods: 'fruit' })
  const foreign = await fixture.apply(file, true)
  const noRate = [/no rate for fruit: it knows electronics, clothing/]
  t.match(foreign, { errors: { 'merchants.1.businesses.0.goods': noRate } })
  Object.assign(second?.businesses[0] ?? {}, { goods: undefined })

  const remitted = -model.balance('withholding:INCOME')
  const office = { office_reference: 'CPR 1', bank_reference: 'T1' }
  await post('/ledger/remit', { account: 'withholding:INCOME', amount: remitted / 100, ...office })
  model.post('withholding:INCOME', 'bank', remitted)
  const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}&limit=100`)).body.data
  const seen = accounts.map(({ account, debit, credit }: Record<string, number>) => [
    ...[account, Math.round(100 * ((debit ?? 0) - (credit ?? 0)))],
  ])
  t.strictSame(
    seen.filter(([, balance]: number[]) => balance !== 0),
    model.balances(),
  )

  const month = today.slice(0, 7)
  const sum = (name: string, wanted: (merchant: number, rate: number) => boolean) => {
    const of = made.filter(([merchant, rate]) => wanted(merchant, rate))
    return {
      collected: of.reduce((all, [, , collected]) => all + collected, 0) / 100,
      withheld: of.reduce((all, [, , , levied]) => all + (levied.get(name)?.amount ?? 0), 0) / 100,
    }
  }
  const path = `/ledger/month/withholding?month=${month}`
  const found = await readPages(fixture, path, { limit: 2, rowsOf: data => data.merchants })
  const incomes = [
    ...[25, 100, 150, 200].map(rate => ({ rate, merchant_id: shop })),
    { rate: 400, merchant_id: bookshop },
  ]
  const rowsOf = (name: string, of: number, rate?: number) =>
    sum(name, (merchant, each) => merchant === of && (rate === undefined || each === rate))
  const wanted = [
    ...incomes.map(({ rate, merchant_id }) => ({
      ...{ name: 'INCOME', percent: rate / 100, merchant_id, ...rowsOf('INCOME', merchant_id, rate) },
    })),
    ...[shop, bookshop].map(merchant_id => ({
      ...{ name: 'SALES', percent: 2, merchant_id, ...rowsOf('SALES', merchant_id) },
    })),
  ]
  t.equal(found.length, wanted.length)
  t.match(found, wanted)
  const { totals } = (await staffGet(path)).body.data
  t.match(totals, [
    { name: 'INCOME', ...sum('INCOME', () => true), parcels: 6 },
    { name: 'SALES', ...sum('SALES', () => true), parcels: 6 },
  ])
  const csv = await readCsv(fixture, path)
  t.equal(csv.length, 1 + wanted.length + 2)
  t.match(csv[1], new RegExp(`^INCOME,0.25,1,1999,5,${shop},Lanka Shoes,NTN 1$`))
  const report = (await staffGet(`/ledger/month?month=${month}`)).body.data.totals
  const named = {
    'withholding:INCOME': sum('INCOME', () => true).withheld,
    'withholding:SALES': sum('SALES', () => true).withheld,
  }
  t.match(report, { named, withholding: addAmounts(Object.values(named)), tax: 0, other: 0 })

  const [remittance] = await post('/invoice', { merchant_id: shop, until: today })
  const ofShop = made.filter(([merchant]) => merchant === shop)
  const paid = (await staffGet(`/invoice/${remittance.id}`)).body.data
  t.equal(
    addAmounts(paid.lines.map(({ withholding: amount }: { withholding: number }) => amount)),
    ofShop.reduce((all, [, , , levied]) => all + totalOf(levied), 0) / 100,
  )
  t.match((await readCsv(fixture, `/invoice/${remittance.id}?`))[0], /,withholding:INCOME,.*,withholding:SALES$/)
  deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  deepStrictEqual(await findContradictions(fixture, '2020-01-01', today), [])

  const running = `/merchant/${shop}/withholding?month=${month}`
  t.match(await staffGet(running), { status: 422, body: { errors: { month: [/has not ended/] } } })
  await rows(`update money_lines set booked_on = '2026-02-03'`)
  const certificate = (await staffGet(`/merchant/${shop}/withholding?month=2026-02`)).body.data
  t.match(certificate, {
    ...{ number: `2026-02-${shop}`, currency: 'PKR', merchant: { name: 'Lanka Shoes', tax_number: 'NTN 1' } },
    rows: wanted.filter(({ merchant_id }) => merchant_id === shop).map(({ merchant_id: _, ...row }) => row),
    total: ofShop.reduce((all, [, , , levied]) => all + totalOf(levied), 0) / 100,
  })
  t.strictSame((await get('/withholding?month=2026-02')).body.data, certificate, 'the merchant reads its own')
  t.equal((await staffGet('/merchant/999/withholding?month=2026-02')).status, 404)
  const headers = { authorization: `Bearer ${staffToken}`, 'x-tenant': tenant }
  const drawn = await app.inject({ url: `/api/staff/merchant/${shop}/withholding?month=2026-02&format=pdf`, headers })
  t.match(drawn.headers['content-type'], /pdf/)
  if (process.env.SCREENSHOTS) writeFileSync(`${process.env.SCREENSHOTS}/certificate.pdf`, drawn.rawPayload)
})

t.test('a company may take orders of registered merchants alone', async t => {
  const file = tenantFile({ withholding, money: { registered_only: true } })
  const [shop, books] = file.merchants
  Object.assign(shop ?? {}, { tax_number: 'NTN 1' })
  const { apply, bulk, booksToken } = await tenantFixture(t, { file })
  const bookAs = (token: string | undefined, business: string) =>
    bulk(batch([order()], { merchant_business_id: business }), token === undefined ? {} : { token })
  t.equal((await bookAs(undefined, '7290')).status, 200)
  const refused = await bookAs(booksToken, '7300')
  t.match(refused, { status: 422, body: { errors: { merchant: [/Give it your tax number, and book again/] } } })
  Object.assign(books ?? {}, { tax_number: 'NTN 2' })
  await apply(file)
  t.equal((await bookAs(booksToken, '7300')).status, 200)
  Object.assign(books ?? {}, { tax_status: 'unregistered' })
  await apply(file)
  t.equal((await bookAs(booksToken, '7300')).status, 422)
  Object.assign(file.tenant, { money: {} })
  await apply(file)
  t.equal((await bookAs(booksToken, '7300')).status, 200)
})
