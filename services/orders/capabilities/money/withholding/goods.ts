import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { query, readInTenant } from '@courier/shared/postgres/database.ts'
import type { BookingPoint } from '../../../core/booking/booking-point.ts'
import type { Tx } from '../../../core/database/tables.ts'
import type { MerchantsFile, TenantFile } from '../../../core/provisioning/tenant-file.ts'

// Reads the goods that a table of withholding has rates for (docs/money.md#withholding-by-table).

type Table = readonly { readonly rates: readonly { readonly goods?: string }[] }[]

const listGoods = (table: Table = []): string[] => [
  ...new Set(table.flatMap(({ rates }) => rates.flatMap(({ goods }) => goods ?? []))),
]
const readGoods = (stored: { withholding: string | null } | undefined) =>
  listGoods(JSON.parse(stored?.withholding ?? '[]'))

/** Keeps the goods of a batch with its orders. A company whose table has no goods ignores the field. */
export const goodsOfBooking: BookingPoint = {
  field: 'goods',
  read: async (pool, { tenant, value }) => {
    const text = 'select withholding from tenants where tenant_id = $1'
    const about = { name: 'read_goods', text, values: [tenant] }
    const known = readGoods((await readInTenant<{ withholding: string | null }>(pool, tenant, about))[0])
    if (known.length === 0) return undefined
    return typeof value === 'string' && known.includes(value)
      ? { keep: value }
      : { error: `The goods field must be one of ${known.join(', ')}.` }
  },
}

/** Refuses goods of businesses that the company's table does not name. */
export const findGoodsErrors = async (tx: Tx, { tenant, merchants }: TenantFile | MerchantsFile) => {
  const [stored] = await query<{ withholding: string | null }>(tx)`
    select withholding from tenants where tenant_id = ${tenant.id}`
  const known = 'currency' in tenant ? listGoods((tenant as { withholding?: Table }).withholding) : readGoods(stored)
  const errors: FieldErrors = {}
  for (const [m, { businesses }] of merchants.entries())
    for (const [b, { goods }] of (businesses as { goods?: string }[]).entries())
      if (goods !== undefined && !known.includes(goods))
        errors[`merchants.${m}.businesses.${b}.goods`] = [
          `tenant.withholding has no rate for ${goods}: it knows ${known.join(', ') || 'no goods'}.`,
        ]
  return errors
}

/** Says why orders of a merchant are refused, once a file has changed the company or its merchants. */
export const refuseUnregistered = async (tx: Tx, tenant: string): Promise<void> => {
  await tx.rows(refuseSql, [tenant, refusal])
}

const refusal =
  'The courier company takes orders only of merchants registered for tax. Give it your tax number, and book again.'
const wantedSql = `case when registered_only and (merchants.tax_number is null or tax_status = 'unregistered')
    then $2::text end`
const refuseSql = `
  update merchants set booking_refusal = ${wantedSql} from tenants
  where tenants.tenant_id = $1 and merchants.tenant_id = $1 and booking_refusal is distinct from ${wantedSql}
  returning merchants.tenant_id`
