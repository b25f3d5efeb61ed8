import { deepStrictEqual } from 'node:assert'
import { readFileSync } from 'node:fs'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import type { Tx } from '../../../core/database/tables.ts'
import { findContradictions } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { checkLedger, listFindings } from '../ledger/check-ledger.ts'
import { foldDay } from '../ledger/fold-and-seal.ts'

// Plays corrections together with what they meet: invoices, disputes, pay runs, moves taken back, closed days. With the
// terms of the table in docs/money.md.

const open = async () => {
  const settings = { objection_hours: 0, payable_when: 'delivered', compensation_max: 2000 }
  const file = {
    ...tenantFile({ tax_percent: 18, withholding_percent: 2, money: settings }),
    statuses: shortStatuses,
  }
  Object.assign(file.rate_cards[0] ?? {}, { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 })
  const fixture = await tenantFixture(t, { file })
  const { make, move, request, staffOf, staffGet, get } = fixture
  const pay = await preparePayer(fixture)
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const post = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const { today, shop } = await fixture.readFacts()
  const must = async (path: string, body: object, token = clerk) => {
    const { status, body: response } = await post(path, body, token)
    if (status !== 200) throw new Error(`${path} ${JSON.stringify(response)}`)
    return response.data
  }
  let last = 97_000_000
  /** Makes a parcel at a COD of 2,500 and delivers it: 1,889.50 for the shop. */
  const deliver = async (cod = 2500) => {
    const waybill = `DM${++last}`
    await make([waybill], { initial_status_key: 'key_2', cod, weight: 1 })
    if (cod > 0) t.equal((await move([waybill], 'key_13', { collected_by: 'Nimal' })).status, 200)
    return waybill
  }
  const correct = async (body: object) => {
    const { correction_id } = await must('/ledger/correction', { reason: 'Found out', ...body })
    return must(`/ledger/correction/${correction_id}/approve`, {}, second)
  }
  const invoice = async () => {
    const [made] = await must('/invoice', { merchant_id: shop, until: today })
    return made.kind === 'made' ? { ...made, ...(await must(`/invoice/${made.id}/submit`, {})) } : made
  }
  const approve = (no: string) => must(`/invoice/${no}/approve`, {}, second)
  const balance = async () => (await get('/balance')).body.data
  const lines = async (no: string) => (await get(`/invoice/${no}`)).body.data.lines
  const helpers = { ...fixture, post, must, deliver, correct, invoice, approve, balance, lines, pay }
  return { ...helpers, clerk, second, today, shop, staffGet }
}

