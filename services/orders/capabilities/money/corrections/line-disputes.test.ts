import { deepStrictEqual } from 'node:assert'
import t, { type Test } from 'tap'
import { findContradictions } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'

const start = async (t: Test, documents: 'one' | 'two', money = {}) => {
  const settings = { objection_hours: 0, payable_when: 'delivered', documents, ...money }
  const file = { ...tenantFile({ tax_percent: 18, tax_number: 'VAT 101', money: settings }), statuses: shortStatuses }
  const fixture = await tenantFixture(t, { file })
  const { tenant, make, makeOfBooks, move, request, staffOf, get, pool } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const { today, shop, books } = await fixture.readFacts()
  const must = async (path: string, body: object = {}, token = clerk) => {
    const { status, body: response } = await request('POST', `/api/staff${path}`, body, { token })
    if (status !== 200) throw new Error(`${path} ${JSON.stringify(response)}`)
    return response.data
  }
  const writeOff = async (merchant_id: number, amount: number) => {
    const made = await must('/ledger/correction', { kind: 'write_off', merchant_id, amount, reason: 'Packaging' })
    return must(`/ledger/correction/${made.correction_id}/approve`, {}, second)
  }
  /** Delivers parcels at their CODs, and returns their waybills. */
  const deliver = async (cods: readonly number[], makeThem = make, first = 95_000_000) => {
    const waybills = cods.map((_, index) => `DM${first + index}`)
    for (const [index, waybill] of waybills.entries())
      await makeThem([waybill], { initial_status_key: 'key_2', cod: cods[index], weight: 1 })
    await move(waybills, 'key_13', { collected_by: 'Nimal' })
    return waybills
  }
  const invoice = async () => {
    const made = await must('/invoice', { merchant_id: shop, until: today })
    const issued = []
    for (const { id, document } of made) if (id) issued.push({ document, ...(await must(`/invoice/${id}/submit`)) })
    return issued
  }
  const dispute = (no: string, body: object) =>
    request('POST', `/api/public/merchant/invoice/${no}/dispute`, { reason: 'Not ours', ...body })
  const read = async (no: string) => (await get(`/invoice/${no}`)).body.data
  const balance = async () => (await get('/balance')).body.data
  t.teardown(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
    deepStrictEqual(await findContradictions(fixture, '2020-01-01', today), [])
  })
  return {
    ...fixture,
    must,
    writeOff,
    deliver,
    invoice,
    dispute,
    read,
    balance,
    second,
    today,
    shop,
    books,
    makeOfBooks,
  }
}

t.test('a merchant disputes a line without a parcel, alone or beside parcels', async t => {
  const { must, writeOff, deliver, invoice, dispute, read, balance, staffGet, today, shop, books, makeOfBooks, rows } =
    await start(t, 'one')
  const [waybill] = await deliver([2500, 1000])
  await deliver([5000], makeOfBooks, 96_000_000)
  for (const [merchant, amount] of [
    [shop, -300],
    [books, -70],
    [shop, -40],
  ] as const)
    await writeOff(merchant, amount)
  const [{ invoice_no: no, total }] = await invoice()
  t.equal(total, 2500 + 1000 - 2 * 531 - 340)
  const { lines } = await read(no)
  const [first, last] = lines.filter((line: { waybill_number: string | null }) => line.waybill_number === null)
  t.match(
    [first, last],
    [
      { net: -300, line_no: 1 },
      { net: -40, line_no: 3 },
    ],
  )

  t.match((await dispute(no, {})).body.errors, { waybill_numbers: [/^Give waybill_numbers, or line_nos/] })
  t.match((await dispute(no, { line_nos: [1, 2, 9] })).body.errors, {
    'line_nos.1': [`line 2 is not on the invoice ${no}.`],
    'line_nos.2': [`line 9 is not on the invoice ${no}.`],
  })
  t.strictSame((await dispute(no, { line_nos: [1, 3], waybill_numbers: [waybill] })).body.data, [
    ...[waybill, 'line 1', 'line 3'],
  ])
  t.match((await dispute(no, { line_nos: [3] })).body.errors, { 'line_nos.0': ['line 3 is disputed already.'] })
  t.match(await read(no), { total: total + 340 - 1969, versions: [{}, { kind: 'disputed', credited: 1629 }] })
  t.match(await balance(), { held: 1629 })
  t.match(
    (await balance()).held_for
      .map((held: object) => ({ ...held, since: '' }))
      .toSorted((one: { amount: number }, two: { amount: number }) => one.amount - two.amount),
    [
      { waybill_number: null, line_no: 1, amount: -300, invoice_no: no },
      { waybill_number: null, line_no: 3, amount: -40 },
      { waybill_number: waybill, line_no: null, amount: 1969 },
    ],
  )
  const { data: entries } = (await staffGet(`/ledger/journal?from=${today}&to=${today}&account=held:${shop}`)).body
  const { credit_note_no } = (await read(no)).versions.at(-1)
  for (const entry of entries) t.match(entry, { kind: 'disputed', document: credit_note_no })
  t.equal(entries.length, 3)

  const settle = (body: object) => must(`/invoice/${no}/dispute/settle`, { reason: 'Right', ...body })
  await t.rejects(settle({ line_nos: [1], adjustment: 10 }), /make a write_off for the merchant/)
  await t.rejects(settle({ line_nos: [1], delivery: 10 }), /make a write_off for the merchant/)
  await t.rejects(settle({ line_nos: [2] }), /No dispute of line 2 is open/)
  await must(`/invoice/${no}/approve`, {})
  t.strictSame(await settle({ line_nos: [1, 3] }), ['line 1', 'line 3'])
  await t.rejects(settle({ line_nos: [1] }), /No dispute of line 1 is open/)
  await settle({ waybill_numbers: [waybill] })
  t.match(await balance(), { held: 0, held_for: [], payable_now: 1969 - 340 })
  const [next] = await invoice()
  t.equal(next.total, 1969 - 340)
  t.match(await rows(`select object_id from audit where action = 'invoice.dispute_settled' order by audit_id`), [
    { object_id: 'line 1' },
    { object_id: 'line 3' },
    { object_id: waybill },
  ])
})

