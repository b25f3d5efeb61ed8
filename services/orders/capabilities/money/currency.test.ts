import t from 'tap'
import { checkFile } from '../../core/provisioning/check-file.ts'
import { companyFile } from '../../test/build.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../test/tenant.ts'
import { checkLedger, listFindings } from './ledger/check-ledger.ts'

const inCurrency = (currency: string) => {
  const file = tenantFile()
  const [card] = file.rate_cards as [(typeof file.rate_cards)[number]]
  const rates = card.rates.map(rate => ({ ...rate, first_kg: 450, each_extra_kg: 90 }))
  return { ...file, tenant: { ...file.tenant, currency }, rate_cards: [{ ...card, rates }], statuses: shortStatuses }
}

t.test('amounts finer than the currency are refused everywhere', async t => {
  const { make, move, request, staffOf, apply } = await tenantFixture(t, { file: inCurrency('JPY') })
  await make(['DM95000001'], { initial_status_key: 'key_2', cod: 500, weight: 1 })
  const collected = { DM95000001: { amount: 499.5, reason: 'Short' } }
  const sentence = 'The amount 499.5 has too many decimals: JPY has none.'
  t.strictSame((await move(['DM95000001'], 'key_13', { collected })).body.errors, {
    'collected.DM95000001.amount': [sentence],
  })
  const token = await staffOf('Chamari')
  const bodies: [path: string, field: string, body: Record<string, unknown>][] = [
    ['compensation', 'amount', { waybill_number: 'DM95000001', amount: 0.5, reason: 'Lost' }],
    ['cash/handover', 'declared', { collected_by: 'Nimal', declared: 0.5, counted: 1 }],
    ['cash/deposit', 'amount', { amount: 0.5, bank_reference: 'BOC 1' }],
  ]
  for (const [path, field, body] of bodies)
    t.strictSame((await request('POST', `/api/staff/${path}`, body, { token })).body.errors, {
      [field]: [`The ${field} 0.5 has too many decimals: JPY has none.`],
    })
  const fine = inCurrency('JPY')
  Object.assign(fine.rate_cards[0]?.rates[0] ?? {}, { first_kg: 450.5 })
  t.match(checkFile(fine, companyFile), {
    kind: 'refused',
    errors: { 'rate_cards.0.rates.0.first_kg': ['The amount 450.5 has too many decimals: JPY has none.'] },
  })
  t.equal((await apply(inCurrency('LKR'))).kind, 'applied', 'no money is booked yet')
})

t.test('a company keeps its currency once money is booked', async t => {
  const { make, move, apply } = await tenantFixture(t, { file: inCurrency('LKR') })
  await make(['DM95000002'], { initial_status_key: 'key_2', cod: 500, weight: 1 })
  await move(['DM95000002'], 'key_13', { collected_by: 'Nimal' })
  t.strictSame(await apply(inCurrency('KWD')), {
    kind: 'refused',
    errors: {
      'tenant.currency': ['Money is booked in LKR: the company keeps LKR, or begins anew under another id.'],
    },
  })
  t.equal((await apply(inCurrency('LKR'))).kind, 'applied')
})

t.test('a handover may exceed ten thousand million, to the last cent', async t => {
  const { make, move, request, staffOf, rows, pool, tenant } = await tenantFixture(t, { file: inCurrency('LKR') })
  const waybills = Array.from({ length: 6 }, (_, n) => `DM9500001${n}`)
  await make(waybills, { initial_status_key: 'key_2', cod: 2_147_483_647, weight: 1 })
  const paid = { amount: 9_999_999_999.99, reason: 'A car' }
  const collected = Object.fromEntries(waybills.map(waybill => [waybill, paid]))
  t.equal((await move(waybills, 'key_13', { collected_by: 'Nimal', collected })).status, 200)
  const token = await staffOf('Chamari')
  const sum = 59_999_999_999.94
  const body = { collected_by: 'Nimal', declared: sum, counted: sum }
  t.match(await request('POST', '/api/staff/cash/handover', body, { token }), { body: { data: { state: 'cleared' } } })
  const deposit = { amount: sum, bank_reference: 'BOC 1' }
  t.equal((await request('POST', '/api/staff/cash/deposit', deposit, { token })).status, 200)
  t.strictSame(await rows(`select amount from ledger_transfers where debit = 'bank'`), [{ amount: '59999999999.94' }])
  t.strictSame(listFindings(await checkLedger(pool, tenant)), [])
})
