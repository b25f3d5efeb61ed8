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
  await changePassword({ pool, companyFile }, { tenant: 'demo', email }, 'another-password')
  const found = await rows(
    'select payable_when, payable_after_days, charges_apart, phone from merchants where email = $1',
    [email],
  )
  t.strictSame(found, [money])
})
