import { findDecimals } from '@courier/shared/currency.ts'
import t, { type Test } from 'tap'
import { findContradictions, readCsv, readPages } from '../../test/expect-books.ts'
import { readPdf } from '../../test/read-pdf.ts'
import { Books, type Charges, percentOf } from './test/model.ts'
import { startTwo, terms } from './test/two-documents.ts'

// Plays a month of merchants, and compares each number of each paper, in JSON, CSV and PDF, with a model of its own.
// Amounts of the model are whole numbers of the smallest unit of the currency.

interface Row extends Charges {
  readonly waybill: string
  readonly kind: string
  readonly paid: number
  readonly withheld: number
}

interface Shop {
  readonly id: number
  readonly name: string
  /** Hold what no tax invoice, credit note or remittance has yet. */
  readonly charged: Row[]
  readonly corrected: Row[]
  readonly paid: Row[]
  /** Lists documents of charges that are neither paid nor set off wholly. */
  readonly open: { readonly no: string; left: number }[]
}

const noCharges: Charges = { delivery: 0, codFee: 0, returnFee: 0, tax: 0 }
const sumOf = (rows: readonly Row[], value: (row: Row) => number) => rows.reduce((sum, row) => sum + value(row), 0)
const taxableOf = ({ delivery, codFee, returnFee }: Row) => delivery + codFee + returnFee
const chargesOf = (row: Row) => taxableOf(row) + row.tax
const netOf = (row: Row) => row.paid - row.withheld - chargesOf(row)

const start = async (t: Test, currency: string, merchants: number) => {
  const fixture = await startTwo(t, { currency, merchants, apart: [1] })
  const { post, deliver, giveBack, rows, second } = fixture
  const decimals = findDecimals(currency)
  const unit = 10 ** decimals
  const scale = ([name, value]: [string, number]) => [name, name.endsWith('Percent') ? value : value * unit]
  const books = new Books(Object.fromEntries(Object.entries(terms).map(scale)) as unknown as typeof terms)
  const { taxPercent, withholdingPercent } = books.terms
  const names = await rows('select merchant_id::int as id, name from merchants order by merchant_id')
  const shops = names.map(({ id, name }): Shop => ({ id, name, charged: [], corrected: [], paid: [], open: [] }))
  /** Holds the bank's own lines: the sum of each reference. */
  const statement = new Map<string, number>()
  const bank = (account: string, reference: string, amount: number) => {
    statement.set(reference, (statement.get(reference) ?? 0) + amount)
    books.post('bank', account, amount)
  }
  const sell = async (shop: Shop, cod: number, method = 'cash') => {
    const waybill = await deliver(shops.indexOf(shop), cod, method)
    const paid = cod * unit
    const holder = method === 'cash' ? 'rider:Nimal' : 'clearing'
    const charges = books.deliver(shop.id, { delivery: 450 * unit, paid, holder })
    const row = { waybill, kind: 'delivered' }
    shop.charged.push({ ...row, ...charges, paid: 0, withheld: 0 })
    if (paid > 0) shop.paid.push({ ...row, ...noCharges, paid, withheld: percentOf(paid, withholdingPercent) })
    return waybill
  }
  const takeBack = async (shop: Shop) => {
    const waybill = await giveBack(shops.indexOf(shop))
    shop.charged.push({ waybill, kind: 'returned', paid: 0, withheld: 0, ...books.return(shop.id, 1) })
  }
  /** Corrects the delivery charge of a parcel from 450 to 300. */
  const correct = async (shop: Shop, waybill: string) => {
    const body = { kind: 'charges', waybill_number: waybill, delivery: 300, reason: 'Agreed on' }
    await post(`/ledger/correction/${(await post('/ledger/correction', body)).correction_id}/approve`, {}, second)
    const delivery = -150 * unit
    const charges = { ...noCharges, delivery, tax: percentOf(delivery, taxPercent) }
    books.charge(shop.id, charges)
    shop.corrected.push({ waybill, kind: 'charges', paid: 0, withheld: 0, ...charges })
  }
  /** Takes all money of an account to the bank, which gets less: the difference is in another account. */
  const deposit = async (from: string, reference: string, account: string, less: number, more: object = {}) => {
    const amount = books.balance(from) - less
    const difference = less > 0 && { difference: { account, amount: less / unit } }
    await post('/cash/deposit', { amount: amount / unit, bank_reference: reference, ...difference, ...more })
    books.post(account, from, less)
    bank(from, reference, amount)
  }
  const handOver = async () => {
    const sum = books.balance('rider:Nimal')
    await post('/cash/handover', { collected_by: 'Nimal', declared: sum / unit, counted: sum / unit })
    books.post('office', 'rider:Nimal', sum)
  }
  const word = (amount: number) =>
    (amount / unit).toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals })
  const acts = { bank, sell, takeBack, correct, deposit, handOver, word }
  return { ...fixture, ...acts, books, shops, statement, unit, currency, round: { number: 1 } }
}
type Month = Awaited<ReturnType<typeof start>>

