import { deepStrictEqual } from 'node:assert'
import t, { type Test } from 'tap'
import { findContradictions } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { Books } from '../test/model.ts'

// Corrects charges whose tax invoice was issued: the papers and the books are those of the model. A kilogram costs 450,
// each further one 90: 8 kg booked for 1 kg cost 630 and 113.40 of tax too much.

const start = async (t: Test, money: object = {}) => {
  const file = { ...tenantFile({ tax_percent: 18 }), statuses: shortStatuses }
  Object.assign(file.tenant, { tax_number: 'VAT 101', money: { objection_hours: 0, ...money } })
  const [card] = file.rate_cards
  const rates = card?.rates.map(rate => ({ ...rate, first_kg: 450, each_extra_kg: 90 })) ?? []
  Object.assign(card ?? {}, { rates, cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 })
  const fixture = await tenantFixture(t, { file })
  const { tenant, make, move, request, staffOf, staffGet, pool } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const { today, shop } = await fixture.readFacts()
  const pay = await preparePayer(fixture)
  const books = new Books({
    ...{ codFeePercent: 100, codFeeMin: 2000, returnFee: 15_000, eachReturnKg: 2500 },
    ...{ taxPercent: 1800, withholdingPercent: 0 },
  })
  const send = (path: string, body: object = {}, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const post = async (path: string, body: object = {}, token = clerk) => {
    const { status, body: found } = await send(path, body, token)
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(found)}`)
    return found.data
  }
  let last = 97_100_000
  const book = async (weight: number, cod = 5000) => {
    const waybill = `DM${++last}`
    await make([waybill], { initial_status_key: 'key_2', cod, weight })
    return waybill
  }
  /** Delivers a parcel whose cash is then handed over. */
  const deliver = async (weight: number) => {
    const waybill = await book(weight)
    await move([waybill], 'key_13', { collected_by: 'Nimal' })
    await post('/cash/handover', { collected_by: 'Nimal', declared: 5000, counted: 5000 })
    const delivery = 45_000 + 9000 * (weight - 1)
    books.deliver(shop, { delivery, paid: 500_000, holder: 'office' })
    return waybill
  }
  const ask = (body: object) => send('/ledger/correction', { kind: 'charges', reason: 'Weighed anew', ...body })
  const approve = (id: number) => post(`/ledger/correction/${id}/approve`, {}, second)
  /** Corrects a parcel, whose charges grow by `more` without tax. */
  const correct = async (waybill_number: string, body: object, more: number) => {
    const { data } = (await ask({ waybill_number, ...body })).body
    const tax = Math.round(more * 0.18)
    t.match(data, { amount: -(more + tax) / 100, state: 'waiting' })
    await approve(data.correction_id)
    books.charge(shop, { delivery: more, codFee: 0, returnFee: 0, tax })
  }
  const read = async (id: string) => (await staffGet(`/invoice/${id}`)).body.data
  /** Makes, submits, approves and pays what there is; returns the documents. */
  const issue = async () => {
    const made = await post('/invoice', { merchant_id: shop, until: today })
    const documents = []
    for (const { id } of made) {
      if (!id) continue
      const { invoice_no } = await post(`/invoice/${id}/submit`)
      const { state, document, total } = await post(`/invoice/${id}/approve`, {}, second)
      if (state === 'approved' && ['remittance', 'invoice'].includes(document) && total > 0) {
        t.equal((await pay([invoice_no], `P ${invoice_no}`, today)).status, 200)
        books.post(`merchant:${shop}`, 'bank', Math.round(total * 100))
      }
      documents.push(await read(id))
    }
    return documents
  }
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
    deepStrictEqual(await findContradictions(fixture, '2020-01-01', today), [])
    const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}&limit=100`)).body.data
    const seen = accounts.map(({ account, debit, credit }: Record<string, number>) => [
      account,
      Math.round(100 * ((debit ?? 0) - (credit ?? 0))),
    ])
    t.strictSame(
      seen.filter(([, balance]: number[]) => balance !== 0),
      books.balances(),
    )
  })
  return { ...fixture, books, shop, book, deliver, ask, approve, correct, issue, post, send, second }
}

t.test(
  'a correction after the tax invoice and the cash is a credit note with the rate and tax of the invoice',
  async t => {
    const { deliver, correct, issue } = await start(t)
    const waybill = await deliver(8)
    const [invoice] = await issue()
    t.match(invoice, { document: 'tax_invoice', taxable: 1080 + 50, tax: 203.4 })
    await correct(waybill, { weight: 1 }, -63_000)
    await deliver(1)
    const [note, next, remittance] = await issue()
    t.match(note, {
      ...{ document: 'credit_note', corrects: invoice.invoice_no, taxable: -630, tax: -113.4, charges_due: -743.4 },
      lines: [{ waybill_number: waybill, kind: 'charges', delivery: -630, tax: -113.4, tax_percent: 18 }],
    })
    t.match(note.invoice_no, /^CN-/)
    t.match(next, { document: 'tax_invoice', charges_due: 590 })
    t.match(remittance, { total: 5000 - 590 + 743.4, set_off: -153.4 })
  },
)

