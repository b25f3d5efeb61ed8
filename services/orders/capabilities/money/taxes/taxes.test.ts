import { deepStrictEqual } from 'node:assert'
import { readFileSync, writeFileSync } from 'node:fs'
import { addAmounts } from '@courier/shared/currency.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t, { type Test } from 'tap'
import type { Tx } from '../../../core/database/tables.ts'
import { checkFile } from '../../../core/provisioning/check-file.ts'
import { companyFile } from '../../../test/build.ts'
import { findContradictions, readCsv } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { readPdf } from '../../../test/read-pdf.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { foldDay } from '../ledger/fold-and-seal.ts'
import { Books, type Charges, levy, type ModelTax, priceDelivery, priceReturn, totalOf } from '../test/model.ts'

// Plays Sri Lanka's social security levy with value added tax on top of it, whose rate rises, and compares every
// document, report and account with the model, which has the rates of its own.

const sscl: ModelTax = { name: 'SSCL', percent: 250 }
const vatOf = (percent: number): ModelTax => ({ name: 'VAT', percent, below: ['SSCL'] })
const fees = { codFeePercent: 100, codFeeMin: 2000, returnFee: 15_000, eachReturnKg: 2500 }
const termsOf = (...taxes: ModelTax[]) => ({ ...fees, taxPercent: 0, withholdingPercent: 0, taxes })
const [former, risen] = [termsOf(sscl, vatOf(1500)), termsOf(sscl, vatOf(1800))]
const untaxed = termsOf({ ...sscl, percent: 0 }, vatOf(0))