/** Describes what a document has to show: its sums, its lines, and all that is printed of amounts. */
interface Paper {
  readonly sums: Readonly<Record<string, number>>
  readonly rows: readonly Row[]
  readonly printed: readonly string[]
}

type Column = readonly [head: string, value: (row: Row) => number]

/** Prints the sums of the columns that are not all 0, and a line for each row, which has the columns of `tail`, too. */
const print = (
  { word, today }: Month,
  rows: readonly Row[],
  columns: Column[],
  tail: Column[],
  rate = '',
): string[] => {
  const shown = columns.filter(([, value]) => rows.some(row => value(row) !== 0))
  const sums = shown.map(([head, value]) => {
    const count = rows.filter(row => value(row) !== 0).length
    return `${head} ${count} ${count === 1 ? 'parcel' : 'parcels'} ${word(sumOf(rows, value))}`
  })
  const lines = rows.map(row => {
    const amounts = [...shown, ...tail].map(([, value]) => word(value(row)))
    return [row.waybill, today, row.kind, ...(rate ? [rate] : []), ...amounts].join(' ')
  })
  return [...sums, ...lines]
}

const chargePaper = (month: Month, shop: Shop, document: string, no: string): Paper => {
  const { word, currency, shops } = month
  const rows = (document === 'tax_invoice' ? shop.charged : shop.corrected).splice(0)
  const [taxable, tax] = [sumOf(rows, taxableOf), sumOf(rows, row => row.tax)]
  const due = taxable + tax
  shop.open.push({ no, left: due })
  const sign = document === 'credit_note' ? -1 : 1
  const columns: Column[] = [
    ['Delivery', row => sign * row.delivery],
    ['COD fee', row => sign * row.codFee],
    ['Return fee', row => sign * row.returnFee],
  ]
  const tail: Column[] = [
    ['Tax', row => sign * row.tax],
    ['Total', row => sign * chargesOf(row)],
  ]
  const paid =
    shop === shops[1] ? `to be paid by ${shop.name} to Demo Couriers` : 'set off against your cash on delivery'
  const total = document === 'credit_note' ? `Total credited to ${shop.name}` : `Total, ${paid}`
  const printed = [
    ...print(month, rows, columns, tail, '18'),
    `Value without tax ${word(sign * taxable)}`,
    `Tax, 18 % of ${word(Math.abs(taxable))} ${word(sign * tax)}`,
    `${total} (${currency}) ${word(sign * due)}`,
  ]
  return { sums: { taxable, tax, charges_due: due, total: 0, set_off: 0 }, rows, printed }
}

