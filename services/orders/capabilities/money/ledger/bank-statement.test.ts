import { deepStrictEqual } from 'node:assert'
import { addAmounts } from '@courier/shared/currency.ts'
import t, { type Test } from 'tap'
import { findContradictions, readPages } from '../../../test/expect-books.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { preparePayer } from '../../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'
import { Books } from '../test/model.ts'
import { checkLedger, listFindings } from './check-ledger.ts'

// Plays a month of a bank statement: each of its lines is an entry of the account `bank`, by its reference.

const percents = { tax_percent: 18, withholding_percent: 2 }

const start = async (t: Test, money = {}) => {
  const file = tenantFile({ ...percents, money: { objection_hours: 0, payable_when: 'delivered', ...money } })
  Object.assign(file.rate_cards[0] ?? {}, { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150 })
  const fixture = await tenantFixture(t, { file: { ...file, statuses: shortStatuses } })
  const { make, move, request, staffOf, pool } = fixture
  const [clerk, second] = [await staffOf('Chamari'), await staffOf('Ruwan')]
  const facts = await fixture.readFacts()
  const send = (path: string, body: object, token = clerk) => request('POST', `/api/staff${path}`, body, { token })
  const post = async (path: string, body: object = {}, token = clerk) => {
    const { status, body: found } = await send(path, body, token)
    if (status !== 200) throw new Error(`${path}: ${JSON.stringify(found)}`)
    return found.data
  }
  const refused = async (path: string, body: object, token = clerk) => (await send(path, body, token)).body.errors
  const deliver = async (waybill: string, cod: number, collected = {}) => {
    await make([waybill], { initial_status_key: 'key_2', cod, weight: 1 })
    const { status } = await move([waybill], 'key_13', { collected_by: 'Nimal', collected })
    if (status !== 200) throw new Error(`deliver: ${status}`)
    return waybill
  }
  const handOver = (sum: number) => post('/cash/handover', { collected_by: 'Nimal', declared: sum, counted: sum })
  const audit = () => fixture.rows(`select action, actor, object_id from audit where action like 'bank_entry.%'`)
  t.afterEach(async () => {
    deepStrictEqual(listFindings(await checkLedger(pool, fixture.tenant)), [])
    deepStrictEqual(await findContradictions(fixture, '2020-01-01', facts.today), [])
  })
  return { ...fixture, ...facts, second, post, refused, deliver, handOver, audit }
}

