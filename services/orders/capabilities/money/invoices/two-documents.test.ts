import { deepStrictEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
import { addAmounts, findDecimals } from '@courier/shared/currency.ts'
import t, { type Test } from 'tap'
import { findContradictions, readCsv } from '../../../test/expect-books.ts'
import { ordersFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { order, shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { Books, type Charges, percentOf } from '../test/model.ts'

const terms = {
  codFeePercent: 100,
  codFeeMin: 20,
  returnFee: 150,
  eachReturnKg: 25,
  taxPercent: 1800,
  withholdingPercent: 200,
}

/** Builds a company with a tax number and some merchants, whose documents are two. */
const start = async (t: Test, { currency = 'LKR', merchants = 2, money = {}, apart = [] as number[] } = {}) => {
  const file = { ...tenantFile(), statuses: shortStatuses }
  Object.assign(file.tenant, {
    ...{
      currency,
      tax_percent: 18,
      withholding_percent: 2,
      tax_number: 'VAT 101',
      postal_address: '1 Main Street\nKotte',
    },
    money: { payable_when: 'delivered', objection_hours: 0, ...money },
  })
  const fees = { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 }
  const [card] = file.rate_cards
  const rates = card?.rates.map(rate => ({ ...rate, first_kg: 450, each_extra_kg: 90 })) ?? []
  Object.assign(card ?? {}, { ...fees, rates })
  const [first] = file.merchants
  file.merchants = Array.from({ length: merchants }, (_, n) => ({
    ...first,
    ...{
      name: `Shop ${n}`,
      email: n === 0 ? 'shop@example.com' : n === 1 ? 'books@example.com' : `shop${n}@example.com`,
    },
    ...{ charges_apart: apart.includes(n), tax_number: `TIN ${n}` },
    businesses: [{ id: 7290 + n, name: `Shop ${n}`, default: true }],
  })) as typeof file.merchants
  const fixture = await ordersFixture(t, { file })
  const { bulk, move, request, staffOf, staffGet, createToken, pool } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const { today } = await fixture.readFacts()
  const pay = await preparePayer(fixture)
  const post = async (path: string, body: object = {}, token = clerk) => {
    const { status, body: found } = await request('POST', `/api/staff${path}`, body, { token })
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(found)}`)
    return found.data
  }
  const refused = async (path: string, body: object = {}) =>
    (await request('POST', `/api/staff${path}`, body, { token: clerk })).body.errors
  let count = 0
  /** Books a parcel of 1 kg of a merchant; its delivery costs 450. Moves it, and returns its number. */
  const book = async (n: number, cod: number, key: string, more: Record<string, unknown> = {}) => {
    const waybill_number = `DM${95_000_000 + ++count}`
    const orders = [order({ waybill_number, cod, weight: 1, initial_status_key: 'key_2' })]
    const general_data = { merchant_business_id: `${7290 + n}`, origin_city_id: '1500' }
    const token = await createToken(file.merchants[n]?.email ?? '')
    const made = await bulk({ general_data, order_data: orders }, { token })
    if (made.status !== 200) throw new Error(JSON.stringify(made.body))
    const { status } = await move([waybill_number], key, more)
    if (status !== 200) throw new Error(`${key}: ${status}`)
    return waybill_number
  }
  const deliver = (n: number, cod: number) => book(n, cod, 'key_13', { collected_by: 'Nimal' })
  const giveBack = (n: number) => book(n, 500, 'key_21')
  const make = (body: object = { all: true }) => post('/invoice', { ...body, until: today })
  const read = async (id: string) => (await staffGet(`/invoice/${id}`)).body.data
  const readSchedule = async (query = '') =>
    (await staffGet(`/ledger/month/documents?month=${today.slice(0, 7)}${query}`)).body
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, 'demo')), [])
  })
  return { ...fixture, file, today, pay, post, refused, deliver, giveBack, make, read, readSchedule, second }
}

t.test('a merchant with more charges than COD gets its tax invoice; the rest is set off later', async t => {
  const { deliver, make, post, refused, read, pay, today, get, giveBack } = await start(t)
  await deliver(0, 0)
  const [first, none] = await make()
  t.match(first, { document: 'tax_invoice', total: 0, charges_due: 531 })
  t.equal(none, undefined, 'there is nothing to remit')
  t.match(await read(first.id), { invoice_no: null, taxable: 450, tax: 81, state: 'draft' })
  const issued = await post(`/invoice/${first.id}/submit`)
  t.match(issued, { invoice_no: `CFX-${today.slice(2, 7)}-00001`, invoice_ref_no: issued.invoice_no })

  await deliver(0, 600)
  const [second, remittance] = await make()
  t.match(
    [second, remittance],
    [
      { document: 'tax_invoice', charges_due: 554.6 },
      { document: 'remittance', total: 0 },
    ],
  )
  t.match(await read(remittance.id), { set_off: 588, total: 0, lines: [{ collected: 600, delivery: 0, net: 588 }] })
  t.strictSame(await refused(`/invoice/${remittance.id}/submit`), {
    invoice_no: [`It sets the draft ${second.id} off: submit that first.`],
  })
  await post(`/invoice/${second.id}/submit`)
  const { invoice_no: no } = await post(`/invoice/${remittance.id}/submit`)
  t.match(no, /^RM-/)
  t.match(await refused(`/invoice/${issued.invoice_no}/cancel`, { reason: 'x' }), {
    invoice_no: [`${no} sets it off or corrects it, or has its parcels: cancel that first.`],
  })
  t.match(await post(`/invoice/${no}/approve`), { state: 'deposited' }, 'nothing is left to pay')
  t.match(await read(first.id), { state: 'deposited', charges_left: 0 })
  t.match(await read(second.id), { state: 'submitted', charges_left: 497.6 })
  t.match((await get('/balance')).body.data, { balance: -497.6 })

  await deliver(0, 3000)
  await giveBack(0)
  const [third, paid] = await make()
  t.match(third, { document: 'tax_invoice', charges_due: 743.4 })
  t.match(paid, { document: 'remittance', total: 2940 - 497.6 - 743.4 })
  for (const { id } of [third, paid]) {
    await post(`/invoice/${id}/submit`)
    await post(`/invoice/${id}/approve`)
  }
  t.equal((await pay([paid.id], 'P1', today)).status, 200)
  for (const { id } of [second, third, paid]) t.match(await read(id), { state: 'deposited', charges_left: 0 })
  t.match((await get('/balance')).body.data, { balance: 0 })

  const page = readFileSync(new URL('../../../../../docs/money.md', import.meta.url), 'utf8')
  const section = page.split('\n### Two documents\n')[1]?.split('\n### ')[0] ?? ''
  const totals = [...section.matchAll(/^\| \d \|.*\| ([\d,.]+) \|$/gm)].map(([, total = '']) =>
    Number(total.replaceAll(',', '')),
  )
  const documents = await Promise.all([first, second, remittance, third, paid].map(({ id }) => read(id)))
  t.strictSame(
    totals,
    documents.map(({ total, charges_due }) => total + charges_due),
    'docs/money.md has this day',
  )
})

t.test('a merchant that pays its charges itself gets its COD whole; the balance shows both', async t => {
  const { deliver, make, post, read, pay, today, get, refused } = await start(t, { apart: [0] })
  await deliver(0, 1000)
  t.match((await get('/balance')).body.data, { charges_due: 554.6, balance: 425.4, payable_now: 980 })
  const [invoice, remittance] = await make()
  t.match([invoice, remittance], [{ charges_due: 554.6 }, { total: 980 }])
  for (const { id } of [invoice, remittance]) {
    await post(`/invoice/${id}/submit`)
    await post(`/invoice/${id}/approve`)
  }
  t.match((await get('/balance')).body.data, { charges_due: 554.6, balance: 425.4, waiting: 980 })
  await post(`/invoice/${invoice.id}/charges`, { bank_reference: 'C1' })
  t.match(await read(invoice.id), { state: 'deposited', charges_left: 0 }, 'a paid invoice is paid')
  t.match(await refused(`/invoice/${invoice.id}/charges`, { bank_reference: 'C2' }), { bank_reference: [/C1/] })
  t.equal((await pay([remittance.id], 'P1', today)).status, 200)
  t.match((await get('/balance')).body.data, { charges_due: 0, balance: 0 })
})

t.test('a merchant that is exempt or zero-rated pays no tax on charges from then on', async t => {
  const { deliver, giveBack, make, post, read, readSchedule, rows } = await start(t)
  await deliver(0, 1000)
  await rows(`update merchants set tax_status = 'exempt' where merchant_id = 1`)
  await deliver(0, 1000)
  await rows(`update merchants set tax_status = 'zero_rated' where merchant_id = 1`)
  await giveBack(0)
  const [invoice] = await make()
  t.match(await read(invoice.id), {
    ...{ taxable: 470 + 470 + 150, tax: 84.6 },
    lines: [
      { tax: 84.6, tax_percent: 18 },
      { tax: 0, tax_percent: 0 },
      { tax: 0, tax_percent: 0 },
    ],
  })
  t.strictSame((await readSchedule()).data.documents, [], 'a draft is not issued')
  await post(`/invoice/${invoice.id}/submit`)
  t.match((await readSchedule()).data.documents, [
    { tax_percent: 0, taxable: 470 + 150, tax: 0, total: 620, merchant_tax_status: 'zero_rated' },
    { tax_percent: 18, taxable: 470, tax: 84.6, total: 554.6 },
  ])
})

t.test('a dispute changes the remittance alone; a cancelled tax invoice has a credit note of its charges', async t => {
  const { deliver, make, post, read, readSchedule, request, today } = await start(t)
  const waybill = await deliver(0, 1000)
  await deliver(0, 1000)
  const [invoice, remittance] = await make()
  const { invoice_no: taxNo } = await post(`/invoice/${invoice.id}/submit`)
  const { invoice_no: no } = await post(`/invoice/${remittance.id}/submit`)
  const dispute = { waybill_numbers: [waybill], reason: 'Open' }
  t.equal((await request('POST', `/api/public/merchant/invoice/${no}/dispute`, dispute)).status, 200)
  t.match(await read(no), { total: -129.2, versions: [{}, { kind: 'disputed', credit_note_no: null }] })
  t.match(await read(taxNo), { charges_due: 1109.2, version: 1, versions: [{}] })
  await post(`/invoice/${no}/dispute/settle`, { waybill_numbers: [waybill], reason: 'Right' })
  t.match(await read(no), { total: 850.8, state: 'submitted' })
  await post(`/invoice/${no}/cancel`, { reason: 'Wrong day' })
  const { versions } = await post(`/invoice/${taxNo}/cancel`, { reason: 'Wrong address' }).then(() => read(taxNo))
  t.match(versions.at(-1), { kind: 'cancelled', charges_due: 1109.2, credit_note_no: /^CN-.*-00001$/ })
  const [again] = await make()
  t.match(again, { document: 'tax_invoice', charges_due: 1109.2 }, 'its parcels are free')
  const next = taxNo.replace('00001', '00002')
  t.match(await post(`/invoice/${again.id}/submit`), { invoice_no: next })
  const amounts = { tax_percent: 18, taxable: 940, tax: 169.2, total: 1109.2 }
  const noted = versions.at(-1).credit_note_no
  const documents = [
    { number: taxNo, kind: 'tax_invoice', corrects: null, issued_on: today, merchant_tax_number: 'TIN 0', ...amounts },
    { number: next, kind: 'tax_invoice', corrects: null, ...amounts },
    { number: noted, kind: 'credit_note', corrects: taxNo, taxable: -940, tax: -169.2, total: -1109.2 },
  ]
  t.match((await readSchedule()).data, { totals: { taxable: 940, tax: 169.2, total: 1109.2 }, documents })
  const pages = []
  for (let cursor = ''; ; ) {
    const { data, next_cursor } = await readSchedule(`&limit=1${cursor}`)
    pages.push(...data.documents)
    if (next_cursor === null) break
    cursor = `&cursor=${next_cursor}`
  }
  t.match(pages, documents, 'page by page')
})

t.test('what changes charges after the issue is a credit note', async t => {
  const { deliver, make, post, read, readSchedule, second } = await start(t)
  const waybill = await deliver(0, 4000)
  const [invoice, remittance] = await make()
  for (const { id } of [invoice, remittance]) await post(`/invoice/${id}/submit`)
  const body = { kind: 'collection', waybill_number: waybill, amount: -1000, reason: '3,000 were paid' }
  const { correction_id: id } = await post('/ledger/correction', body)
  await post(`/ledger/correction/${id}/approve`, {}, second)
  await deliver(0, 5000)
  const made = await make()
  t.match(made, [
    { document: 'credit_note', charges_due: -11.8 },
    { document: 'tax_invoice', charges_due: 590 },
    { document: 'remittance', total: 4900 - 980 - 590 + 11.8 },
  ])
  for (const each of made) await post(`/invoice/${each.id}/submit`)
  const note = await read(made[0].id)
  t.match(note, { invoice_no: /^CN-/, corrects: (await read(invoice.id)).invoice_no, taxable: -10, tax: -1.8 })
  t.match((await readSchedule()).data, {
    totals: { taxable: 490 - 10 + 500 },
    documents: [{ kind: 'tax_invoice' }, { kind: 'tax_invoice' }, { kind: 'credit_note', corrects: note.corrects }],
  })
})

t.test('a company changes over between two invoices; the earlier ones keep their lines and bytes', async t => {
  const { deliver, make, post, read, apply, file, app, token, refused } = await start(t, {
    money: { documents: 'one' },
  })
  await deliver(0, 1000)
  const [one] = await make()
  const { invoice_no: no } = await post(`/invoice/${one.id}/submit`)
  const readBytes = async () => {
    const headers = { authorization: `Bearer ${token}`, 'x-tenant': 'demo' }
    return (await app.inject({ url: `/api/public/merchant/invoice/${no}?format=pdf`, headers })).rawPayload.toString(
      'base64',
    )
  }
  const [bytes, before] = [await readBytes(), await read(no)]
  await deliver(0, 2000)
  const tenant = { ...file.tenant, money: { payable_when: 'delivered', objection_hours: 0 } }
  t.equal((await apply({ ...file, tenant } as typeof file)).kind, 'applied')
  t.match(await make(), [
    { document: 'tax_invoice', charges_due: 554.6 },
    { document: 'remittance', total: 1960 - 554.6 },
  ])
  t.equal(await readBytes(), bytes)
  t.strictSame(await read(no), before)
  t.match(await apply(file), {
    kind: 'refused',
    errors: { 'tenant.money.documents': ['The company has tax invoices: it keeps two.'] },
  })
  t.match(await refused('/invoice/nothing/submit'), undefined)
})

t.test('a month of merchants is that of a model by double entry, in every currency', async t => {
  for (const [currency, merchants] of [
    ['LKR', 4],
    ['JPY', 2],
    ['KWD', 2],
    ['PKR', 2],
  ] as const)
    t.test(currency, async t => {
      const fixture = await start(t, { currency, merchants, apart: [1] })
      const { deliver, giveBack, make, post, read, pay, today, staffGet, rows, app, staffToken } = fixture
      const unit = 10 ** findDecimals(currency)
      const scaled = Object.fromEntries(
        Object.entries(terms).map(([name, value]) => [name, name.endsWith('Percent') ? value : value * unit]),
      ) as unknown as typeof terms
      const books = new Books(scaled)
      const ids = (await rows('select merchant_id::int as id from merchants order by merchant_id')).map(row => row.id)
      const due = ids.map(() => 0)
      for (const round of [1, 2, 3]) {
        const charged = ids.map((): Charges[] => [])
        const cash = ids.map(() => 0)
        for (const [n] of ids.entries()) {
          for (const cod of [(1000 + 37 * n) * round, 0, n === 2 ? 0 : 777]) {
            await deliver(n, cod)
            charged[n]?.push(books.deliver(ids[n], { delivery: 450 * unit, paid: cod * unit, holder: 'rider:Nimal' }))
            cash[n] = (cash[n] ?? 0) + cod * unit - percentOf(cod * unit, scaled.withholdingPercent)
          }
          await giveBack(n)
          charged[n]?.push(books.return(ids[n], 1))
        }
        const made = await make()
        for (const each of made) {
          const n = ids.indexOf(each.merchant_id)
          const own = charged[n] ?? []
          const sum = (fields: (keyof Charges)[]) =>
            own.reduce((all, line) => fields.reduce((so, field) => so + line[field], all), 0)
          const { invoice_no: no } = await post(`/invoice/${each.id}/submit`)
          const seen = await read(no)
          const url = `/api/staff/invoice/${no}?format=csv`
          const csv = await app.inject({ url, headers: { authorization: `Bearer ${staffToken}`, 'x-tenant': 'demo' } })
          const [head = '', ...lines] = csv.payload.slice(1).trimEnd().split('\r\n')
          const column = (name: string) =>
            addAmounts(lines.map(line => Number(line.split(',')[head.split(',').indexOf(name)])))
          if (each.document === 'tax_invoice') {
            const [taxable, tax] = [sum(['delivery', 'codFee', 'returnFee']), sum(['tax'])]
            t.strictSame(
              [seen.taxable, seen.tax, seen.charges_due],
              [taxable, tax, taxable + tax].map(all => all / unit),
            )
            t.strictSame([column('tax'), column('net')], [tax / unit, -(taxable + tax) / unit])
            due[n] = (due[n] ?? 0) + taxable + tax
          } else {
            const off = n === 1 ? 0 : Math.min(due[n] ?? 0, cash[n] ?? 0)
            due[n] = (due[n] ?? 0) - off
            t.strictSame(
              [seen.set_off, seen.total, column('net')],
              [off, (cash[n] ?? 0) - off, cash[n]].map(all => (all ?? 0) / unit),
            )
            books.post(`merchant:${each.merchant_id}`, 'bank', (cash[n] ?? 0) - off)
          }
          await post(`/invoice/${no}/approve`)
        }
        const paid = []
        for (const { id } of made) {
          const { total, state, invoice_no } = await read(id)
          if (total > 0 && state === 'approved') paid.push(invoice_no)
        }
        t.equal((await pay(paid, `P${round}`, today)).status, 200)
      }
      for (const id of ids) {
        const { balance } = (await staffGet(`/merchant/${id}/balance`)).body.data
        t.equal(balance, books.owed(id) / unit, `merchant ${id}`)
      }
      const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}`)).body.data
      t.strictSame(
        accounts
          .map(({ account, debit, credit }: Record<string, number>) => [
            account,
            Math.round(((debit ?? 0) - (credit ?? 0)) * unit),
          ])
          .filter(([, sum]: number[]) => sum !== 0),
        books.balances(),
      )
      const { totals } = (await fixture.readSchedule()).data
      t.equal(totals.tax, -books.balance('tax') / unit, 'the schedule has all tax that is booked')
      const revenue = books.balance('delivery_revenue') + books.balance('returns_revenue')
      t.equal(totals.taxable, -revenue / unit)
      const path = `/ledger/month/documents?month=${today.slice(0, 7)}`
      const csv = await readCsv(fixture, path)
      t.equal(csv.at(-1), `,total,,,,,,,,${totals.taxable},${totals.tax},${totals.total}`)
      t.equal(csv.length, 2 + ids.length * 3, 'a row for each tax invoice')
      t.strictSame(await findContradictions(fixture, '2026-01-01', today), [])
    })
})