/** Sets credit notes off, then the oldest tax invoices, as far as the COD reaches. The second shop pays invoices. */
const remittancePaper = (month: Month, shop: Shop): Paper => {
  const { word, currency, shops, bank, round } = month
  const rows = shop.paid.splice(0)
  const sum = sumOf(rows, netOf)
  let left = sum
  const oldest = [...shop.open.filter(each => each.left < 0), ...shop.open.filter(each => each.left > 0)]
  const setOff = oldest.flatMap(each => {
    const amount = each.left < 0 || shop !== shops[1] ? Math.min(each.left, Math.max(left, 0)) : 0
    left -= amount
    each.left -= amount
    return amount === 0 ? [] : [`Set off: ${each.no} ${word(-amount)}`]
  })
  bank(`merchant:${shop.id}`, `P${round.number}`, -left)
  const columns: Column[] = [
    ['Collected', row => row.paid],
    ['Withheld', row => -row.withheld],
  ]
  const printed = [
    ...print(month, rows, columns, [['Owed', netOf]]),
    ...setOff,
    `To be paid by Demo Couriers to ${shop.name} (${currency}) ${word(left)}`,
  ]
  return { sums: { taxable: 0, tax: 0, charges_due: 0, total: left, set_off: sum - left }, rows, printed }
}

/** Submits and approves a draft, and compares each of its formats with the model. */
const issue = async (t: Test, month: Month, { id, merchant_id, document }: Record<string, string>) => {
  const { shops, post, read, unit, app, tenant, staffToken } = month
  const shop = shops.find(each => each.id === Number(merchant_id)) as Shop
  const { invoice_no: no } = await post(`/invoice/${id}/submit`)
  const isRemittance = document === 'remittance'
  const paper = isRemittance ? remittancePaper(month, shop) : chargePaper(month, shop, document ?? '', no)
  const seen = await read(no)
  for (const [field, sum] of Object.entries(paper.sums)) t.equal(seen[field], sum / unit, `${no}: ${field}`)

  const fields = ['collected', 'withholding', 'delivery', 'cod_fee', 'return_fee', 'tax', 'net']
  const toLine = (line: Record<string, unknown>) => [
    ...[line.waybill_number, line.kind],
    ...fields.map(field => Math.round(Number(line[field]) * unit)),
  ]
  const wanted = paper.rows.map(row => [
    ...[row.waybill, row.kind, row.paid, row.withheld],
    ...[row.delivery, row.codFee, row.returnFee, row.tax, netOf(row)],
  ])
  const readAs = async (format: string) => {
    const headers = { authorization: `Bearer ${staffToken}`, 'x-tenant': tenant }
    return (await app.inject({ url: `/api/staff/invoice/${no}?format=${format}`, headers })).rawPayload
  }
  t.strictSame(seen.lines.map(toLine), wanted, `${no} as JSON`)
  const [head = [], ...lines] = (await readAs('csv'))
    .toString()
    .slice(1)
    .trimEnd()
    .split('\r\n')
    .map(line => line.split(','))
  const toObject = (cells: string[]) => Object.fromEntries(head.map((name, index) => [name, cells[index]]))
  t.strictSame(lines.map(toObject).map(toLine), wanted, `${no} as CSV`)
  const printed = readPdf(await readAs('pdf'))
  const missing = paper.printed.filter(line => !printed.includes(line))
  t.strictSame(missing, [], `${no} as PDF: ${missing.length > 0 && printed.join('\n')}`)
  t.equal(printed.filter(line => /^DM\d/.test(line)).length, wanted.length, `${no} as PDF has no other line`)
  await post(`/invoice/${no}/approve`)
}

/** Sells, takes back and brings to the bank what a third of the month has. Returns the first parcel. */
const trade = async ({ shops, sell, takeBack, handOver, deposit, unit, round }: Month): Promise<string> => {
  const sold: string[] = []
  for (const [n, shop] of shops.entries()) {
    for (const cod of [(1000 + 37 * n) * round.number, 0, n === 2 ? 0 : 777]) sold.push(await sell(shop, cod))
    await takeBack(shop)
  }
  await handOver()
  await deposit('office', `D${round.number}`, 'cash_differences', round.number === 1 ? 40 * unit : 0)
  if (round.number === 2) {
    const card = await sell(shops[0] as Shop, 901, 'card')
    await deposit('clearing', 'C1', 'acquirer_fees', 25 * unit, { waybill_numbers: [card] })
  }
  return sold[0] ?? ''
}