t.test('a month of a bank statement reconciles with the account of the bank', async t => {
  const fixture = await start(t)
  const { post, deliver, handOver, second, shop, today, staffGet, make, move } = fixture
  const pay = await preparePayer(fixture)
  const books = new Books({
    ...{ codFeePercent: 100, codFeeMin: 2000, returnFee: 15_000, eachReturnKg: 0 },
    ...{ taxPercent: 1800, withholdingPercent: 200 },
  })
  /** Holds the bank's own lines: reference and amount, in cents. */
  const statement: [reference: string, amount: number][] = []
  const bank = (account: string, reference: string, amount: number) => {
    statement.push([reference, amount])
    books.post('bank', account, amount)
  }
  const charge = 45_000
  for (const [n, cod] of [5000, 3000, 2000].entries()) {
    await deliver(`DM9800000${n}`, cod)
    books.deliver(shop, { delivery: charge, paid: cod * 100, holder: 'office' })
  }
  await handOver(10_000)

  const short = { account: 'cash_differences', amount: 100 }
  await post('/cash/deposit', { amount: 9900, bank_reference: 'D1', difference: short })
  books.post('cash_differences', 'office', 10_000)
  bank('office', 'D1', 990_000)
  const cards = [await deliver('DM98000004', 1000, { DM98000004: { method: 'card' } })]
  books.deliver(shop, { delivery: charge, paid: 100_000, holder: 'clearing' })
  const kept = { account: 'acquirer_fees', amount: 25 }
  await post('/cash/deposit', { amount: 975, bank_reference: 'C1', waybill_numbers: cards, difference: kept })
  books.post('acquirer_fees', 'clearing', 2500)
  bank('clearing', 'C1', 97_500)

  const [{ id }] = await post('/invoice', { merchant_id: shop, until: today })
  await post(`/invoice/${id}/submit`)
  const { total, invoice_no } = await post(`/invoice/${id}/approve`, {}, second)
  for (const reference of ['P1', 'P2']) {
    t.equal((await pay([invoice_no], reference, today)).status, 200)
    bank(`merchant:${shop}`, reference, -Math.round(total * 100))
    if (reference === 'P2') break
    const body = { kind: 'returned_transfer', invoice_no, bank_reference: 'R1', reason: 'Closed' }
    const { correction_id } = await post('/ledger/correction', body)
    await post(`/ledger/correction/${correction_id}/approve`, {}, second)
    bank(`merchant:${shop}`, 'R1', Math.round(total * 100))
  }
  await make(['DM98000005'], { initial_status_key: 'key_2', cod: 700, weight: 1 })
  await move(['DM98000005'], 'key_21')
  const { returnFee, tax } = books.return(shop, 1)
  const owes = (returnFee + tax) / 100
  const paysIn = { kind: 'payment_received', merchant_id: shop, amount: owes, bank_reference: 'I1', reason: 'Fees' }
  const { correction_id } = await post('/ledger/correction', paysIn)
  await post(`/ledger/correction/${correction_id}/approve`, {}, second)
  bank(`merchant:${shop}`, 'I1', owes * 100)

  for (const account of ['tax', 'withholding']) {
    const amount = -books.balance(account)
    const office = { amount: amount / 100, office_reference: `${account} 2026-02`, bank_reference: `T ${account}` }
    const done = await post('/ledger/remit', { account, ...office })
    t.match(done, { kind: `${account}_remitted`, debit: account, credit: 'bank', ...office, state: 'approved' })
    bank(account, `T ${account}`, -amount)
  }
  for (const [kind, amount, bank_reference] of [
    ['bank_fee', 250.5, 'F1'],
    ['bank_fee', -50, 'F2'],
    ['direct_debit', 1200, 'L1'],
    ['cash_found', 60, 'K1'],
  ] as const) {
    await post('/ledger/bank-entry', { kind, amount, bank_reference, reason: 'As on the statement' })
    const [account, sign] = kind === 'cash_found' ? ['cash_differences', 1] : [`${kind}s`, -1]
    bank(account, bank_reference, Math.round(sign * amount * 100))
  }
  const lost = await post('/ledger/bank-entry', { kind: 'cash_written_off', amount: 40, reason: 'Never found' })
  t.equal(lost.state, 'waiting')
  await post(`/ledger/bank-entry/${lost.entry_id}/approve`, {}, second)
  books.post('differences', 'cash_differences', 4000)

  const path = `/ledger?account=bank&from=${today}&to=${today}`
  const { closing } = (await staffGet(path)).body.data
  t.equal(addAmounts([closing, ...statement.map(([, amount]) => -amount / 100)]), 0, 'nothing differs')
  const entries = await readPages(fixture, `/ledger/journal?from=${today}&to=${today}&account=bank`)
  const byReference = new Map<string, number>()
  for (const { bank_reference, debit, amount } of entries) {
    const sum = (byReference.get(bank_reference) ?? 0) + Math.round((debit === 'bank' ? amount : -amount) * 100)
    byReference.set(bank_reference, sum)
  }
  t.strictSame(new Map(byReference), new Map(statement), 'each line of the statement has its entries')
  const { accounts } = (await staffGet(`/ledger/trial-balance?day=${today}&limit=100`)).body.data
  t.strictSame(
    accounts
      .map(({ account, debit, credit }: Record<string, number>) => [
        account,
        Math.round(((debit ?? 0) - (credit ?? 0)) * 100),
      ])
      .filter(([, sum]: number[]) => sum !== 0),
    books.balances(),
  )
  t.match(
    accounts.filter(({ account }: Record<string, string>) => ['bank_fees', 'direct_debits'].includes(account ?? '')),
    [{ type: 'expense' }, { type: 'expense' }],
  )
})

t.test('entries of the bank are refused that the books contradict', async t => {
  const { refused, deliver, handOver, post, second, staffGet } = await start(t)
  await deliver('DM98000011', 1000)
  await handOver(1000)
  const entry = (body: object) => refused('/ledger/bank-entry', { bank_reference: 'X', reason: 'x', ...body })
  t.match(await entry({ kind: 'bank_fee', amount: 0 }), { amount: ['Give an amount above or below zero.'] })
  t.match(await entry({ kind: 'bank_fee', amount: 1, bank_reference: undefined }), { bank_reference: [/^Give the/] })
  t.match(await entry({ kind: 'cash_written_off', amount: 1 }), { bank_reference: [/cash_written_off alone/] })
  t.match(await entry({ kind: 'cash_found', amount: 1 }), { amount: [/cash_differences holds 0/] })
  t.match(await entry({ kind: 'bank_fee', amount: 1.005 }), { amount: [/too many decimals/] })
  t.match(await entry({ kind: 'rent', amount: 1 }), { kind: [/must be bank_fee/] })
  const remit = (body: object) =>
    refused('/ledger/remit', { account: 'tax', office_reference: 'V', bank_reference: 'T', ...body })
  t.match(await remit({ amount: 84.61 }), { amount: ['The account tax holds 84.6: the amount is at most that.'] })
  t.match(await remit({ amount: 1, account: 'tax:VTA' }), {
    amount: ['The account tax:VTA holds 0: the amount is at most that.'],
  })
  t.match(await remit({ amount: -1, account: 'tax:VTA' }), {
    account: ['Nothing is booked in tax:VTA: give an account of the trial balance.'],
  })
  t.match(await remit({ amount: 1, account: 'bank' }), { account: [/must be an account of tax/] })
  const remitted = { account: 'tax', amount: 80, office_reference: 'V', bank_reference: 'T' }
  const { entry_id } = await post('/ledger/remit', remitted)
  t.match(await remit({ amount: 4 }), { bank_reference: [`The reference T has the entry ${entry_id} of this kind.`] })
  t.match(await remit({ amount: 5, bank_reference: 'T2' }), { amount: [/holds 4.6/] })
  await post('/ledger/remit', { account: 'tax', amount: -10, office_reference: 'V', bank_reference: 'T3' })
  t.match(await remit({ amount: 14.61, bank_reference: 'T4' }), { amount: [/holds 14.6/] })
  await post('/ledger/remit', { account: 'tax', amount: -90, office_reference: 'V', bank_reference: 'T5' })
  t.match(await remit({ amount: 5, account: 'tax:VTA', bank_reference: 'T6' }), { amount: [/tax:VTA holds 0/] })

  const over = { account: 'cash_differences', amount: -50 }
  t.match(await refused('/cash/deposit', { amount: 1050, bank_reference: 'D' }), {
    amount: [/If the bank counted 1050, send a difference of -50 with the account cash_differences\.$/],
  })
  await post('/cash/deposit', { amount: 1050, bank_reference: 'D', difference: over })
  t.match((await staffGet('/cash')).body.data.office, { parcels: 0, amount: 0 })
  t.match(await entry({ kind: 'cash_found', amount: 10 }), { amount: [/holds -50/] })
  await post('/ledger/bank-entry', {
    kind: 'cash_found',
    amount: -50,
    bank_reference: 'D back',
    reason: 'Counted anew',
  })
  t.match((await refused('/ledger/bank-entry/999/approve', {}, second)) ?? 'unknown', 'unknown')
})