const fixture = await open()
const { post, must, deliver, correct, invoice, approve, balance, lines, pay, second, today, shop } = fixture
const { staffGet, get, request, pool, rows, tenant } = fixture
const trial = async (account: string) => {
  const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}&limit=100`)).body.data
  const found = accounts.find((each: { account: string }) => each.account === account)
  return found ? found.debit - found.credit : 0
}
const accountLines = async () =>
  (await get(`/account?from=2020-01-01&to=${today}&limit=100`)).body.data.lines.map(
    ({ kind, amount }: { kind: string; amount: number }) => `${kind} ${amount}`,
  )

t.afterEach(async () => {
  deepStrictEqual(listFindings(await checkLedger(pool, tenant)), [])
  deepStrictEqual(await findContradictions(fixture, '2020-01-01', today), [])
})

t.test('a correction takes effect once a second person approves it, and is never edited', async t => {
  const body = { kind: 'write_off', merchant_id: shop, amount: 12.5, reason: 'Goodwill' }
  const made = await must('/ledger/correction', body)
  t.match(made, { ...body, state: 'waiting', made_by: 'Chamari', decided_by: null, booked_on: null })
  t.equal((await balance()).balance, 0)
  const path = `/ledger/correction/${made.correction_id}`
  t.match((await post(`${path}/approve`, {})).body.errors, {
    correction_id: ['Chamari made it: a second person must approve it.'],
  })
  const approved = await must(`${path}/approve`, {}, second)
  t.match(approved, { state: 'approved', decided_by: 'Ruwan', booked_on: today, merchant_name: 'Lanka Shoes' })
  t.strictSame(await must(`${path}/approve`, {}, second), approved, 'a repetition changes nothing')
  t.match((await post(`${path}/reject`, {})).body.errors, { correction_id: [/^The correction is approved/] })
  t.match(await balance(), { balance: 12.5, payable_now: 12.5 })

  const rejected = await must('/ledger/correction', body)
  await must(`/ledger/correction/${rejected.correction_id}/reject`, {})
  t.equal((await balance()).balance, 12.5)
  const states = async (query: string) =>
    (await staffGet(`/ledger/correction${query}`)).body.data.map(({ state }: { state: string }) => state)
  t.strictSame(await states(''), ['rejected', 'approved'])
  t.strictSame(await states('?state=waiting'), [])
  t.equal((await post('/ledger/correction/999/approve', {})).status, 404)
  await t.rejects(
    inTenant(pool, tenant, (tx: Tx) => tx.client.query('update corrections set amount = 1')),
    /permission denied/,
  )
  await correct({ ...body, amount: -12.5 })
  t.equal((await balance()).balance, 0, 'another one corrects it')
})

t.test('a repeated request with its key makes one correction', async t => {
  const body = { kind: 'write_off', merchant_id: shop, amount: 1, reason: 'x' }
  const options = { token: fixture.clerk, headers: { 'idempotency-key': 'correct-1' } }
  const send = () => request('POST', '/api/staff/ledger/correction', body, options)
  const [first, again] = [await send(), await send()]
  t.strictSame(again.body.data, first.body.data)
  await must(`/ledger/correction/${first.body.data.correction_id}/reject`, {})
})

t.test('a correction names what it corrects, as its kind says', async t => {
  const refused = async (body: object) =>
    Object.entries((await post('/ledger/correction', { reason: 'x', ...body })).body.errors ?? {}).flat(2)
  t.strictSame(await refused({ kind: 'write_off', amount: 1 }), [
    ...['merchant_id', 'Give the merchant_id or the waybill_number to correct.'],
  ])
  t.strictSame(await refused({ kind: 'collection', merchant_id: shop, amount: 1 }), [
    ...['merchant_id', 'Leave this out: collection is corrected by its waybill_number.'],
  ])
  t.strictSame(await refused({ kind: 'write_off', merchant_id: shop, amount: 0 }), [
    ...['amount', 'Give an amount above or below zero.'],
  ])
  t.strictSame(await refused({ kind: 'opening_balance', merchant_id: shop, amount: 1.005 }), [
    ...['amount', 'The amount 1.005 has too many decimals: LKR has 2.'],
  ])
  t.strictSame(await refused({ kind: 'payment_received', merchant_id: shop, amount: 1 }), [
    ...['bank_reference', 'Give the reference that the bank has of the payment.'],
  ])
  t.strictSame(await refused({ kind: 'returned_transfer', invoice_no: 'MI-0001', amount: 1 }), [
    ...['amount', 'Leave this out: the whole payment of the invoice came back.'],
  ])
  for (const unknown of [{ waybill_number: 'NONE' }, { merchant_id: 999_999 }])
    t.equal((await post('/ledger/correction', { kind: 'write_off', amount: 1, reason: 'x', ...unknown })).status, 404)
})

t.test(
  'a compensation is capped, needs a reason once delivered, and is taken back when the parcel is found',
  async t => {
    const lost = await deliver(0)
    const compensate = (body: object) => post('/compensation', { reason: 'Lost', ...body })
    t.match((await compensate({ waybill_number: lost, amount: 2000.01 })).body.errors, {
      amount: ['A parcel is compensated with at most 2000 in all (compensation_max of the company).'],
    })
    t.equal((await compensate({ waybill_number: lost, amount: 1500 })).status, 200)
    t.match((await compensate({ waybill_number: lost, amount: 1 })).body.errors, {
      waybill_number: [/was compensated with 1500 on .*: correct that\.$/],
    })
    const taken = (amount: number) => ({ kind: 'compensation', waybill_number: lost, amount, reason: 'Found in Galle' })
    t.match((await post('/ledger/correction', taken(-1500.01))).body.errors, { amount: [/at most the 1500 with/] })
    t.match((await post('/ledger/correction', taken(500.01))).body.errors, { amount: [/at most 2000 in all/] })
    const two = [await must('/ledger/correction', taken(-1500)), await must('/ledger/correction', taken(-1500))]
    await must(`/ledger/correction/${two[0].correction_id}/approve`, {}, second)
    t.match((await post(`/ledger/correction/${two[1].correction_id}/approve`, {}, second)).body.errors, {
      amount: [/at most the 0 with/],
    })
    await must(`/ledger/correction/${two[1].correction_id}/reject`, {}, second)
    t.equal((await balance()).balance, 0)
    t.equal(await trial('compensation'), 0)

    const delivered = await deliver()
    t.match((await compensate({ waybill_number: delivered, amount: 100 })).body.errors, {
      delivered_reason: [/was delivered on .*: say why it is compensated\.$/],
    })
    const broken = { waybill_number: delivered, amount: 100, delivered_reason: 'It was broken' }
    t.equal((await compensate(broken)).status, 200)
    const { lines: booked } = (await staffGet(`/order/${delivered}/money`)).body.data
    t.equal(booked.at(-1).reason, 'Lost; delivered: It was broken')
    await correct({ kind: 'compensation', waybill_number: delivered, amount: -100 })
    const found = await invoice()
    t.equal(found.total, 1889.5)
    t.match(await lines(found.invoice_no), [
      { waybill_number: lost, kind: 'compensated', compensation: 1500, reason: null },
      { waybill_number: lost, kind: 'compensation', compensation: -1500, reason: 'Found in Galle' },
      { waybill_number: delivered, kind: 'delivered', reason: null },
      { waybill_number: delivered, kind: 'compensated' },
      { waybill_number: delivered, kind: 'compensation', net: -100 },
      { waybill_number: null, kind: 'write_off', adjustment: 12.5, reason: 'Goodwill' },
      { waybill_number: null, kind: 'write_off', adjustment: -12.5 },
    ])
    t.equal((await get(`/invoice/${found.invoice_no}`)).body.data.parcels, 2)
    await approve(found.invoice_no)
    t.equal((await pay([found.invoice_no], 'P1', today)).status, 200)
  },
)

t.test('correction and invoice: the next invoice shows a wrong collection, with its fee and taxes', async t => {
  const wrong = await deliver()
  const first = await invoice()
  t.equal(first.total, 1889.5)
  const done = await correct({ kind: 'collection', waybill_number: wrong, amount: -500, reason: 'It was 2,000' })
  t.equal(done.amount, -500)
  t.equal((await get(`/invoice/${first.invoice_no}`)).body.data.total, 1889.5, 'the document stays')
  const right = await deliver()
  const next = await invoice()
  // 500 less was collected: the COD fee is 5 less, the tax on it 0.90, the withholding 10.
  t.equal(next.total, 1889.5 - 484.1)
  t.match(await lines(next.invoice_no), [
    {
      waybill_number: wrong,
      kind: 'collection',
      collected: -500,
      cod_fee: -5,
      tax: -0.9,
      withholding: -10,
      net: -484.1,
      reason: 'It was 2,000',
    },
    { waybill_number: right, kind: 'delivered' },
  ])
  const finance = (await get(`/order/finance?waybill_numbers=${wrong}`)).body.data[0]
  t.match(finance, { collected: 2000, withholding: 40, owed: 1405.4, state: 'invoiced' })
  t.match(
    (await post('/ledger/correction', { kind: 'collection', waybill_number: wrong, amount: -2001, reason: 'x' })).body,
    {
      errors: { amount: [`Take at most the 2000 collected for ${wrong}.`] },
    },
  )
  const pdf = await fixture.app.inject({
    url: `/api/staff/invoice/${next.invoice_no}?format=pdf`,
    headers: { authorization: `Bearer ${fixture.clerk}`, 'x-tenant': tenant },
  })
  t.equal(pdf.statusCode, 200)
  for (const { invoice_no } of [first, next]) await approve(invoice_no)
  t.equal((await pay([first.invoice_no, next.invoice_no], 'P2', today)).status, 200)
  t.equal((await balance()).balance, 0)
  t.equal(await trial('differences'), -500, 'the handover that is 500 short goes to the same account')
})

t.test('correction and dispute: a disputed parcel is corrected beside its dispute', async t => {
  const waybill = await deliver()
  const { invoice_no: no } = await invoice()
  const dispute = { waybill_numbers: [waybill], reason: 'I was paid 3,000' }
  t.equal((await request('POST', `/api/public/merchant/invoice/${no}/dispute`, dispute)).status, 200)
  await correct({ kind: 'collection', waybill_number: waybill, amount: 500 })
  t.match(await balance(), { held: 1889.5, payable_now: 484.1, balance: 2373.6 })
  const next = await invoice()
  t.equal(next.total, 484.1)
  t.equal((await request('POST', `/api/public/merchant/invoice/${next.invoice_no}/dispute`, dispute)).status, 422)
  await must(`/invoice/${no}/dispute/settle`, { waybill_numbers: [waybill], reason: 'Right' })
  t.match((await get(`/invoice/${no}`)).body.data, { total: 1889.5, state: 'submitted' })
  // Both parts of the parcel may be disputed once more, on the invoice that has the correction.
  t.equal((await request('POST', `/api/public/merchant/invoice/${next.invoice_no}/dispute`, dispute)).status, 200)
  await must(`/invoice/${next.invoice_no}/dispute/settle`, { waybill_numbers: [waybill], reason: 'Right' })
  for (const number of [no, next.invoice_no]) await approve(number)
  t.equal((await pay([no, next.invoice_no], 'P3', today)).status, 200)
  t.equal((await balance()).balance, 0)
})

t.test('correction and pay run: a transfer that came back is due again, and is paid once', async t => {
  await deliver()
  const { invoice_no: no } = await invoice()
  const back = { kind: 'returned_transfer', invoice_no: no, reason: 'The account is closed', bank_reference: 'R1' }
  t.match((await post('/ledger/correction', back)).body.errors, { invoice_no: [/^The invoice is submitted: only/] })
  await approve(no)
  const { data: settled } = (await pay([no], 'P4', today)).body
  const bank = await trial('bank')
  const [first, stale] = [await must('/ledger/correction', back), await must('/ledger/correction', back)]
  t.match(first, { invoice_no: no, amount: 1889.5 })
  t.match((await get(`/invoice/${no}`)).body.data, { state: 'deposited' }, 'nobody approved it yet')
  await must(`/ledger/correction/${first.correction_id}/approve`, {}, second)
  t.match((await get(`/invoice/${no}`)).body.data, { state: 'approved', bank_reference: null, paid_on: null })
  t.equal(await trial('bank'), bank + 1889.5)
  t.match(await balance(), { waiting: 1889.5, balance: 1889.5 })
  t.match((await staffGet(`/payout/${settled.batch_no}`)).body.data, {
    ...{ state: 'settled', total: 1889.5, returned: 1889.5, bank_reference: 'P4' },
    items: [{ state: 'failed', reason: 'The account is closed' }],
  })
  const isStale = { correction_id: [/no longer paid by that transfer/] }
  t.match((await post(`/ledger/correction/${stale.correction_id}/approve`, {}, second)).body.errors, isStale)
  t.strictSame(
    (await staffGet('/payout')).body.data.due.map(({ invoice_no, amount }: Record<string, unknown>) => [
      invoice_no,
      amount,
    ]),
    [[no, 1889.5]],
  )
  t.equal((await pay([no], 'P5', today)).status, 200)
  t.match((await post(`/ledger/correction/${stale.correction_id}/approve`, {}, second)).body.errors, isStale)
  await must(`/ledger/correction/${stale.correction_id}/reject`, {})
  t.match((await get(`/invoice/${no}`)).body.data, { state: 'deposited', bank_reference: 'P5' })
  t.equal(await trial('bank'), bank)
  t.strictSame((await accountLines()).slice(-4), [
    ...['delivered 1889.5', 'paid -1889.5', 'returned_transfer 1889.5', 'paid -1889.5'],
  ])
  const journal = (await staffGet(`/ledger/journal?from=${today}&to=${today}&account=bank&limit=100`)).body.data
  t.match(journal.slice(-3), [
    { kind: 'payment', document: no, credit: 'bank' },
    { kind: 'returned_transfer', document: String(first.correction_id), debit: 'bank' },
    { kind: 'payment', document: no, credit: 'bank' },
  ])
})

t.test('correction and pay run: what a merchant owes is paid in, written off or carried over', async t => {
  const waybill = await deliver(0)
  t.equal((await fixture.move([waybill], 'key_21')).status, 200)
  t.equal((await balance()).balance, -177)
  await correct({ kind: 'payment_received', merchant_id: shop, amount: 100, bank_reference: 'IN 1' })
  await correct({ kind: 'write_off', waybill_number: waybill, amount: 77 })
  t.equal((await invoice()).kind, 'nothing_payable')
  await correct({ kind: 'opening_balance', merchant_id: shop, amount: 250, reason: 'From the former books' })
  t.strictSame((await accountLines()).slice(-4), [
    ...['returned -177', 'payment_received 100', 'write_off 77', 'opening_balance 250'],
  ])
  t.equal(await trial('opening_balances'), 250)
  const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}&limit=100`)).body.data
  t.match(accounts.find(({ account }: { account: string }) => account === 'opening_balances').type, 'equity')
  const month = (await staffGet(`/ledger/month?month=${today.slice(0, 7)}`)).body.data.totals
  t.match(month, { other: 250 })
  const { invoice_no, total } = await invoice()
  t.equal(total, 250)
  await approve(invoice_no)
  t.equal((await pay([invoice_no], 'P6', today)).status, 200)
})