const issueAll = async (t: Test, month: Month) => {
  const made = await month.make()
  for (const each of made) await issue(t, month, each)
  const documents = await Promise.all(made.map(({ id }: { id: string }) => month.read(id)))
  const paid = documents.filter(({ total, state }) => total > 0 && state === 'approved')
  const numbers = paid.map(({ invoice_no }) => invoice_no)
  t.equal((await month.pay(numbers, `P${month.round.number}`, month.today)).status, 200)
}

/** Books what else the bank's statement of the month has. */
const closeMonth = async ({ shops, books, bank, post, unit, second }: Month) => {
  const [, apart] = shops
  const [oldest] = apart?.open ?? []
  await post(`/invoice/${oldest?.no}/charges`, { bank_reference: 'I1' })
  bank(`merchant:${apart?.id}`, 'I1', oldest?.left ?? 0)
  for (const account of ['tax', 'withholding']) {
    const amount = -books.balance(account)
    const references = { office_reference: `${account} of the month`, bank_reference: `T ${account}` }
    await post('/ledger/remit', { account, amount: amount / unit, ...references })
    bank(account, `T ${account}`, -amount)
  }
  for (const [kind, account, amount] of [
    ['bank_fee', 'bank_fees', -250],
    ['direct_debit', 'direct_debits', -1200],
    ['cash_found', 'cash_differences', 15],
  ] as const) {
    await post('/ledger/bank-entry', { kind, amount: Math.abs(amount), bank_reference: kind, reason: 'Statement' })
    bank(account, kind, amount * unit)
  }
  const lost = { kind: 'cash_written_off', amount: 25, reason: 'Never found' }
  await post(`/ledger/bank-entry/${(await post('/ledger/bank-entry', lost)).entry_id}/approve`, {}, second)
  books.post('differences', 'cash_differences', 25 * unit)
}

for (const [currency, merchants] of [
  ['LKR', 4],
  ['JPY', 2],
  ['KWD', 2],
  ['PKR', 2],
] as const)
  t.test(`a month in ${currency} is that of a model by double entry, on each paper and at the bank`, async t => {
    const month = await start(t, currency, merchants)
    const { books, shops, unit, today, staffGet, statement, round, correct } = month
    let first = ''
    for (round.number = 1; round.number <= 3; round.number++) {
      const sold = await trade(month)
      first ||= sold
      if (round.number === 2) await correct(shops[0] as Shop, first)
      await issueAll(t, month)
    }
    const { totals } = (await month.readSchedule()).data
    t.equal(totals.tax, -books.balance('tax') / unit, 'the schedule has all tax that is booked')
    const revenue = books.balance('delivery_revenue') + books.balance('returns_revenue')
    t.equal(totals.taxable, -revenue / unit)
    const csv = await readCsv(month, `/ledger/month/documents?month=${today.slice(0, 7)}`)
    t.equal(csv.at(-1), `,total,,,,,,,,${totals.taxable},${totals.tax},${totals.total},`)
    t.equal(csv.length, 3 + shops.length * 3, 'a row for each tax invoice, and one for the credit note')

    await closeMonth(month)
    for (const { id } of shops) {
      const { balance } = (await staffGet(`/merchant/${id}/balance`)).body.data
      t.equal(balance, books.owed(id) / unit, `merchant ${id}`)
    }
    const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}`)).body.data
    const balances = accounts.map(({ account, debit, credit }: Record<string, number>) => [
      ...[account, Math.round(((debit ?? 0) - (credit ?? 0)) * unit)],
    ])
    t.strictSame(
      balances.filter(([, sum]: number[]) => sum !== 0),
      books.balances(),
    )
    const entries = await readPages(month, `/ledger/journal?from=${today}&to=${today}&account=bank`, { limit: 200 })
    const seen = new Map<string, number>()
    for (const { bank_reference: reference, debit, amount } of entries)
      seen.set(reference, (seen.get(reference) ?? 0) + Math.round((debit === 'bank' ? amount : -amount) * unit))
    t.strictSame(seen, statement, 'the account of the bank is its statement')
    t.strictSame(await findContradictions(month, '2026-01-01', today), [])
  })