t.test('disputed charges of a tax invoice are paid with its remittance, and the tax invoice stays', async t => {
  const { must, deliver, invoice, dispute, read, balance, second, staffGet } = await start(t, 'two', {
    four_eyes: true,
  })
  const [paid, unpaid] = await deliver([2500, 0])
  const [{ invoice_no: taxNo }, { invoice_no: no, total }] = await invoice()
  t.equal(total, 2500 - 2 * 531)
  const before = await read(taxNo)
  t.equal((await dispute(taxNo, { waybill_numbers: [paid, unpaid] })).status, 200)
  t.strictSame(await read(taxNo), before, 'the tax invoice never changes')
  t.match(await read(no), { total: 2500, versions: [{}, { kind: 'disputed', credit_note_no: null }] })
  t.match(await balance(), { held: -1062, held_for: [{ invoice_no: taxNo }, { invoice_no: taxNo }] })
  t.match((await dispute(taxNo, { waybill_numbers: [paid] })).body.errors, {
    'waybill_numbers.0': [/disputed already/],
  })
  t.match((await dispute(taxNo, { line_nos: [1] })).body.errors, { 'line_nos.0': [/is not on the invoice/] })
  // One is lost, the other won: half of it is credited.
  await must(`/invoice/${taxNo}/dispute/settle`, { waybill_numbers: [unpaid], reason: 'Delivered' })
  await must(`/invoice/${taxNo}/dispute/settle`, { waybill_numbers: [paid], delivery: 225, reason: 'Too much' })
  t.match(await balance(), { held: 0 })
  const [{ correction_id }] = (await staffGet('/ledger/correction')).body.data
  const waiting = await must(`/ledger/correction/${correction_id}/approve`, {}, second)
  t.match(waiting, { kind: 'charges', waybill_number: paid, amount: 265.5, state: 'approved' })
  await must(`/invoice/${no}/approve`, {}, second)
  const [note] = await invoice()
  t.match(note, { document: 'credit_note', charges_due: -265.5, corrects: taxNo })
  t.equal((await balance()).balance, 2500 - 1062 + 265.5)
})

t.test('what was disputed and settled is no longer in the document, and is not disputed on it again', async t => {
  const one = await start(t, 'one')
  await one.deliver([2500])
  await one.writeOff(one.shop, -300)
  const [{ invoice_no: no }] = await one.invoice()
  t.equal((await one.dispute(no, { line_nos: [1] })).status, 200)
  await one.must(`/invoice/${no}/dispute/settle`, { reason: 'Right', line_nos: [1] })
  t.match((await one.dispute(no, { line_nos: [1] })).body.errors, {
    'line_nos.0': ['Nothing of line 1 is in the total.'],
  })
  t.equal((await one.read(no)).total, 2500 - 531)

  const two = await start(t, 'two')
  const [waybill] = await two.deliver([2500])
  const [{ invoice_no: taxNo }] = await two.invoice()
  t.equal((await two.dispute(taxNo, { waybill_numbers: [waybill] })).status, 200)
  await two.must(`/invoice/${taxNo}/dispute/settle`, { reason: 'Right', waybill_numbers: [waybill] })
  t.match((await two.dispute(taxNo, { waybill_numbers: [waybill] })).body.errors, {
    'waybill_numbers.0': [`Nothing of ${waybill} is in the total.`],
  })
  t.match(await two.balance(), { held: 0, balance: 2500 - 531 })
})

t.test('with no remittance to wait for, the next one pays disputed charges', async t => {
  const { must, deliver, invoice, dispute, balance, today, shop, read } = await start(t, 'two')
  const [unpaid] = await deliver([0])
  const [{ invoice_no: taxNo }] = await invoice()
  t.equal((await dispute(taxNo, { waybill_numbers: [unpaid] })).status, 200)
  await deliver([2500], undefined, 95_000_100)
  const issued = await invoice()
  const remittance = issued.find(({ document }) => document === 'remittance')
  t.match(remittance, { total: 2500 - 531, set_off: 1062 })
  t.match((await read(remittance.invoice_no)).lines, [{ kind: 'disputed', held: -531 }, { collected: 2500 }])
  await must(`/invoice/${taxNo}/dispute/settle`, { waybill_numbers: [unpaid], reason: 'Delivered' })
  t.match(await balance(), { held: 0, payable_now: -531 })
  t.match((await must('/invoice', { merchant_id: shop, until: today }))[0], { kind: 'nothing_payable', total: -531 })
})
