import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { type OrderRow, orderColumns, orderJoins } from '../orders/find-order.ts'

/** A label on each page, or four on each page of A4. */
export const layouts = ['100x150', 'a4x4'] as const
export type Layout = (typeof layouts)[number]

/** What is printed about a parcel. */
export interface Label extends OrderRow {
  /** The tenant's name. */
  readonly company: string
  /** The day of booking in the tenant's time zone, as 2026-02-19. */
  readonly booked_on: string
}

const statement = `
  select ${orderColumns}, tenant.name as company, to_char(o.created_at at time zone tenant.time_zone, 'YYYY-MM-DD') as booked_on
  from orders o ${orderJoins}
  where o.tenant_id = $1 and o.waybill_number = any($2::text[]) and ($3::bigint is null or o.merchant_id = $3)`

/** The labels of those waybills that exist, of `merchantId` if given, in no order. */
export const findLabels = (
  pool: pg.Pool,
  tenant: string,
  waybills: readonly string[],
  merchantId: string | null,
): Promise<Label[]> =>
  readInTenant(pool, tenant, { name: 'find_labels', text: statement, values: [tenant, waybills, merchantId] })

/** `COD LKR 4,500`; undefined when there is nothing to collect. */
export const codOf = ({ cod, currency }: Pick<Label, 'cod' | 'currency'>): string | undefined =>
  cod > 0 ? `COD ${currency} ${cod.toLocaleString('en')}` : undefined

/** City and state, once if they are the same. */
export const placeOf = (city: string, state: string): string => (city === state ? city : `${city}, ${state}`)
