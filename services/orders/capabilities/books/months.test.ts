import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import type { Tx } from '../../core/database/tables.ts'
import { findContradictions, readCsv, readPages } from '../../test/expect-books.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { preparePayer } from '../../test/payer.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'
import { checkLedger, listFindings } from '../money/ledger/check-ledger.ts'
import { foldDay } from '../money/ledger/fold-and-seal.ts'

// Plays February in three currencies. Every amount was worked out by hand.

/** Gives each parcel what it collected, and its charges, tax, withholding and what is owed for it. */
interface Month {
  readonly terms: object
  readonly card: object
  readonly rate: object
  readonly cod: readonly [delivered: number, partly: number, card: number]
  readonly paidPartly: number
  readonly compensation: number
  /** delivered, partly, returned, paid by card, compensated */
  readonly lines: readonly (readonly number[])[]
  readonly cash: number
  readonly total: number
  readonly bank: number
  readonly revenue: number
  readonly returns: number
  readonly tax: number
  readonly withheld: number
  /** The acquirer keeps 2.5 % of the card payment. */
  readonly fee: number
  readonly printed: string
}

const months: Record<string, Month> = {
  // A fee of 1.25 % of 12,500 is 156.25, of 7,000 is 87.5; 10 % tax of 606 is 60.6; 0.5 % of 12,500 is 62.5.
  JPY: {
    terms: { tax_percent: 10, withholding_percent: 0.5 },
    card: { cod_fee_percent: 1.25, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 },
    rate: { first_kg: 450, each_extra_kg: 90 },
    cod: [12_500, 3000, 7000],
    paidPartly: 1030,
    compensation: 900,
    lines: [
      [12_500, 606, 61, 63, 11_770],
      [1030, 650, 65, 5, 310],
      [0, 200, 20, 0, -220],
      [7000, 538, 54, 35, 6373],
      [0, 0, 0, 0, 900],
    ],
    ...{ cash: 13_530, total: 19_133, bank: 1222, revenue: 1794, returns: 200 },
    ...{ tax: 200, withheld: 103, fee: 175, printed: '19133' },
  },
  // A fee of 1.25 % of 2,499 is 31.2375, of 7,001 is 87.5125; 18 % tax of 481.24 is 86.6232, of 537.51 is 96.7518.
  LKR: {
    terms: { tax_percent: 18, withholding_percent: 2 },
    card: { cod_fee_percent: 1.25, cod_fee_min: 20, return_fee: 150, each_return_kg: 25 },
    rate: { first_kg: 450, each_extra_kg: 90 },
    cod: [2499, 3000, 7001],
    paidPartly: 1030.5,
    compensation: 900,
    lines: [
      [2499, 481.24, 86.62, 49.98, 1881.16],
      [1030.5, 650, 117, 20.61, 242.89],
      [0, 200, 36, 0, -236],
      [7001, 537.51, 96.75, 140.02, 6226.72],
      [0, 0, 0, 0, 900],
    ],
    ...{ cash: 3529.5, total: 9014.77, bank: 1340.7, revenue: 1668.75, returns: 200 },
    ...{ tax: 336.37, withheld: 210.61, fee: 175.03, printed: '9014.77' },
  },
  // A fee of 1.25 % of 25 is 0.3125; 5 % tax of 1.563 is 0.07815, of 1.75 is 0.0875; 0.5 % of 12.345 is 0.061725.
  KWD: {
    terms: { tax_percent: 5, withholding_percent: 0.5 },
    card: { cod_fee_percent: 1.25, cod_fee_min: 0.25, return_fee: 0.5, each_return_kg: 0.075 },
    rate: { first_kg: 1.25, each_extra_kg: 0.125 },
    cod: [25, 30, 70],
    paidPartly: 12.345,
    compensation: 9.5,
    lines: [
      [25, 1.563, 0.078, 0.125, 23.234],
      [12.345, 1.75, 0.088, 0.062, 10.445],
      [0, 0.65, 0.033, 0, -0.683],
      [70, 2.125, 0.106, 0.35, 67.419],
      [0, 0, 0, 0, 9.5],
    ],
    ...{ cash: 37.345, total: 109.915, bank: -4.32, revenue: 5.438, returns: 0.65 },
    ...{ tax: 0.305, withheld: 0.537, fee: 1.75, printed: '109.915' },
  },
}

