import t from 'tap'
import { applyTenant } from '../../../core/provisioning/apply.ts'
import { companyFile } from '../../../test/build.ts'
import { tenantFixture } from '../../../test/orders-fixture.ts'
import { shortStatuses, tenantFile } from '../../../test/tenant.ts'

/** Returns the company with these fees; undefined: its merchants have no card. */
const withFees = (percent?: number, id = 'demo') => {
  const file = { ...tenantFile({ id }), statuses: shortStatuses }
  const fees = { cod_fee_percent: percent ?? 9, cod_fee_min: 20, return_fee: 100 * (percent ?? 9), each_return_kg: 25 }
  Object.assign(file.rate_cards[0] ?? {}, fees)
  for (const merchant of file.merchants) merchant.rate_card = percent === undefined ? null : 'standard'
  return file
}

t.test('a parcel is charged the fees that held when it was booked', async t => {
  const { tenant, make, move, rows, pool } = await tenantFixture(t, { file: withFees(1) })
  const apply = async (percent?: number, dryRun = false) => {
    const applied = await applyTenant(pool, withFees(percent, tenant), dryRun, { companyFile })
    t.match(applied, { kind: 'applied' })
  }
  const book = (...waybills: string[]) => make(waybills, { initial_status_key: 'key_2', cod: 5000, weight: 2 })
  const charge = async (waybill: string, status: string) => {
    t.equal((await move([waybill], status)).status, 200)
    const select = 'select cod_fee::float8 + return_fee::float8 as fee from money_lines where waybill_number = $1'
    return (await rows(select, [waybill])).map(({ fee }) => fee)
  }
  await book('DM90000001', 'DM90000002')
  await apply(2, true)
  t.strictSame(await rows('select from former_terms'), [], 'a dry run keeps nothing')
  await apply(2)
  await book('DM90000003', 'DM90000004', 'DM90000005')
  await apply(2)
  t.equal((await rows('select from former_terms')).length, 2, 'one row a merchant: the second file changed nothing')
  await apply()
  t.strictSame(await charge('DM90000001', 'key_13'), [50])
  t.strictSame(await charge('DM90000002', 'key_21'), [125])
  t.strictSame(await charge('DM90000003', 'key_13'), [100], 'the card is gone')
  t.strictSame(await charge('DM90000004', 'key_21'), [225], 'the card is gone')
  await apply(3)
  await book('DM90000006')
  t.strictSame(await charge('DM90000005', 'key_13'), [100])
  t.strictSame(await charge('DM90000006', 'key_13'), [150])
})