t.test('the opposite of an entry corrects it, of cash too', async t => {
  const { refused, deliver, handOver, post, second, staffGet } = await start(t)
  await deliver('DM98000031', 1000)
  await handOver(1000)
  const short = { account: 'cash_differences', amount: 100 }
  await post('/cash/deposit', { amount: 900, bank_reference: 'D', difference: short })
  const enter = (kind: string, amount: number, bank_reference?: string) =>
    post('/ledger/bank-entry', { kind, amount, bank_reference, reason: 'As on the statement' })
  const readMissing = async () => {
    const { data } = (await staffGet('/ledger/accounts')).body
    return data.find(({ account }: { account: string }) => account === 'cash_differences').balance
  }
  await enter('cash_found', 60, 'K1')
  const more = { kind: 'cash_found', amount: -60.01, bank_reference: 'K2', reason: 'Wrong' }
  t.match(await refused('/ledger/bank-entry', more), { amount: [/cash_differences holds 40/] })
  await enter('cash_found', -60, 'K2')
  t.equal(await readMissing(), 100)
  for (const amount of [100, -100]) {
    const { entry_id } = await enter('cash_written_off', amount)
    await post(`/ledger/bank-entry/${entry_id}/approve`, {}, second)
  }
  t.equal(await readMissing(), 100)
})

t.test('under four_eyes each entry waits for a second person; what changed meanwhile is refused', async t => {
  const { refused, deliver, post, second, audit, staffGet } = await start(t, { four_eyes: true })
  await deliver('DM98000021', 1000)
  const taxPayment = { account: 'tax', amount: 80, office_reference: 'V' }
  const first = await post('/ledger/remit', { ...taxPayment, bank_reference: 'T1' })
  const other = await post('/ledger/remit', { ...taxPayment, bank_reference: 'T2' })
  const { bank = 0 } = (await staffGet('/ledger/accounts')).body.data
  t.match([first.state, first.booked_on, bank], ['waiting', null, 0])
  t.match(await refused(`/ledger/bank-entry/${first.entry_id}/approve`, {}), {
    entry_id: ['Chamari made it: a second person must approve it.'],
  })
  t.match(await post(`/ledger/bank-entry/${first.entry_id}/approve`, {}, second), { decided_by: 'Ruwan' })
  t.match(await post(`/ledger/bank-entry/${first.entry_id}/approve`, {}, second), { state: 'approved' }, 'a repetition')
  t.match(await refused(`/ledger/bank-entry/${other.entry_id}/approve`, {}, second), { entry_id: [/tax holds 4.6/] })
  t.match(await post(`/ledger/bank-entry/${other.entry_id}/reject`), { state: 'rejected', booked_on: null })
  t.match(await refused(`/ledger/bank-entry/${other.entry_id}/approve`, {}, second), { entry_id: [/is rejected/] })
  t.match((await staffGet('/ledger/bank-entry?state=approved&limit=1')).body, { data: [{ entry_id: first.entry_id }] })
  t.match(
    (await audit()).map(({ action, actor }) => [action, actor]),
    [
      ['bank_entry.made', 'Chamari'],
      ['bank_entry.made', 'Chamari'],
      ['bank_entry.approved', 'Ruwan'],
      ['bank_entry.rejected', 'Chamari'],
    ],
  )
})