for (const [currency, month] of Object.entries(months))
  t.test(`a month in ${currency} adds up, from the parcels to the trial balance`, async t => {
    const file = { ...tenantFile({ currency, ...month.terms }), statuses: shortStatuses }
    const [card] = file.rate_cards
    Object.assign(card ?? {}, month.card, { rates: card?.rates.map(rate => ({ ...rate, ...month.rate })) })
    const fixture = await tenantFixture(t, { file })
    const { make, move, request, staffOf, staffGet, get, pool, rows, tenant } = fixture
    const { shop, today } = await fixture.readFacts()
    const token = await staffOf('Chamari')
    const pay = await preparePayer(fixture)
    const post = async (path: string, body: object) => {
      const response = await request('POST', `/api/staff${path}`, body, { token })
      t.equal(response.status, 200, `${path} ${JSON.stringify(response.body)}`)
      return response.body.data
    }
    /** Dates what was booked since the last call. */
    const date = async (day: string) => {
      const tables = 'money_lines ledger_transfers cash_handovers cash_transfers cash_deposits invoices'.split(' ')
      for (const table of [...tables, 'invoice_versions']) {
        const column = table === 'invoice_versions' ? 'issued_on' : 'booked_on'
        await rows(`update ${table} set ${column} = $1 where ${column} = $2`, [`2026-02-${day}`, today])
      }
    }

    const confirmed = { initial_status_key: 'key_2', weight: 1 }
    await make(['DM97000001'], { ...confirmed, cod: month.cod[0] })
    await make(['DM97000002'], { ...confirmed, cod: month.cod[1], weight: 2.2 })
    await make(['DM97000003'], { ...confirmed, cod: 500, weight: 2.5 })
    await make(['DM97000004'], { ...confirmed, cod: month.cod[2] })
    await make(['DM97000005'], { ...confirmed, cod: 500 })
    t.equal((await move(['DM97000001'], 'key_13', { collected_by: 'Nimal' })).status, 200)
    const partly = { DM97000002: { amount: month.paidPartly, reason: 'One of two' } }
    t.equal((await move(['DM97000002'], 'key_14', { collected_by: 'Nimal', collected: partly })).status, 200)
    await post('/cash/transfer', { from: 'Nimal', to: 'Sunil', waybill_numbers: ['DM97000001'] })
    await date('02')
    t.equal((await move(['DM97000003'], 'key_21')).status, 200)
    for (const [collected_by, sum] of [['Sunil', month.cod[0]] as const, ['Nimal', month.paidPartly] as const])
      await post('/cash/handover', { collected_by, declared: sum, counted: sum })
    await date('03')
    await post('/cash/deposit', { amount: month.cash, bank_reference: 'BOC 1' })
    await date('04')
    const byCard = { DM97000004: { amount: month.cod[2], method: 'card' } }
    t.equal((await move(['DM97000004'], 'key_13', { collected: byCard })).status, 200)
    await date('10')
    await post('/cash/deposit', {
      ...{ amount: Number((month.cod[2] - month.fee).toFixed(3)), bank_reference: 'BOC 2' },
      ...{ waybill_numbers: ['DM97000004'], difference: { account: 'acquirer_fees', amount: month.fee } },
    })
    await date('11')
    await post('/compensation', {
      ...{ waybill_number: 'DM97000005', amount: month.compensation, reason: 'Lost', value_reason: 'Half was paid' },
    })
    await date('12')
    const [made] = await post('/invoice', { all: true, until: '2026-02-15' })
    t.match(made, { kind: 'made', total: month.total })
    const { invoice_no } = await post(`/invoice/${made.id}/submit`, {})
    t.equal((await request('POST', `/api/public/merchant/invoice/${made.id}/approve`, {})).status, 200)
    t.equal((await pay([made.id], 'PAY 1', '2026-02-20')).status, 200)
    await date('20')

    const [days, document] = [['02', '02', '03', '10', '12', '20'], invoice_no]
    const kinds = ['delivered', 'delivered', 'returned', 'delivered', 'compensated', 'paid']
    const amounts = [...month.lines.map(line => line.at(-1) as number), -month.total]
    const lines = kinds.map((kind, index) => {
      const [collected = 0, charges = 0, tax = 0, withholding = 0] = month.lines[index] ?? []
      return {
        kind,
        booked_on: `2026-02-${days[index]}`,
        document,
        collected,
        charges,
        tax,
        withholding,
        amount: amounts[index],
      }
    })
    const statement = async (from: string, to: string) =>
      (await get(`/account?from=2026-02-${from}&to=2026-02-${to}`)).body.data
    const expectStatements = async () => {
      t.match(await statement('01', '28'), { currency, opening: 0, lines, closing: 0 })
      t.match(await statement('03', '12'), {
        opening: amounts.slice(0, 2).reduce((a, b) => a + b),
        closing: month.total,
      })
      t.strictSame(await statement('13', '19'), { currency, opening: month.total, lines: [], closing: month.total })
    }
    await expectStatements()
    t.strictSame(await findContradictions(fixture, '2026-02-01', '2026-02-28'), [])

    while ((await inTenant(pool, tenant, (tx: Tx) => foldDay(tx, tenant))) > 0);
    await expectStatements()
    t.strictSame(await findContradictions(fixture, '2026-02-01', '2026-02-28'), [], 'folded days read the same')
    t.strictSame(listFindings(await checkLedger(pool, tenant)), [])

    const trial = await readPages(fixture, '/ledger/trial-balance?day=2026-02-28', { rowsOf: data => data.accounts })
    const balances = Object.fromEntries(trial.map(({ account, debit, credit }) => [account, debit - credit]))
    t.strictSame(balances, {
      ...{ bank: month.bank, compensation: month.compensation, acquirer_fees: month.fee },
      ...{ delivery_revenue: -month.revenue, returns_revenue: -month.returns },
      ...{ tax: -month.tax, withholding: -month.withheld },
    })
    const earlier = (await staffGet('/ledger/trial-balance?day=2026-02-12')).body.data.accounts
    t.match(
      earlier.find(({ account }: { account: string }) => account === `merchant:${shop}`),
      { type: 'liability', merchant_name: 'Lanka Shoes', debit: 0, credit: month.total },
    )
    const report = (await staffGet('/ledger/month?month=2026-02')).body.data
    const booked = {
      ...{ opening: 0, collected: Number((month.cash + month.cod[2]).toFixed(3)), charges: month.revenue },
      ...{ returns: month.returns, compensation: month.compensation, paid: month.total, other: 0, closing: 0 },
    }
    t.match(report, { totals: booked, merchants: [{ merchant_id: shop, merchant_name: 'Lanka Shoes', ...booked }] })
    t.strictSame((await staffGet('/ledger/month?month=2026-03')).body.data.merchants, [], 'nothing was open')
    const csv = await readCsv(fixture, '/ledger/month?month=2026-02')
    t.match(csv[1], `${shop},Lanka Shoes,0,${booked.collected},${month.revenue},`)

    const { totals } = (await staffGet('/ledger/month/documents?month=2026-02')).body.data
    t.match(totals, { tax: month.tax, taxable: Number((month.revenue + month.returns).toFixed(3)) })

    const readJournal = async (from: string, to = from) =>
      (await readPages(fixture, `/ledger/journal?from=2026-02-${from}&to=2026-02-${to}`)).map(
        ({ debit, credit, waybill_number, kind, document }) => [debit, credit, waybill_number, kind, document],
      )
    t.match((await readJournal('02')).at(-1), ['rider:Sunil', 'rider:Nimal', null, 'transfer', /-/])
    t.match(await readJournal('11'), [
      ['acquirer_fees', 'clearing', null, 'deposit', 'BOC 2'],
      ['bank', 'clearing', null, 'deposit', 'BOC 2'],
    ])
    t.match(await readJournal('03', '04'), [
      [`merchant:${shop}`, 'returns_revenue', 'DM97000003', 'returned', null],
      [`merchant:${shop}`, 'tax', 'DM97000003', 'returned', null],
      ['office', 'rider:Sunil', 'DM97000001', 'handed_over', /^\d+$/],
      ['office', 'rider:Nimal', 'DM97000002', 'handed_over', /^\d+$/],
      ['bank', 'office', null, 'deposit', 'BOC 1'],
    ])
    const changes: [table: string, set: string, back: string, day: string][] = [
      ['money_lines', `staff_name = 'x' where waybill_number = 'DM97000001'`, `staff_name = 'Kamal Perera'`, '02'],
      ['cash_transfers', `to_name = 'x'`, `to_name = 'Sunil'`, '02'],
      ['cash_deposits', `difference_account = 'differences'`, `difference_account = 'acquirer_fees'`, '11'],
      ['cash_handovers', 'declared = declared + 1', 'declared = declared - 1', '03'],
      ['cash_deposits', `bank_reference = 'BOC 3' where bank_reference = 'BOC 2'`, `bank_reference = 'BOC 2'`, '11'],
      ['invoices', `invoice_no = 'X'`, `invoice_no = '${document}'`, '20'],
    ]
    for (const [table, set, back, day] of changes) {
      const isMeant = `booked_on = '2026-02-${day}'`
      await rows(`update ${table} set ${set} ${set.includes('where') ? 'and' : 'where'} ${isMeant}`)
      t.strictSame((await checkLedger(pool, tenant)).broken_seals, [`2026-02-${day}`], table)
      await rows(`update ${table} set ${back} where ${isMeant}`)
    }
    t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
    const [event] = await rows(`select details from log where type = 'invoice.deposited'`)
    t.match(event.details, { total: month.printed, currency })
  })
