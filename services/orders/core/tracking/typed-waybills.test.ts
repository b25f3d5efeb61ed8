import t from 'tap'
import { buildTenant } from '../../test/build-tenant.ts'
import { expectTypedWaybills } from '../../test/expect-typed-waybills.ts'
import { tenantFixture } from '../../test/orders-fixture.ts'
import { batch, order, tenantFile } from '../../test/tenant.ts'

t.test('finds a waybill number in lower case or with spaces, in every request of the core', async t =>
  expectTypedWaybills(t, await tenantFixture(t)),
)

t.test('prefers the exact spelling of two numbers that differ in letter case', async t => {
  const manual = (format: string) => tenantFile({ waybills: { mode: 'manual', format } })
  const { apply, bulk, request } = await buildTenant(t, { file: manual('dm##') })
  const make = (waybill_number: string) => bulk(batch([order({ waybill_number })]))
  const lookUp = async (typed: string) =>
    (await request('/order/lookup', { waybill_numbers: [typed] })).body.data.map(
      (each: { waybill_number: string }) => each.waybill_number,
    )
  await make('dm01')
  t.strictSame(await lookUp('d m01'), ['dm01'])
  await apply(manual('DM##'))
  await make('DM01')
  await make('DM02')
  t.strictSame([await lookUp('dm01'), await lookUp('DM01'), await lookUp('dm02')], [['dm01'], ['DM01'], ['DM02']])
})
