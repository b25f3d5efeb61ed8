import { deepStrictEqual } from 'node:assert'
import t from 'tap'
import { connectTo } from '../../../../../dev/test-database.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { tenantFile } from '../../../test/tenant.ts'
import { untilWaiting } from '../../../test/waiting.ts'
import { checkLedger, listFindings } from './check-ledger.ts'

const statuses = [
  { key: 'key_1', moves: ['key_2'] },
  { key: 'key_2', moves: ['key_3', 'key_13', 'key_15'] },
  { key: 'key_3', moves: [] },
  { key: 'key_13', moves: ['key_21', 'filed'] },
  { key: 'filed', name: 'PROOF OF DELIVERY FILED', moves: [] },
  { key: 'key_15', moves: ['key_13', 'key_21'] },
  { key: 'key_21', moves: [] },
]

t.test('lines after a delivery', async t => {
  const fixture = await tenantFixture(t, { file: { ...tenantFile({ money: { objection_hours: 0 } }), statuses } })
  const { make, move, request, staffOf, staffGet, get, pool, rows, booksToken, tenant } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const pay = await preparePayer(fixture)
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const takeBack = (waybill: string) => post(`/order/${waybill}/take-back`, { reason: 'The wrong parcel' })
  const deliver = async (...waybills: string[]) => {
    await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    t.equal((await move(waybills, 'key_13', { collected_by: 'Nimal' })).status, 200)
  }
  const kinds = async (waybill: string) =>
    (await rows('select kind from money_lines where waybill_number = $1 order by line_no', [waybill])).map(
      ({ kind }) => kind,
    )
  const { today, shop } = await fixture.readFacts()
  const handOver = (sum: number, counted = sum) =>
    post('/cash/handover', { collected_by: 'Nimal', declared: sum, counted })
  const invoice = async () => (await post('/invoice', { merchant_id: shop, until: today })).body.data[0]
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  })

  t.test('a move taken back leaves no money behind, and the parcel can be delivered again', async t => {
    await deliver('DM93000001')
    t.match((await takeBack('DM93000001')).body, {
      message: 'Move Taken Back Successfully',
      data: { waybill_number: 'DM93000001', status_key: 'key_2' },
    })
    t.strictSame(await kinds('DM93000001'), ['delivered', 'delivery_reversed'])
    t.strictSame((await staffGet('/cash')).body.data.people, [])
    t.match((await get('/order/finance?waybill_numbers=DM93000001')).body.data, [
      { collected: 0, method: null, booked_on: null, state: 'none' },
    ])
    t.match((await takeBack('DM93000001')).body.errors, {
      waybill_number: ['The newest move of DM93000001 was taken back already.'],
    })
    const timeline = (await get('/order/tracking-info?waybill_number=DM93000001')).body.data
    t.match(timeline[0], { status: { key: 'key_2' } })
    t.equal((await staffGet('/today')).body.data.delivered, 0, 'the parcel does not count as delivered today')
    t.equal((await move(['DM93000001'], 'key_13', { collected_by: 'Nimal' })).status, 200)
    t.strictSame(await kinds('DM93000001'), ['delivered', 'delivery_reversed', 'delivered'])
    const changes = (await get('/order/changes')).body.data.filter(
      (change: { waybill_number: string }) => change.waybill_number === 'DM93000001',
    )
    t.match(changes.at(-2), { type: 'order.status_changed', status: { key: 'key_2' } })
  })

  t.test('taking a delivery back to a failed attempt does not count the attempt again', async t => {
    await make(['DM93000011'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    const failed = async () =>
      (await rows(`select count(*)::int from order_events where status_key = 'key_15' and is_counted`))[0].count
    t.equal((await move(['DM93000011'], 'key_15')).status, 200)
    t.equal((await move(['DM93000011'], 'key_13')).status, 200)
    t.match((await takeBack('DM93000011')).body.data, { status_key: 'key_15' })
    t.equal(await failed(), 1)
    t.equal((await takeBack('DM93000011')).status, 422)
  })

  t.test('taking back a later move keeps the booking of the delivery and its count as a first attempt', async t => {
    await make(['DM93000015'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    await move(['DM93000015'], 'key_13', { collected_by: 'Sunil' })
    const firstAttempts = async () => (await get('/order/summary')).body.data.total.delivered_first_attempt
    const before = await firstAttempts()
    t.equal((await move(['DM93000015'], 'filed')).status, 200)
    t.match((await takeBack('DM93000015')).body.data, { status_key: 'key_13' })
    t.equal(await firstAttempts(), before)
    t.equal((await move(['DM93000015'], 'filed')).status, 200)
    t.strictSame(await kinds('DM93000015'), ['delivered'])
  })

  t.test('refuses to take back money that has moved on, and names the remedy', async t => {
    await deliver('DM93000021')
    const { data } = (await handOver(1000, 900)).body
    const refused = async (sentence: RegExp) =>
      t.match((await takeBack('DM93000021')).body.errors.waybill_number, [sentence])
    // Nimal also holds the cash of the first test.
    t.match(data, { state: 'open', expected: 2000 })
    await refused(/open handover/)
    t.equal(
      (await post(`/cash/handover/${data.handover_id}/settle`, { settle_as: 'written_off', reason: 'x' }, second))
        .status,
      200,
    )
    await refused(/was handed over/)
    const { id: invoice_no } = await invoice()
    await refused(/is on an invoice/)
    t.equal((await post(`/invoice/${invoice_no}/cancel`, { reason: 'x' })).status, 200)
    t.equal((await takeBack('DM99999999')).status, 404)
  })

  t.test(
    'the amount of disputed parcels is held, the rest is paid, and the next invoice has the settled amount',
    async t => {
      await deliver('DM93000031', 'DM93000032')
      t.equal((await handOver(2000)).status, 200)
      const { id, total } = await invoice()
      let no = id
      const dispute = (waybill_numbers: string[], token?: string) =>
        request(
          'POST',
          `/api/public/merchant/invoice/${no}/dispute`,
          { waybill_numbers, reason: 'Open' },
          token ? { token } : {},
        )
      t.equal((await dispute(['DM93000031'])).status, 404, 'the merchant sees no draft')
      no = (await post(`/invoice/${id}/submit`, {})).body.data.invoice_no
      t.equal((await dispute(['DM93000031'], booksToken)).status, 404)
      t.match((await dispute(['DM93000031', 'DM1'])).body.errors, {
        'waybill_numbers.1': [`DM1 is not on the invoice ${no}.`],
      })
      t.equal((await dispute(['DM93000031'])).status, 200)
      t.match((await dispute(['DM93000031'])).body.errors, { 'waybill_numbers.0': ['DM93000031 is disputed already.'] })
      t.equal((await staffGet(`/invoice/${no}`)).body.data.total, total - 550)
      await post(`/invoice/${no}/approve`, {})
      t.equal((await pay([no], 'A', today)).status, 200)
      const settle = (adjustment: number) =>
        post(`/invoice/${no}/dispute/settle`, { waybill_numbers: ['DM93000031'], adjustment, reason: 'Half' })
      t.match((await settle(-551)).body.errors, { adjustment: ['Take at most what is held for DM93000031, 550.'] })
      t.match((await settle(450.01)).body.errors, {
        adjustment: [/^Add at most 450 for DM93000031: its COD and charges explain no more\. Make a correction/],
      })
      const settled = await Promise.all([settle(-275.5), settle(-275.5)])
      t.strictSame(settled.map(({ status }) => status).sort(), [200, 422], 'a dispute is settled once')
      t.match(await invoice(), { kind: 'made', total: 274.5 })
    },
  )

  t.test('a settled parcel can be disputed again on the invoice that follows a cancelled one', async t => {
    await deliver('DM93000035', 'DM93000036')
    t.equal((await handOver(2000)).status, 200)
    const body = { waybill_numbers: ['DM93000035'], reason: 'Open' }
    const dispute = (no: string) => request('POST', `/api/public/merchant/invoice/${no}/dispute`, body)
    const settle = (no: string) => post(`/invoice/${no}/dispute/settle`, body)
    const submitNext = async () => {
      const { id: no, total } = await invoice()
      t.equal((await post(`/invoice/${no}/submit`, {})).status, 200)
      return { no, total }
    }
    const first = await submitNext()
    for (const act of [dispute, settle]) t.equal((await act(first.no)).status, 200)
    t.match((await dispute(first.no)).body.errors, {
      'waybill_numbers.0': ['Nothing of DM93000035 is in the total.'],
    })
    t.equal((await post(`/invoice/${first.no}/cancel`, { reason: 'Wrong day' })).status, 200)
    const second = await submitNext()
    t.equal(second.total, first.total)
    t.equal((await dispute(second.no)).status, 200)
    t.equal((await staffGet(`/invoice/${second.no}`)).body.data.total, second.total - 550)
    t.match((await dispute(second.no)).body.errors, { 'waybill_numbers.0': ['DM93000035 is disputed already.'] })
  })

  t.test('a parcel has one open dispute at a time, whichever of its invoices it is on', async t => {
    await deliver('DM93000037', 'DM93000038')
    t.equal((await handOver(2000)).status, 200)
    const body = { waybill_numbers: ['DM93000037'], reason: 'Lost' }
    const dispute = (no: string) => request('POST', `/api/public/merchant/invoice/${no}/dispute`, body)
    const submitNext = async (): Promise<string> => {
      const { id } = await invoice()
      return (await post(`/invoice/${id}/submit`, {})).body.data.invoice_no
    }
    const first = await submitNext()
    t.equal((await dispute(first)).status, 200)
    for (const waybill_number of ['DM93000037', 'DM93000038'])
      await post('/compensation', { waybill_number, amount: 300, reason: 'Lost', delivered_reason: 'Empty' })
    const second = await submitNext()
    t.match((await dispute(second)).body.errors, { 'waybill_numbers.0': ['DM93000037 is disputed already.'] })
    const elsewhere = await post(`/invoice/${second}/dispute/settle`, body)
    t.strictSame(elsewhere.body.errors, {
      'waybill_numbers.0': [`No dispute of DM93000037 is open on the invoice ${second}.`],
    })
    t.match((await get('/balance')).body.data.held_for, [{ waybill_number: 'DM93000037', invoice_no: first }])
    t.equal((await post(`/invoice/${first}/dispute/settle`, { ...body, adjustment: 100 })).status, 200)
    t.equal((await dispute(second)).status, 200)
    const again = await post(`/invoice/${second}/dispute/settle`, { ...body, adjustment: 51 })
    t.match(
      again.body.errors,
      { adjustment: [/^Add at most 50 for DM93000037/] },
      'less what was added and compensated',
    )
    t.equal((await post(`/invoice/${second}/dispute/settle`, body)).status, 200)
    t.match(await invoice(), { kind: 'made', total: 550 + 100 + 300 })
  })

  t.test('a dispute is settled through its own invoice, also once that is cancelled', async t => {
    await deliver('DM93000391', 'DM93000392')
    t.equal((await handOver(2000)).status, 200)
    const body = { waybill_numbers: ['DM93000391'], reason: 'Open' }
    const submitNext = async (): Promise<string> => {
      const { id } = await invoice()
      return (await post(`/invoice/${id}/submit`, {})).body.data.invoice_no
    }
    const first = await submitNext()
    t.equal((await request('POST', `/api/public/merchant/invoice/${first}/dispute`, body)).status, 200)
    t.equal((await post(`/invoice/${first}/cancel`, { reason: 'Wrong day' })).status, 200)
    const second = await submitNext()
    const settle = (no: string) => post(`/invoice/${no}/dispute/settle`, body)
    t.equal((await settle(second)).status, 422)
    t.match((await staffGet(`/merchant/${shop}/balance`)).body.data.held_for, [{ invoice_no: first }])
    t.equal((await settle(first)).status, 200)
    t.equal((await settle(first)).status, 422)
    t.match(await invoice(), { kind: 'made', total: 550 })
  })

  t.test('a lost parcel is compensated once', async t => {
    await make(['DM93000051'], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    const compensate = (amount: number) =>
      post('/compensation', { waybill_number: 'DM93000051', amount, reason: 'Lost', value_reason: 'Half was paid' })
    t.equal((await compensate(0)).status, 422)
    t.strictSame((await compensate(2000.5)).body.data, { waybill_number: 'DM93000051', amount: 2000.5 })
    t.match((await compensate(1)).body.errors, {
      waybill_number: [`DM93000051 was compensated with 2000.5 on ${today}: correct that.`],
    })
    t.match(await invoice(), { total: 2000.5 })
    t.equal((await post('/compensation', { waybill_number: 'DM9', amount: 1, reason: 'x' })).status, 404)
  })

  t.test('either a take-back or a concurrent invoice wins, never both', async t => {
    const paidByCard = async (waybill: string) => {
      await make([waybill], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
      await move([waybill], 'key_13', { collected: { [waybill]: { amount: 1000, method: 'card' } } })
    }
    /** Starts a request that a lock keeps from writing to a table, then a second request; then frees the lock. */
    const race = async <First, Second>(table: string, first: () => Promise<First>, second: () => Promise<Second>) => {
      const owner = await connectTo(t, fixture.database.superuserUrl)
      await owner.query(`begin; lock table ${table} in share mode`)
      const started = first()
      await untilWaiting(owner)
      const other = second()
      await untilWaiting(owner, 2)
      await owner.query('rollback')
      return [await started, await other] as const
    }
    await paidByCard('DM93000401')
    const [back, invoiced] = await race('ledger_transfers', () => takeBack('DM93000401'), invoice)
    t.equal(back.status, 200)
    t.match(invoiced, { kind: 'nothing_payable', total: 0 }, 'the invoice sees the reversal')
    await paidByCard('DM93000402')
    const [made, refused] = await race('invoices', invoice, () => takeBack('DM93000402'))
    t.equal(made.kind, 'made')
    t.match(refused.body.errors, {
      waybill_number: ['The money of DM93000402 is on an invoice: cancel the invoice first.'],
    })
  })

  t.test('either a take-back or a concurrent handover wins, never both', async t => {
    for (let round = 0; round < 5; round++) {
      const waybill = `DM9300006${round}`
      await deliver(waybill)
      const [taken, handed] = await Promise.all([takeBack(waybill), handOver(1000)])
      t.strictSame([taken.status, handed.status].sort(), [200, 422])
    }
  })
})
