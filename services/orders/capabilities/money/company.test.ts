import t from 'tap'
import { applyTenant } from '../../core/provisioning/apply.ts'
import { checkFile } from '../../core/provisioning/check-file.ts'
import { changePassword } from '../../core/provisioning/merchant-commands.ts'
import { build, companyFile } from '../../test/build.ts'
import { tenantFile } from '../../test/tenant.ts'

const email = 'shop@example.com'

t.test('a command for one merchant keeps its terms of payment and its phone number', async t => {
  const { pool, rows } = await build(t)
  const money = { payable_when: 'banked', payable_after_days: 3, charges_apart: true, phone: '+94112345678' }
  const file = tenantFile()
  const [shop] = file.merchants
  const errors = { 'merchants.0.phone': [/must be one phone number/] }
  for (const whole of [
    { ...file, merchants: [{ ...shop, phone: 'the shop' }] },
    { tenant: { id: 'demo' }, merchants: [{ ...shop, phone: 'the shop' }] },
  ]) {
    const checked = checkFile(whole, companyFile)
    t.match(checked, { kind: 'accepted' })
    if (checked.kind === 'accepted')
      t.match(await applyTenant(pool, checked.file, true, { companyFile }), { kind: 'refused', errors })
  }
  Object.assign(shop ?? {}, money)
  await applyTenant(pool, file, false, { companyFile })
  await changePassword(pool, { tenant: 'demo', email }, 'another-password')
  const found = await rows(
    'select payable_when, payable_after_days, charges_apart, phone from merchants where email = $1',
    [email],
  )
  t.strictSame(found, [money])
})

const findErrors = (place: 'tenant' | 'rate_cards' | 'merchants', field: string, value: unknown) => {
  const file = tenantFile()
  Object.assign([file[place]].flat()[0] ?? {}, { [field]: value })
  const checked = checkFile(file, companyFile)
  return checked.kind === 'refused' ? checked.errors : 'accepted'
}

t.test('an error in a field of money is reported under its path', async t => {
  const decimals = 'It has more than two decimals.'
  const table: [Parameters<typeof findErrors>[0], string, unknown, path: string, sentence: string][] = [
    ['rate_cards', 'cod_fee_percent', 1.125, 'rate_cards.0.cod_fee_percent', decimals],
    [
      ...(['tenant', 'tax_percent', 101, 'tenant.tax_percent'] as const),
      'The tax percent field must be a percentage from 0 to 100 with at most two decimals.',
    ],
    ['tenant', 'withholding_percent', 1.125, 'tenant.withholding_percent', decimals],
    [
      ...(['tenant', 'money', { payable_when: 'soon' }, 'tenant.money.payable_when'] as const),
      'The payable when field must be one of delivered, handed_over, banked.',
    ],
    [
      ...(['tenant', 'money', { invoice_mask: 'CFX' }, 'tenant.money.invoice_mask'] as const),
      'The invoice mask field must be letters, digits, / . _ - with one group of #; YYYY, YY, MMM, MM, DD and {branch} are filled in.',
    ],
    [
      ...(['tenant', 'money', { cash_ceiling: 0.001 }, 'tenant.money.cash_ceiling'] as const),
      'The amount 0.001 has too many decimals: LKR has 2.',
    ],
    [
      ...(['merchants', 'payable_after_days', -1, 'merchants.0.payable_after_days'] as const),
      'The payable after days field must be 0 to 365 days.',
    ],
  ]
  for (const [place, field, value, path, sentence] of table)
    t.strictSame(findErrors(place, field, value), { [path]: [sentence] }, `${path} ${JSON.stringify(value)}`)
})