t.test('a correction upwards is a debit note; the next one of the same parcel has a note of its own', async t => {
  const { deliver, correct, issue } = await start(t)
  const waybill = await deliver(1)
  const [invoice] = await issue()
  await correct(waybill, { weight: 8 }, 63_000)
  await deliver(1)
  const [up] = await issue()
  t.match(up, { document: 'debit_note', corrects: invoice.invoice_no, taxable: 630, tax: 113.4, charges_due: 743.4 })
  await correct(waybill, { delivery: 540 }, -54_000)
  await deliver(1)
  const [down] = await issue()
  t.match(down, { document: 'credit_note', corrects: invoice.invoice_no, taxable: -540, tax: -97.2 })
})

t.test('a correction before the tax invoice is on it, and makes no note', async t => {
  const { deliver, correct, issue } = await start(t)
  const waybill = await deliver(8)
  await correct(waybill, { weight: 1 }, -63_000)
  const documents = await issue()
  t.match(
    documents.map(({ document, charges_due }) => [document, charges_due]),
    [
      ['tax_invoice', 590],
      ['remittance', 0],
    ],
  )
})

t.test('under four_eyes, too, a second person approves; with one document the next invoice has the line', async t => {
  const { deliver, correct, issue, ask, send, post } = await start(t, { documents: 'one', four_eyes: true })
  const waybill = await deliver(8)
  await issue()
  const { correction_id: id } = (await ask({ waybill_number: waybill, weight: 2 })).body.data
  t.match((await send(`/ledger/correction/${id}/approve`)).body.errors, { correction_id: [/^Chamari made it/] })
  await post(`/ledger/correction/${id}/reject`)
  await correct(waybill, { weight: 1 }, -63_000)
  const [invoice, ...others] = await issue()
  t.match([invoice, others], [{ document: 'invoice', total: 743.4, lines: [{ kind: 'charges', tax: -113.4 }] }, []])
})

t.test('a dispute of a charge that is won is a correction of charges, and no difference', async t => {
  const { deliver, post, send, second, request, shop, readFacts, ask, approve, books, issue } = await start(t, {
    documents: 'one',
  })
  const waybill = await deliver(8)
  const { today } = await readFacts()
  const [{ id }] = await post('/invoice', { merchant_id: shop, until: today })
  const { invoice_no } = await post(`/invoice/${id}/submit`)
  const dispute = { waybill_numbers: [waybill], reason: 'It weighs 1 kg' }
  t.equal((await request('POST', `/api/public/merchant/invoice/${invoice_no}/dispute`, dispute)).status, 200)
  const settle = (body: object) =>
    send(`/invoice/${invoice_no}/dispute/settle`, { waybill_numbers: [waybill], reason: 'Weighed anew', ...body })
  t.match((await settle({ weight: 1, adjustment: 743.4 })).body.errors, { adjustment: [/^Leave this out/] })
  t.match((await settle({ return_fee: 1 })).body.errors, { waybill_numbers: [/not booked as returned/] })
  t.equal((await settle({ weight: 1 })).status, 200)
  const [{ correction_id, ...made }] = (
    await request('GET', '/api/staff/ledger/correction', undefined, { token: second })
  ).body.data
  t.match(made, { kind: 'charges', amount: 743.4, state: 'waiting', reason: 'Weighed anew' })
  await approve(correction_id)
  books.charge(shop, { delivery: -63_000, codFee: 0, returnFee: 0, tax: -11_340 })
  t.match((await ask({ waybill_number: waybill, weight: 1 })).body.errors, { waybill_number: [/charged that already/] })
  const { total } = await post(`/invoice/${invoice_no}/approve`, {}, second)
  t.equal(total, 5000 - 1130 - 203.4, 'what was held is paid')
  const [next] = await issue()
  t.match(next, { total: 743.4, lines: [{ kind: 'charges', delivery: -630, tax: -113.4, reason: 'Weighed anew' }] })
})

t.test('a weight is priced by the card that the parcel was booked with, or the charges are stated', async t => {
  const { deliver, book, ask, move, approve, books, shop, rows } = await start(t)
  const waybill = await deliver(8)
  const errors = async (body: object) => (await ask({ waybill_number: waybill, ...body })).body.errors
  t.match(await errors({ weight: 1, delivery: 1 }), { weight: ['Give the weight or the right charges, not both.'] })
  t.match(await errors({ weight: 0 }), { weight: [/must be a number above 0/] })
  t.match(await errors({ weight: 7.5 }), { waybill_number: [/is charged that already/] })
  const other = await book(3, 700)
  t.match(await errors({ waybill_number: other, weight: 1 }), { waybill_number: [/booked neither as delivered/] })
  await move([other], 'key_21')
  books.return(shop, 3)
  const { correction_id, ...asked } = (await ask({ waybill_number: other, weight: 1 })).body.data
  t.match(asked, { delivery: null, cod_fee: null, return_fee: 150, amount: 59 })
  await approve(correction_id)
  books.charge(shop, { delivery: 0, codFee: 0, returnFee: -5000, tax: -900 })
  await rows('update rates set each_extra_kg = 91')
  t.match(await errors({ weight: 1 }), {
    weight: [`The rate card has changed since ${waybill} was booked: state the charges.`],
  })
})