const start = async (t: Test, settings: object = {}) => {
  const rates = [
    { from: '2020-01-01', percent: 15 },
    { from: '2099-01-01', percent: 99 },
  ]
  const vat = { name: 'VAT', on_top_of: ['SSCL'], rates }
  const taxes = [{ name: 'SSCL', rates: [{ from: '2023-10-01', percent: 2.5 }] }, vat]
  const money = {
    objection_hours: 0,
    payable_when: 'delivered',
    invoice_mask: 'YYMMM_HO_#',
    place_of_supply: 'Colombo',
  }
  const file = { ...tenantFile({ taxes, tax_number: '101-7000', money, ...settings }), statuses: shortStatuses }
  Object.assign(file.tenant, { postal_address: '1 Main Street', contact: '+94112000000' })
  Object.assign(money, { invoice_form: 'lk' })
  const [card] = file.rate_cards
  const prices = card?.rates.map(rate => ({ ...rate, first_kg: 450, each_extra_kg: 90 })) ?? []
  const cardFees = { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 }
  Object.assign(card ?? {}, { rates: prices, ...cardFees })
  Object.assign(file.merchants[0] ?? {}, { tax_number: '202-7000', postal_address: 'No. 7, Galle' })
  Object.assign(file.merchants[1] ?? {}, { tax_status: 'zero_rated' })
  const fixture = await tenantFixture(t, { file })
  const { request, staffOf, staffGet } = fixture
  const facts = await fixture.readFacts()
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = async (path: string, body: object = {}, token = clerk) => {
    const { status, body: found } = await request('POST', `/api/staff${path}`, body, { token })
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(found)}`)
    return found.data
  }
  const raise = async (from: string) => {
    vat.rates = [...rates, { from, percent: 18 }]
    const applied = await fixture.apply(file)
    t.match(applied, {
      kind: 'applied',
      changes: [{ kind: 'tenant', details: [/^taxes: .*"percent":99.*"percent":18/] }],
    })
  }
  const correct = async (body: object) => {
    const { correction_id } = await post('/ledger/correction', { reason: 'Weighed anew', ...body })
    await post(`/ledger/correction/${correction_id}/approve`, {}, second)
  }
  const read = async (id: string) => (await staffGet(`/invoice/${id}`)).body.data
  return { ...fixture, ...facts, post, raise, correct, read }
}

const inUnits = (cents: number) => cents / 100
/** Lists the taxes of charges as documents have them, in the order of their names and rates. */
const listTaxes = (parts: readonly (readonly [taxes: readonly ModelTax[], charges: Charges])[]) => {
  const sums = new Map<string, { name: string; percent: number; taxable: number; amount: number }>()
  for (const [taxes, { levied }] of parts)
    for (const { name, percent } of taxes) {
      const key = `${name} ${percent}`
      const { taxable = 0, amount = 0 } = levied?.get(name) ?? {}
      const before = sums.get(key) ?? { name, percent: percent / 100, taxable: 0, amount: 0 }
      sums.set(key, { ...before, taxable: before.taxable + taxable, amount: before.amount + amount })
    }
  return [...sums.values()].map(each => ({
    ...each,
    taxable: inUnits(each.taxable),
    amount: inUnits(each.amount),
  }))
}
/** Subtracts charges, as a correction does. */
const minus = (after: Charges, before: Charges): Charges => ({
  delivery: after.delivery - before.delivery,
  codFee: after.codFee - before.codFee,
  returnFee: after.returnFee - before.returnFee,
  tax: after.tax - before.tax,
  levied: new Map(
    [...(after.levied ?? [])].map(([name, { taxable, amount }]) => {
      const was = before.levied?.get(name) ?? { taxable: 0, amount: 0 }
      return [name, { taxable: taxable - was.taxable, amount: amount - was.amount }]
    }),
  ),
})
const worth = ({ delivery, codFee, returnFee }: Charges) => delivery + codFee + returnFee

t.test('a month with two taxes, one on top of the other, is that of the model', async t => {
  const fixture = await start(t)
  const { make, makeOfBooks, move, post, raise, correct, read, shop, books: bookshop, today, staffGet } = fixture
  const { pool, tenant } = fixture
  const model = new Books(former)
  const confirmed = { initial_status_key: 'key_2', weight: 1 }
  const deliver = (waybill: string) => move([waybill], 'key_13', { collected_by: 'Nimal' })
  const book = (merchant: number, charges: Charges, paid = 0) => {
    model.post('rider:Nimal', `merchant:${merchant}`, paid)
    model.charge(merchant, charges)
    return charges
  }
  await make(
    ['DM1', 'DM2', 'DM3', 'DM4'].map(name => name.replace('DM', 'DM9960000')),
    { ...confirmed, cod: 5000 },
  )
  await makeOfBooks(['DM99600009'], { ...confirmed, cod: 1000 })
  await deliver('DM99600001')
  const first = book(shop, priceDelivery(former, 45_000, 500_000), 500_000)
  t.strictSame(first.levied, levy(former.taxes, 50_000))
  t.strictSame(
    [...(first.levied ?? [])].map(([, { amount }]) => amount),
    [1250, 7688],
    '15 % of 512.50 is 76.875',
  )
  await move(['DM99600002'], 'key_21')
  const back = book(shop, priceReturn(former, 1))
  await deliver('DM99600003')
  await post('/order/DM99600003/take-back', { reason: 'The wrong parcel' })
  await deliver('DM99600009')
  const free = book(bookshop, priceDelivery(untaxed, 45_000, 100_000), 100_000)
  await raise(today)
  await deliver('DM99600004')
  const later = book(shop, priceDelivery(risen, 45_000, 500_000), 500_000)

  const [invoice, remittance, ofBooks] = await post('/invoice', { all: true, until: today })
  const parts = [
    [former.taxes, first],
    [former.taxes, back],
    [risen.taxes, later],
  ] as const
  const expected = {
    taxable: inUnits(worth(first) + worth(back) + worth(later)),
    tax: inUnits(first.tax + back.tax + later.tax),
    taxes: listTaxes(parts),
  }
  t.match(invoice, { document: 'tax_invoice' })
  t.match(remittance, { document: 'remittance' })
  t.match(await read(remittance.id), { taxable: 0, tax: 0, taxes: [] })
  t.match(await read(ofBooks.id), {
    taxable: inUnits(worth(free)),
    tax: 0,
    taxes: listTaxes([[untaxed.taxes, free]]),
  })
  for (const { id } of [invoice, ofBooks]) await post(`/invoice/${id}/submit`)
  const document = await read(invoice.id)
  t.match(document, expected)
  t.equal(document.charges_due, addAmounts([expected.taxable, expected.tax]))
  const of = (waybill: string) =>
    document.lines.filter((line: { waybill_number: string }) => line.waybill_number === waybill)
  t.strictSame(of('DM99600001')[0].taxes, listTaxes([[former.taxes, first]]))
  t.strictSame([of('DM99600001')[0].tax_percent, of('DM99600001')[0].tax], [null, inUnits(first.tax)])
  t.strictSame(
    of('DM99600003').map(({ taxes }: { taxes: unknown[] }) => taxes),
    [first, minus(priceDelivery(former, 0, 0), first)].map(charges => listTaxes([[former.taxes, charges]])),
    'a move that was taken back takes its taxes back',
  )
  const csv = await readCsv(fixture, `/invoice/${invoice.id}?`)
  t.match(csv[0], /,reason,tax:SSCL percent,tax:SSCL taxable,tax:SSCL,tax:VAT percent,tax:VAT taxable,tax:VAT$/)
  t.match(
    csv.find(row => row.startsWith('DM99600001')),
    /,2\.5,500,12\.5,15,512\.5,76\.88$/,
  )
  const drawn = await fixture.app.inject({
    url: `/api/staff/invoice/${invoice.id}?format=pdf`,
    headers: { authorization: `Bearer ${fixture.staffToken}`, 'x-tenant': tenant },
  })
  const word = (amount: number) => amount.toLocaleString('en', { minimumFractionDigits: 2 })
  const printed = readPdf(drawn.rawPayload)
  for (const { name, percent, taxable, amount } of expected.taxes)
    t.ok(printed.includes(`${name}, ${percent} % of ${word(taxable)} ${word(amount)}`), printed.join('\n'))
  const head = `DM99600001 ${today} delivered 2.5 + 15 450.00 50.00 0.00`
  const taxes = [...(first.levied?.values() ?? [])].map(({ amount }) => word(inUnits(amount)))
  t.ok(printed.includes([head, ...taxes, word(inUnits(worth(first) + first.tax))].join(' ')))
  if (process.env.SCREENSHOTS) writeFileSync(`${process.env.SCREENSHOTS}/two-taxes.pdf`, drawn.rawPayload)

  await correct({ kind: 'charges', waybill_number: 'DM99600001', delivery: 300 })
  const lowered = minus({ ...priceDelivery(former, 30_000, 500_000) }, first)
  model.charge(shop, lowered)
  await correct({ kind: 'collection', waybill_number: 'DM99600004', amount: 1000 })
  const raised = minus(priceDelivery(risen, 45_000, 600_000), later)
  model.post('differences', `merchant:${shop}`, 100_000)
  model.charge(shop, raised)
  const [note, second] = await post('/invoice', { merchant_id: shop, until: today })
  const [net, value] = [lowered.tax + raised.tax, worth(lowered) + worth(raised)]
  t.match(note, { document: 'credit_note' })
  t.notOk(second?.document === 'tax_invoice')
  await post(`/invoice/${note.id}/submit`)
  const corrected = await read(note.id)
  t.match(corrected, {
    ...{ corrects: document.invoice_no, taxable: inUnits(value), tax: inUnits(net) },
    taxes: listTaxes([
      [former.taxes, lowered],
      [risen.taxes, raised],
    ]),
  })

  const account = `tax:VAT`
  const due = -model.balance(account)
  await post('/ledger/remit', { account, amount: inUnits(due), office_reference: 'VAT 1', bank_reference: 'T1' })
  model.post(account, 'bank', due)
  const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}&limit=100`)).body.data
  const seen = accounts.map(({ account: name, debit, credit }: { account: string; debit: number; credit: number }) => [
    ...[name, Math.round(100 * (debit - credit))],
  ])
  t.strictSame(
    seen.filter(([, balance]: number[]) => balance !== 0),
    model.balances(),
  )

  const month = today.slice(0, 7)
  const sumOf = (name: string, ...of: Charges[]) =>
    inUnits(of.reduce((sum, { levied }) => sum + (levied?.get(name)?.amount ?? 0), 0))
  const ofShop = [first, back, later, lowered, raised]
  const named = { 'tax:SSCL': sumOf('SSCL', ...ofShop), 'tax:VAT': sumOf('VAT', ...ofShop) }
  const report = (await staffGet(`/ledger/month?month=${month}`)).body.data
  const tax = addAmounts(Object.values(named))
  t.match(report, {
    totals: { tax, named, other: 0 },
    merchants: [
      { merchant_id: shop, tax, named },
      { tax: 0, named: {} },
    ],
  })
  const monthCsv = await readCsv(fixture, `/ledger/month?month=${month}`)
  t.match(monthCsv[0], /,closing,tax:SSCL,tax:VAT$/)
  t.match(monthCsv.at(-1), new RegExp(`^,total,.*,${named['tax:SSCL']},${named['tax:VAT']}$`))

  const schedule = (await staffGet(`/ledger/month/documents?month=${month}`)).body.data
  const documents = [
    [document.invoice_no, listTaxes(parts)],
    [(await read(ofBooks.id)).invoice_no, listTaxes([[untaxed.taxes, free]])],
    [
      corrected.invoice_no,
      listTaxes([
        [former.taxes, lowered],
        [risen.taxes, raised],
      ]),
    ],
  ] as const
  const toRows = (number: string, list: ReturnType<typeof listTaxes>) =>
    list.map(({ name, percent, taxable, amount }) => `${number} ${name} ${percent} ${taxable} ${amount}`)
  t.strictSame(
    schedule.documents
      .map(
        (row: Record<string, unknown>) => `${row.number} ${row.tax_name} ${row.tax_percent} ${row.taxable} ${row.tax}`,
      )
      .toSorted(),
    documents.flatMap(([number, list]) => toRows(number, list)).toSorted(),
  )
  const taxable = inUnits([...ofShop, free].reduce((sum, charges) => sum + worth(charges), 0))
  t.match(schedule.totals, { taxable, tax, total: addAmounts([taxable, tax]) })
  const all = listTaxes([...parts, [untaxed.taxes, free], [former.taxes, lowered], [risen.taxes, raised]])
  t.strictSame(
    schedule.totals.taxes,
    all.toSorted((a, b) => (a.name + a.percent < b.name + b.percent ? -1 : 1)),
  )
  const scheduleCsv = await readCsv(fixture, `/ledger/month/documents?month=${month}`)
  t.equal(scheduleCsv.length, 1 + schedule.documents.length + all.length + 1)
  deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  deepStrictEqual(await findContradictions(fixture, '2020-01-01', today), [])

  const tables = ['money_lines', 'ledger_transfers', 'bank_entries', 'corrections']
  for (const table of tables)
    await fixture.rows(`update ${table} set booked_on = booked_on - 2 where booked_on is not null`)
  await fixture.rows('update invoice_versions set issued_on = issued_on - 2')
  t.equal(await inTenant(pool, tenant, (tx: Tx) => foldDay(tx, tenant)), 1)
  t.strictSame(listFindings(await checkLedger(pool, tenant)), [], 'the sealed day has the same accounts')
  await fixture.rows(
    `update money_lines set taxes = jsonb_set(taxes, '{0,percent}', '3') where waybill_number = 'DM99600002'`,
  )
  t.match(await checkLedger(pool, tenant), { unequal: [], broken_seals: [/^20/] }, 'a seal covers the rates')
})

