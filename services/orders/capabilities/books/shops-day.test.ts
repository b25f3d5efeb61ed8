import { readFileSync } from 'node:fs'
import t from 'tap'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { preparePayer } from '../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'
import { checkLedger, listFindings } from '../money/ledger/check-ledger.ts'

// Follows docs/money.md, "A shop's day". Every amount was worked out by hand.

t.test("a shop's day, from 50 parcels to the last cent", async t => {
  const file = { ...tenantFile({ tax_percent: 18, withholding_percent: 2 }), statuses: shortStatuses }
  Object.assign(file.rate_cards[0] ?? {}, { cod_fee_percent: 1, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 })
  const fixture = await tenantFixture(t, { file })
  const { make, move, get, request, staffOf, staffGet, pool, rows, tenant } = fixture
  const pay = await preparePayer(fixture)
  const cashier = await staffOf('Chamari')
  const manager = await staffOf('Ruwan')
  const staff = async (path: string, body: object, token = cashier) => {
    const response = await request('POST', `/api/staff${path}`, body, { token })
    t.equal(response.status, 200, `${path} ${JSON.stringify(response.body)}`)
    return response.body.data
  }
  const balance = async (wanted: object) => t.match((await get('/balance')).body.data, wanted)
  const finance = async (wanted: object) => {
    const { waybill_number, ...rest } = { waybill_number: waybills[0], ...wanted }
    t.match((await get(`/order/finance?waybill_numbers=${waybill_number}`)).body.data[0], rest)
    const { state, ...status } = rest as Record<string, unknown>
    t.match((await get(`/order/waybill-finance-status?waybill_number=${waybill_number}`)).body.data, status)
  }
  const account = async (name: string, closing: number) => {
    const today = (await rows(`select (now() at time zone time_zone)::date::text as day from tenants`))[0].day
    const query = new URLSearchParams({ account: name, from: today, to: today })
    t.match((await staffGet(`/ledger?${query}`)).body.data, { closing }, name)
  }
  const today = (await rows(`select (now() at time zone time_zone)::date::text as day from tenants`))[0].day

  const waybills = Array.from({ length: 50 }, (_, n) => `DM${String(90000001 + n)}`)
  await make(waybills, { initial_status_key: 'key_2', cod: 1000, weight: 1 })
  const delivered = waybills.slice(0, 40)
  const partly = waybills.slice(40, 43)
  const collected = Object.fromEntries(partly.map(waybill => [waybill, { amount: 600, reason: 'One pair went back' }]))
  t.equal((await move(delivered, 'key_13', { collected_by: 'Nimal' })).status, 200)
  t.equal((await move(partly, 'key_14', { collected_by: 'Nimal', collected })).status, 200)
  t.equal((await move(waybills.slice(43), 'key_21')).status, 200)
  await balance({ with_riders: 41_800, at_office: 0, payable_now: -1239, balance: 15_877.2 })

  // 500 is missing; a second person decides that Nimal owes it.
  const short = await staff('/cash/handover', { collected_by: 'Nimal', declared: 41_800, counted: 41_300 })
  t.match(short, { state: 'open', expected: 41_800 })
  await balance({ with_riders: 41_800, at_office: 0 })
  const settled = { settle_as: 'owed', reason: 'He pays on Friday' }
  t.match(await staff(`/cash/handover/${short.handover_id}/settle`, settled, manager), { state: 'owed' })
  await balance({ with_riders: 0, at_office: 41_800, payable_now: 15_877.2 })
  await finance({ state: 'at_office', finance_status: 'Pending', invoice_ref_no: null })
  await staff('/cash/deposit', { amount: 41_300, bank_reference: 'BOC 1' })
  await finance({ state: 'banked', finance_status: 'Pending' })
  await balance({ at_office: 0, banked: 41_800 })

  const [made] = await staff('/invoice', { all: true, until: today })
  t.match(made, { kind: 'made', total: 15_877.2 })
  const submitted = await staff(`/invoice/${made.id}/submit`, {})
  t.match(submitted, { invoice_ref_no: 'MI-0001' })
  await finance({ state: 'invoiced', finance_status: 'Pending', invoice_ref_no: 'MI-0001' })
  const dispute = { waybill_numbers: [delivered[0]], reason: 'The parcel came open' }
  const disputed = await request('POST', `/api/public/merchant/invoice/${made.id}/dispute`, dispute)
  t.equal(disputed.status, 200, JSON.stringify(disputed.body))
  await balance({ held: 425.4, payable_now: 0, balance: 15_877.2 })
  t.equal((await request('POST', `/api/public/merchant/invoice/${made.id}/approve`, {})).status, 200)
  const { body: paid } = await pay([made.id], 'BOC 2', today)
  t.match(paid.data, { state: 'settled', total: 15_451.8 })
  await balance({ held: 425.4, balance: 425.4 })
  await finance({ state: 'held', finance_status: 'Pending', invoice_ref_no: 'MI-0001' })
  const lookUp = await request('POST', '/api/public/merchant/order/lookup', { waybill_numbers: waybills.slice(0, 2) })
  const expectedMoney = [
    { finance_state: 'held', finance_status: 'Pending', invoice_ref_no: 'MI-0001' },
    { finance_state: 'paid', finance_status: 'Deposited', invoice_ref_no: 'MI-0001', invoice_no: submitted.invoice_no },
  ]
  t.match(lookUp.body.data, expectedMoney)
  for (const [n, waybill_number] of waybills.slice(0, 2).entries()) {
    const seen = { waybill_number, ...expectedMoney[n] }
    for (const from of [get, staffGet]) {
      t.match((await from(`/order/${waybill_number}`)).body.data, seen)
      for (const query of ['', '&noPagination'])
        t.match((await from(`/order?waybill_number=${waybill_number}${query}`)).body.data, [seen], query)
    }
  }
  const paidChanges = (await get('/order/changes?limit=500')).body.data.filter(
    ({ type }: { type: string }) => type === 'money.paid',
  )
  t.equal(paidChanges.length, 42, 'neither the disputed parcel nor the returned parcels are paid')
  await finance({ waybill_number: waybills[1], state: 'paid', finance_status: 'Deposited', invoice_ref_no: 'MI-0001' })

  const decision = { waybill_numbers: [delivered[0]], adjustment: 100, reason: 'We pay for the box' }
  await staff(`/invoice/${made.id}/dispute/settle`, decision)
  await balance({ held: 0, payable_now: 525.4, balance: 525.4 })
  await finance({ state: 'paid', finance_status: 'Deposited', invoice_ref_no: 'MI-0001' })
  const [second] = await staff('/invoice', { all: true, until: today })
  t.match(second, { kind: 'made', total: 525.4 })
  t.match(await staff(`/invoice/${second.id}/submit`, {}), { invoice_ref_no: 'MI-0002' })
  t.equal((await request('POST', `/api/public/merchant/invoice/${second.id}/approve`, {})).status, 200)
  t.equal((await pay([second.id], 'BOC 3', today)).status, 200)
  await balance({ with_riders: 0, at_office: 0, held: 0, payable_now: 0, balance: 0 })

  const debt = await staff('/cash/handover', { collected_by: 'Nimal', declared: 500, counted: 500 })
  t.match(debt, { state: 'cleared', debt: 500 })
  await staff('/cash/deposit', { amount: 500, bank_reference: 'BOC 4' })

  const closings = {
    'rider:Nimal': 0,
    office: 0,
    bank: 25_822.8,
    delivery_revenue: -20_210,
    returns_revenue: -1_050,
    tax: -3_826.8,
    withholding: -836,
    differences: 100,
  }
  for (const [name, closing] of Object.entries(closings)) await account(name, closing)
  const trial = (await staffGet(`/ledger/trial-balance?day=${today}`)).body.data
  const word = (amount: number) => (amount === 0 ? '' : amount.toLocaleString('en', { minimumFractionDigits: 2 }))
  const printed = trial.accounts.map(
    ({ account, debit, credit }: { account: string; debit: number; credit: number }) => [
      ...[`\`${account}\``, word(debit), word(credit)],
    ],
  )
  printed.push(['', `**${word(trial.debit)}**`, `**${word(trial.credit)}**`])
  const { opening, lines, closing } = (await get(`/account?from=${today}&to=${today}&limit=200`)).body.data
  t.strictSame([opening, closing, lines.length], [0, 0, 54])
  const page = readFileSync(new URL('../../../../docs/money.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf("## A shop's day"))
  for (const amount of [
    '41,800',
    '41,300',
    '15,877.20',
    '15,451.80',
    '425.40',
    '525.40',
    '25,822.80',
    '3,826.80',
    '836.00',
  ])
    t.match(section, amount, `docs/money.md has ${amount}`)
  const cells = section.split('\n').map(row => row.split('|').map(cell => cell.trim().replace(/:.*/, '')))
  for (const row of printed)
    t.ok(
      cells.some(([, ...found]) => row.every((cell: string, index: number) => cell === found[index])),
      `docs/money.md has ${row.join(' | ')}`,
    )
  const balances = [49, 50, 51, 52, 53].map(index => lines[index].balance.toFixed(2))
  t.strictSame(balances, ['15877.20', '15451.80', '0.00', '525.40', '0.00'])
  t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
})
