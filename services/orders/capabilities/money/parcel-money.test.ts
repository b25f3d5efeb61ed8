import { deepStrictEqual } from 'node:assert'
import t from 'tap'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { preparePayer } from '../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'
import { checkLedger, listFindings } from './ledger/check-ledger.ts'

t.test('the money of a parcel', async t => {
  const file = { ...tenantFile({ money: { objection_hours: 0 } }), statuses: shortStatuses }
  const fixture = await tenantFixture(t, { file })
  const { make, move, request, staffOf, staffGet, get, pool, readFacts, tenant } = fixture
  const payBatch = await preparePayer(fixture)
  const token = await staffOf('Chamari')
  const { today } = await readFacts()
  const post = (path: string, body: object) => request('POST', `/api/staff${path}`, body, { token })
  const deliver = async (waybill: string, isNew = true) => {
    if (isNew) await make([waybill], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await move([waybill], 'key_13', { collected_by: 'Nimal' })).status, 200)
  }
  const handOver = async (...waybill_numbers: string[]) => {
    const sum = 1000 * waybill_numbers.length
    const body = { collected_by: 'Nimal', waybill_numbers, declared: sum, counted: sum }
    t.equal((await post('/cash/handover', body)).status, 200)
  }
  const invoice = async () => (await post('/invoice', { all: true, until: today })).body.data[0]
  const pay = async (no: string) => {
    for (const step of ['submit', 'approve']) t.equal((await post(`/invoice/${no}/${step}`, {})).status, 200)
    t.equal((await payBatch([no], no, today)).status, 200)
    return (await staffGet(`/invoice/${no}`)).body.data.invoice_no
  }
  const expectState = async (waybill: string, wanted: object) =>
    t.match((await get(`/order/finance?waybill_numbers=${waybill}`)).body.data, [wanted])
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  })

  t.test('a delivery that was taken back is not paid with the invoice that takes it and its reversal', async t => {
    await deliver('DM94000001')
    t.equal((await post('/order/DM94000001/take-back', { reason: 'The wrong parcel' })).status, 200)
    await deliver('DM94000002')
    await handOver('DM94000002')
    const { id, total } = await invoice()
    t.equal(total, 550)
    const no = await pay(id)
    await expectState('DM94000002', { state: 'paid', finance_status: 'Deposited', invoice_no: no })
    const unpaid = { finance_status: 'Pending', invoice_no: null, paid_on: null }
    await expectState('DM94000001', { ...unpaid, state: 'none' })
    await deliver('DM94000001', false)
    await expectState('DM94000001', { ...unpaid, state: 'with_rider' })
  })

  t.test('a parcel that is found and delivered after its compensation is paid with the delivery', async t => {
    await make(['DM94000011'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await post('/compensation', { waybill_number: 'DM94000011', amount: 300, reason: 'Lost' })).status, 200)
    const no = await pay((await invoice()).id)
    await expectState('DM94000011', { state: 'paid', finance_status: 'Deposited', invoice_no: no })
    await deliver('DM94000011', false)
    await expectState('DM94000011', { state: 'with_rider', finance_status: 'Pending', invoice_no: null })
  })

  t.test('the delivery of a parcel in dispute is taken back once the dispute is settled', async t => {
    const waybills = ['DM94000021', 'DM94000022']
    await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    const collected = Object.fromEntries(waybills.map(waybill => [waybill, { method: 'card' }]))
    t.equal((await move(waybills, 'key_13', { collected })).status, 200)
    const { id: no } = await invoice()
    await post(`/invoice/${no}/submit`, {})
    const dispute = { waybill_numbers: ['DM94000021'], reason: 'Never delivered' }
    t.equal((await request('POST', `/api/public/merchant/invoice/${no}/dispute`, dispute)).status, 200)
    await post(`/invoice/${no}/cancel`, { reason: 'Never delivered' })
    const takeBack = () => post('/order/DM94000021/take-back', { reason: 'The wrong parcel' })
    t.match((await takeBack()).body.errors, {
      waybill_number: ['The money of DM94000021 is in dispute: settle the dispute first.'],
    })
    t.equal((await post(`/invoice/${no}/dispute/settle`, dispute)).status, 200)
    t.equal((await takeBack()).status, 200)
    t.match(await invoice(), { kind: 'made', total: 550 })
    t.match((await get('/balance')).body.data, { held: 0 })
  })
})