t.test('correction and take-back: a move is taken back once the collection is corrected back', async t => {
  const waybill = await deliver()
  const correction = { kind: 'collection', waybill_number: waybill }
  await correct({ ...correction, amount: -500 })
  const takeBack = () => post(`/order/${waybill}/take-back`, { reason: 'Wrong parcel' })
  t.match((await takeBack()).body.errors, {
    waybill_number: [`The money of ${waybill} has a correction of what was collected: correct that back first.`],
  })
  await correct({ ...correction, amount: 500 })
  const late = await must('/ledger/correction', { ...correction, amount: -1, reason: 'x' })
  t.equal((await takeBack()).status, 200)
  t.match((await post(`/ledger/correction/${late.correction_id}/approve`, {}, second)).body.errors, {
    waybill_number: [`${waybill} is not booked as delivered.`],
  })
  await must(`/ledger/correction/${late.correction_id}/reject`, {})
  t.equal((await balance()).balance, 0)
  t.equal((await fixture.move([waybill], 'key_13', { collected_by: 'Nimal' })).status, 200)
  t.equal((await staffGet(`/order/${waybill}/money`)).body.data.collected, 2500)
})

t.test('compensation is at most the COD, unless a value_reason says why the goods are worth more', async t => {
  const parcels = ['DM97900001', 'DM97900002', 'DM97900003', 'DM97900004']
  const owed = (await balance()).balance
  const [one, two, three, without] = parcels as [string, string, string, string]
  await fixture.make([one, two, three], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  await fixture.make([without], { initial_status_key: 'key_2', cod: 0, weight: 1 })
  const compensate = (waybill_number: string, amount: number, more = {}) =>
    post('/compensation', { waybill_number, amount, reason: 'Lost', ...more })
  const correction = (waybill_number: string, amount: number, more = {}) =>
    post('/ledger/correction', { kind: 'compensation', waybill_number, amount, reason: 'More', ...more })
  const aboveCod = (waybill: string) => ({
    value_reason: [`The COD of ${waybill} is 1000: say why the goods are worth more.`],
  })
  const value_reason = 'Half was paid in advance'
  t.match((await compensate(one, 1000.01)).body.errors, aboveCod(one))
  t.match((await compensate(one, 2000.01, { value_reason })).body.errors, { amount: [/at most 2000 in all/] })
  t.equal((await compensate(two, 1000)).status, 200)
  t.match((await correction(two, 1)).body.errors, aboveCod(two))
  const { data: more } = (await correction(two, 200, { value_reason })).body
  t.equal(more.reason, 'More; worth more than the COD: Half was paid in advance')
  t.equal((await post(`/ledger/correction/${more.correction_id}/approve`, {}, second)).status, 200)
  t.equal((await compensate(three, 600)).status, 200)
  const racing = [(await correction(three, 400)).body.data, (await correction(three, 400)).body.data]
  const approve400 = ({ correction_id }: { correction_id: number }) =>
    post(`/ledger/correction/${correction_id}/approve`, {}, second)
  t.equal((await approve400(racing[0])).status, 200)
  t.match((await approve400(racing[1])).body.errors, aboveCod(three))
  await must(`/ledger/correction/${racing[1].correction_id}/reject`, {})
  t.match(
    (await post('/ledger/correction', { kind: 'write_off', waybill_number: two, amount: 1, reason: 'x', value_reason }))
      .body,
    {
      errors: { value_reason: ['Leave this out: only compensation is limited by the COD.'] },
    },
  )

  await rows('update tenants set compensation_max = null')
  t.match((await compensate(one, 100_000)).body.errors, aboveCod(one))
  t.match((await compensate(without, 1)).body.errors, {
    value_reason: [`${without} has no COD: set the company's compensation_max, or say what the goods are worth.`],
  })
  t.equal((await compensate(one, 1500, { value_reason })).status, 200)
  t.equal((await compensate(without, 300, { value_reason })).status, 200)
  const { lines: booked } = (await staffGet(`/order/${one}/money`)).body.data
  t.equal(booked.at(-1).reason, 'Lost; worth more than the COD: Half was paid in advance')
  await rows('update tenants set compensation_max = 2000')
  for (const [parcel, amount] of [
    [one, -1500],
    [two, -1200],
    [three, -1000],
    [without, -300],
  ] as const)
    await correct({ kind: 'compensation', waybill_number: parcel, amount })
  t.equal((await balance()).balance, owed)
})

t.test('a compensated parcel that is delivered after all asks for its compensation back', async t => {
  const [found, wrong] = ['DM97900011', 'DM97900012']
  const owed = (await balance()).balance
  await fixture.make([found, wrong], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  for (const waybill_number of [found, wrong])
    await must('/compensation', { waybill_number, amount: 600, reason: 'Lost' })
  await correct({ kind: 'compensation', waybill_number: found, amount: -100 })
  const waiting = async () => (await staffGet('/ledger/correction?state=waiting')).body.data
  t.strictSame(await waiting(), [])
  t.equal((await fixture.move([found, wrong], 'key_13', { collected_by: 'Nimal' })).status, 200)
  const asked = { kind: 'compensation', reason: 'Delivered after it was compensated', made_by: 'Kamal Perera' }
  t.match(await waiting(), [
    { ...asked, waybill_number: wrong, amount: -600, merchant_name: 'Lanka Shoes' },
    { ...asked, waybill_number: found, amount: -500 },
  ])
  const [{ correction_id: id }] = await waiting()
  t.match((await staffGet(`/order/${found}/money`)).body.data, { collected: 1000 }, 'nothing changes until then')
  const again = { waybill_number: wrong, kind: 'compensation', amount: -1, reason: 'My own' }
  const { correction_id: own } = await must('/ledger/correction', again)
  t.equal((await post(`/order/${wrong}/take-back`, { reason: 'Not this one' })).status, 200)
  t.match(await waiting(), [{ correction_id: own }, { waybill_number: found }], 'a move taken back no longer asks')
  t.match((await staffGet('/ledger/correction?state=rejected')).body.data[0], {
    correction_id: id,
    decided_by: 'Chamari',
  })
  await must(`/ledger/correction/${own}/reject`, {})
  t.equal((await fixture.move([wrong], 'key_13', { collected_by: 'Nimal' })).status, 200)
  for (const { correction_id } of await waiting()) await must(`/ledger/correction/${correction_id}/approve`, {}, second)
  const { invoice_no } = await invoice()
  t.equal((await balance()).balance, owed + 2 * (1000 - 450 - 20 - 84.6 - 20))
  await approve(invoice_no)
  t.equal((await pay([invoice_no], 'P10', today)).status, 200)
})

t.test('correction and chargeback: the merchant bears it, and the acquirer’s next deposit shows it', async t => {
  const card = async (waybill: string) => {
    await fixture.make([waybill], { initial_status_key: 'key_2', cod: 1000, weight: 1 })
    const collected = { [waybill]: { method: 'card' } }
    t.equal((await fixture.move([waybill], 'key_13', { collected_by: 'Nimal', collected })).status, 200)
  }
  const deposit = (waybill: string, amount: number, bank_reference: string, more = {}) =>
    must('/cash/deposit', { waybill_numbers: [waybill], amount, bank_reference, ...more })
  const before = { bank: await trial('bank'), differences: await trial('differences') }
  await card('DM97900021')
  await deposit('DM97900021', 1000, 'Cards 1')
  const reason = 'The acquirer took the card payment back'
  await correct({ kind: 'collection', waybill_number: 'DM97900021', amount: -1000, reason })
  t.match((await get('/order/finance?waybill_numbers=DM97900021')).body.data, [
    { collected: 0, cod_fee: 0, owed: -531 },
  ])
  await card('DM97900022')
  await deposit('DM97900022', 0, 'Cards 2', { difference: { account: 'differences', amount: 1000 } })
  t.match(
    { bank: await trial('bank'), differences: await trial('differences') },
    { ...before, bank: before.bank + 1000 },
  )
  t.equal((await balance()).balance, -105.6, 'of which 531 are the charges of the first')
  await correct({ kind: 'payment_received', merchant_id: shop, amount: 105.6, bank_reference: 'IN 2' })
})

t.test('correction and closed month: it is booked today, and sealed days stay as they are', async t => {
  const waybill = await deliver()
  const dated = ['money_lines', 'ledger_transfers', 'invoices', 'corrections', 'cash_deposits']
  for (const table of dated) await rows(`update ${table} set booked_on = $1::date - 40 where booked_on = $1`, [today])
  await rows('update corrections set payment_booked_on = booked_on where payment_booked_on is not null')
  await rows('update invoice_versions set issued_on = $1::date - 40 where issued_on = $1', [today])
  t.equal(await inTenant(pool, tenant, (tx: Tx) => foldDay(tx, tenant)), 1)
  const seals = () => rows('select booked_on::text, seal from ledger_seals')
  const before = await seals()
  const booked = await correct({ kind: 'collection', waybill_number: waybill, amount: -500 })
  t.equal(booked.booked_on, today)
  const { invoice_no } = await invoice()
  await approve(invoice_no)
  await pay([invoice_no], 'P7', today)
  await correct({ kind: 'returned_transfer', invoice_no })
  t.strictSame(await seals(), before)
  await rows(`update corrections set reason = reason || '.' where booked_on < $1`, [today])
  t.strictSame((await checkLedger(pool, tenant)).broken_seals.length, 1, 'the seal covers corrections')
  await rows(`update corrections set reason = rtrim(reason, '.') where booked_on < $1`, [today])
})

t.test('docs/money.md names every kind, and its example adds up', async t => {
  const page = readFileSync(new URL('../../../../../docs/money.md', import.meta.url), 'utf8')
  const section = page.split('\n### Corrections\n')[1]?.split('\n## ')[0] ?? ''
  const kinds = ['compensation', 'collection', 'write_off', 'payment_received', 'opening_balance', 'returned_transfer']
  for (const kind of kinds) t.ok(section.includes(`| \`${kind}\` |`), kind)
  const before = (await balance()).waiting
  const waybill = await deliver()
  await correct({ kind: 'collection', waybill_number: waybill, amount: -450 })
  const { invoice_no } = await invoice()
  await approve(invoice_no)
  await pay([invoice_no], 'P8', today)
  await correct({ kind: 'returned_transfer', invoice_no })
  await pay([invoice_no], 'P9', today)
  t.equal((await balance()).waiting, before)
  const example = [...section.matchAll(/\| ([-\d.,]+) \| ([-\d.,]+) \|$/gm)].map(([, amount, left]) => [amount, left])
  const shown = (amount: number) => amount.toLocaleString('en', { minimumFractionDigits: 2 })
  const booked = (await get(`/account?from=${today}&to=${today}&limit=100`)).body.data.lines.slice(-5)
  const first = booked[0].balance - booked[0].amount
  t.strictSame(
    booked.map((line: { amount: number; balance: number }) => [shown(line.amount), shown(line.balance - first)]),
    example,
  )
})