t.test('the example of the documentation is computed as it says, and a tax cannot part from its line', async t => {
  const page = readFileSync('docs/money.md', 'utf8')
  const blocks = page.matchAll(/```json\n(\{"(?:taxes|withholding)": [^`]*)```/g)
  const [taxes, withholding] = [...blocks].map(([, json = '']) => JSON.parse(json))
  t.equal(checkFile(tenantFile({ ...taxes, ...withholding }), companyFile).kind, 'accepted')
  const computed = /\| 470 \| ([\d.]+) of 470\.00 \| ([\d.]+) of ([\d.]+) \| ([\d.]+) \|/
  const row = computed.exec(page)?.slice(1).map(Number) ?? []
  const { make, move, pool, rows, tenant } = await start(t, taxes)
  await make(['DM99700001'], { initial_status_key: 'key_2', weight: 1, cod: 100 })
  await move(['DM99700001'], 'key_13', { collected_by: 'Nimal' })
  const text = `select tax::float8, taxes from money_lines where waybill_number = 'DM99700001'`
  const [{ tax, taxes: found } = { tax: 0, taxes: [] }] = await rows(text)
  t.strictSame(
    [found[0].amount, found[1].amount, found[1].taxable, addAmounts([470, tax])],
    row,
    'the charges are 450 and a fee of 20',
  )
  t.equal(tax, inUnits(totalOf(levy(risen.taxes, 47_000))))
  await rows(`update money_lines set taxes = jsonb_set(taxes, '{1,amount}', '1') where waybill_number = 'DM99700001'`)
  t.match((await checkLedger(pool, tenant)).unequal, { length: 1 })
})
