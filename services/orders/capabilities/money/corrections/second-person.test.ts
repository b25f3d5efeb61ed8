import { deepStrictEqual } from 'node:assert'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import type { Tx } from '../../../core/database/tables.ts'
import { findContradictions } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { approveUndisputed } from '../invoices/invoices.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'

// Plays a company with `four_eyes`: nothing that costs it money is done by one person.

const money = { objection_hours: 0, payable_when: 'delivered', four_eyes: true, compensation_max: 1500 }
const fixture = await tenantFixture(t, { file: { ...tenantFile({ money }), statuses: shortStatuses } })
const { make, move, request, staffOf, staffGet, get, pool, rows, tenant } = fixture
const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
const { today, shop } = await fixture.readFacts()
const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
const balance = async () => (await get('/balance')).body.data.balance
let last = 97_000_000
const book = async (cod = 1000) => {
  const waybill = `DM${++last}`
  await make([waybill], { initial_status_key: 'key_2', cod, weight: 1 })
  return waybill
}
const deliver = async () => {
  const waybill = await book()
  t.equal((await move([waybill], 'key_13', { collected_by: 'Nimal' })).status, 200)
  return waybill
}
const waiting = async () => (await staffGet('/ledger/correction?state=waiting')).body.data
const decide = (id: number, step: string, token = second) => post(`/ledger/correction/${id}/${step}`, {}, token)
/** Makes an invoice of all that waits, submits it, and disputes a parcel. */
const dispute = async (waybill: string) => {
  const no = (await post('/invoice', { merchant_id: shop, until: today })).body.data[0].id
  await post(`/invoice/${no}/submit`, {})
  const body = { waybill_numbers: [waybill], reason: 'Too little' }
  t.equal((await request('POST', `/api/public/merchant/invoice/${no}/dispute`, body)).status, 200)
  return (await get(`/invoice/${no}`)).body.data.invoice_no as string
}

t.afterEach(async () => {
  deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  deepStrictEqual(await findContradictions(fixture, '2020-01-01', today), [])
})

t.test('compensation waits for a second person', async t => {
  const waybill = await book()
  const before = await balance()
  const { body } = await post('/compensation', { waybill_number: waybill, amount: 1000, reason: 'Lost' })
  t.match(body, { message: 'A Second Person Must Approve It', data: { waybill_number: waybill, amount: 1000 } })
  t.equal(await balance(), before)
  t.match((await post('/compensation', { waybill_number: waybill, amount: 900, reason: 'Lost' })).body.errors, {
    waybill_number: [`A compensation of ${waybill} waits already.`],
  })
  const { correction_id: id } = body.data
  t.match(await rows(`select actor from audit where object_id = $1`, [`correction ${id}`]), [{ actor: 'Chamari' }])
  t.match((await decide(id, 'approve', clerk)).body.errors, { correction_id: [/^Chamari made it: a second person/] })
  t.match((await decide(id, 'approve')).body.data, { kind: 'compensation', decided_by: 'Ruwan', booked_on: today })
  t.equal(await balance(), before + 1000)
  t.match((await post('/compensation', { waybill_number: waybill, amount: 1, reason: 'Lost' })).body.errors, {
    waybill_number: [/was compensated with 1000 on/],
  })
})

t.test('a settlement with an amount waits for a second person, one without does not', async t => {
  const waybill = await deliver()
  const no = await dispute(waybill)
  const settle = (adjustment?: number) =>
    post(`/invoice/${no}/dispute/settle`, { waybill_numbers: [waybill], adjustment, reason: 'Right' })
  const before = await balance()
  t.match((await settle(99_999)).body.errors, { adjustment: [/^Add at most 450 for/] })
  t.match((await settle(100)).body, { message: 'A Second Person Must Approve It', data: [] })
  t.equal(await balance(), before)
  const [asked] = await waiting()
  t.match(asked, { kind: 'settlement', amount: 100, waybill_number: waybill, invoice_no: no, made_by: 'Chamari' })
  t.match((await decide(asked.correction_id, 'approve', clerk)).body.errors, { correction_id: [/^Chamari made it/] })
  t.match((await decide(asked.correction_id, 'approve')).body.data, { state: 'approved', decided_by: 'Ruwan' })
  t.equal(await balance(), before + 100)
  t.equal((await decide(asked.correction_id, 'approve')).status, 200, 'a repetition')
  t.equal(await balance(), before + 100)

  const other = await deliver()
  const second = await dispute(other)
  const body = { waybill_numbers: [other], reason: 'Right' }
  await post(`/invoice/${second}/dispute/settle`, { ...body, adjustment: 5 })
  t.match((await post(`/invoice/${second}/dispute/settle`, body)).body.data, [other])
  const [stale] = await waiting()
  t.match((await decide(stale.correction_id, 'approve')).body.errors, { correction_id: [/No dispute of .* is open/] })
  await decide(stale.correction_id, 'reject')
})

t.test('a settlement counts compensation, and the most that a lost parcel brings', async t => {
  const waybill = await book(2000)
  const asked = await post('/compensation', { waybill_number: waybill, amount: 1000, reason: 'Lost' })
  await decide(asked.body.data.correction_id, 'approve')
  const no = await dispute(waybill)
  const settle = (adjustment: number) =>
    post(`/invoice/${no}/dispute/settle`, { waybill_numbers: [waybill], adjustment, reason: 'Right' })
  t.match((await settle(1000)).body.errors, {
    adjustment: [
      `Add at most 500 for ${waybill}: its COD and charges explain no more. Make a correction of the rest, which a second person approves.`,
    ],
  })
  await settle(500)
  await decide((await waiting())[0].correction_id, 'approve')
  const more = { kind: 'compensation', waybill_number: waybill, amount: 1, reason: 'x' }
  t.match((await post('/ledger/correction', more)).body.errors, { amount: [/at most 1500 in all/] })
})

t.test('time alone approves only what a second person saw', async t => {
  const approve = () => inTenant(pool, tenant, (tx: Tx) => approveUndisputed(tx, tenant))
  const submit = async (token: string) => {
    await deliver()
    const no = (await post('/invoice', { merchant_id: shop, until: today })).body.data[0].id
    await post(`/invoice/${no}/submit`, {}, token)
    return no
  }
  const state = async (no: string) => (await staffGet(`/invoice/${no}`)).body.data.state
  await approve()
  const [alone, seen] = [await submit(clerk), await submit(second)]
  t.equal(await approve(), 1)
  t.strictSame([await state(alone), await state(seen)], ['submitted', 'approved'])
  t.equal((await post(`/invoice/${alone}/approve`, {})).status, 422)
  t.equal((await post(`/invoice/${alone}/approve`, {}, second)).status, 200)
})

t.test('apply and the pay run say what one person may do alone', async t => {
  const warn = async (four_eyes: boolean) => {
    const file = { ...tenantFile({ money: { ...money, four_eyes } }), statuses: shortStatuses }
    const applied = await fixture.apply(file, true)
    return 'warnings' in applied && applied.warnings.filter(line => line.includes('four_eyes'))
  }
  t.strictSame(await warn(true), [])
  t.match(await warn(false), [/^money.four_eyes is off: one person alone may compensate/])
  t.equal((await staffGet('/payout')).body.data.four_eyes, true)
})
