import { deepStrictEqual } from 'node:assert'
import t from 'tap'
import { findContradictions } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { Books } from '../test/model.ts'

// Corrects charges after the cash was handed over and paid, against the model.

const file = {
  ...tenantFile({ tax_percent: 18, money: { objection_hours: 0, payable_when: 'delivered' } }),
  statuses: shortStatuses,
}
Object.assign(file.rate_cards[0] ?? {}, { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 })
const fixture = await tenantFixture(t, { file })
const { make, move, request, staffOf, staffGet, get, pool } = fixture
const pay = await preparePayer(fixture)
const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
const { today, shop } = await fixture.readFacts()
const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
const books = new Books({
  ...{ codFeePercent: 100, codFeeMin: 2000, returnFee: 15_000, eachReturnKg: 2500 },
  ...{ taxPercent: 1800, withholdingPercent: 0 },
})
const ask = (body: object) => post('/ledger/correction', { kind: 'charges', reason: 'It weighs 1 kg', ...body })
const approve = (id: number) => post(`/ledger/correction/${id}/approve`, {}, second)
const compare = async () => {
  const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}&limit=100`)).body.data
  const seen = accounts
    .map(({ account, debit, credit }: Record<string, number>) => [
      account,
      Math.round(100 * ((debit ?? 0) - (credit ?? 0))),
    ])
    .filter(([, balance]: [string, number]) => balance !== 0)
  t.strictSame(new Map(seen), new Map(books.balances()))
}
t.afterEach(async () => {
  deepStrictEqual(listFindings(await checkLedger(pool, fixture.tenant)), [])
  deepStrictEqual(await findContradictions(fixture, '2020-01-01', today), [])
  await compare()
})
const pays = async () => {
  const [{ id: no, total }] = (await post('/invoice', { merchant_id: shop, until: today })).body.data
  await post(`/invoice/${no}/submit`, {})
  await post(`/invoice/${no}/approve`, {}, second)
  t.equal((await pay([no], `P ${no}`, today)).status, 200)
  books.post(`merchant:${shop}`, 'bank', Math.round(total * 100))
  return (await get(`/invoice/${no}`)).body.data
}

t.test('charges of 8 kg become those of 1 kg, with their tax, after the parcel was paid', async t => {
  const waybill = 'DM97000001'
  await make([waybill], { initial_status_key: 'key_2', cod: 5000, weight: 8 })
  await move([waybill], 'key_13', { collected_by: 'Nimal' })
  await post('/cash/handover', { collected_by: 'Nimal', declared: 5000, counted: 5000 })
  const { lines } = (await staffGet(`/order/${waybill}/money`)).body.data
  const charged = Math.round(lines[0].delivery * 100)
  books.deliver(shop, { delivery: charged, paid: 500_000, holder: 'office' })
  await pays()
  const { body } = await ask({ waybill_number: waybill, delivery: 450 })
  const over = charged - 45_000
  const tax = Math.round((over * 18) / 100)
  t.match(body.data, { kind: 'charges', delivery: 450, cod_fee: null, amount: (over + tax) / 100, state: 'waiting' })
  t.match((await approve(body.data.correction_id)).body.data, { state: 'approved', booked_on: today })
  books.charge(shop, { delivery: -over, codFee: 0, returnFee: 0, tax: -tax })
  await compare()
  t.match((await ask({ waybill_number: waybill, delivery: 450 })).body.errors, {
    waybill_number: [`${waybill} is charged that already.`],
  })
  const invoice = await pays()
  t.match(invoice.lines, [
    {
      waybill_number: waybill,
      kind: 'charges',
      delivery: -over / 100,
      tax: -tax / 100,
      tax_percent: 18,
      reason: 'It weighs 1 kg',
    },
  ])
  t.equal(invoice.total, (over + tax) / 100)
})

t.test('the fee of a return and the COD fee are corrected apart, up and down', async t => {
  const waybill = 'DM97000002'
  await make([waybill], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  t.match((await ask({ waybill_number: waybill, return_fee: 1 })).body.errors, {
    waybill_number: [`${waybill} is not booked as returned with a fee.`],
  })
  await move([waybill], 'key_21')
  books.return(shop, 1)
  const { correction_id: id, amount } = (await ask({ waybill_number: waybill, return_fee: 200 })).body.data
  t.equal(amount, -59)
  const stale = (await ask({ waybill_number: waybill, return_fee: 100 })).body.data
  await approve(id)
  books.charge(shop, { delivery: 0, codFee: 0, returnFee: 5000, tax: 900 })
  t.match((await approve(stale.correction_id)).body.errors, { correction_id: [/changed meanwhile/] })
  const back = await post(`/order/${waybill}/take-back`, { reason: 'The wrong parcel' })
  t.match(back.body.errors, { waybill_number: [/has a correction of its charges: correct that back first/] })
  const undo = (await ask({ waybill_number: waybill, return_fee: 150 })).body.data
  await approve(undo.correction_id)
  books.charge(shop, { delivery: 0, codFee: 0, returnFee: -5000, tax: -900 })
  t.equal((await post(`/order/${waybill}/take-back`, { reason: 'The wrong parcel' })).status, 200)
  books.charge(shop, { delivery: 0, codFee: 0, returnFee: -15_000, tax: -2700 })
})

t.test('corrections of charges and of what was collected add up', async t => {
  const waybill = 'DM97000003'
  await make([waybill], { initial_status_key: 'key_2', cod: 5000, weight: 1 })
  await move([waybill], 'key_13', { collected_by: 'Nimal' })
  books.deliver(shop, { delivery: 45_000, paid: 500_000, holder: 'rider:Nimal' })
  const right = (await ask({ waybill_number: waybill, delivery: 400 })).body.data
  await approve(right.correction_id)
  books.charge(shop, { delivery: -5000, codFee: 0, returnFee: 0, tax: -900 })
  const less = { kind: 'collection', waybill_number: waybill, amount: -1000, reason: 'He paid less' }
  t.equal((await approve((await post('/ledger/correction', less)).body.data.correction_id)).status, 200)
  books.post('differences', `merchant:${shop}`, -100_000)
  books.charge(shop, { delivery: 0, codFee: -1000, returnFee: 0, tax: -180 })
})

t.test('a correction of charges states charges, and nothing else does', async t => {
  const waybill_number = 'DM97000003'
  const errors = async (body: object) => (await ask(body)).body.errors
  t.match(await errors({ waybill_number }), { delivery: ['Give the right delivery, cod_fee or return_fee.'] })
  t.match(await errors({ waybill_number, amount: 1, delivery: 1 }), { amount: [/^Leave this out/] })
  t.match(await errors({ waybill_number, delivery: 1, return_fee: 1 }), { return_fee: [/apart/] })
  t.match(await errors({ waybill_number, kind: 'write_off', amount: 1, delivery: 1 }), {
    delivery: [/^Leave this out/],
  })
  t.match(await errors({ waybill_number, delivery: 1.005 }), { delivery: [/too many decimals/] })
  t.match(await errors({ merchant_id: shop, delivery: 1 }), { merchant_id: [/^Leave this out/] })
})
