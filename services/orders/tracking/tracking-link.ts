import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'

/**
 * The code that signs the link to a parcel's page, of 66 bits: waybill numbers can be guessed, so only the link that recipients
 * get shows the amount and the city. SQL; `tenant` is the row of the company.
 */
export const trackingCode = (waybill: string): string =>
  `left(translate(encode(sha256(convert_to(tenant.link_key || ${waybill}, 'UTF8')), 'base64'), '+/', '-_'), 11)`

/** Below it is the page of each parcel of the tenant. */
export const trackingUrlOf = (publicUrl: string, tenant: string): string =>
  `${publicUrl.replace(/\/$/, '')}/t/${tenant}`

/** The page of a parcel, by its signed link. */
export const pageUrlOf = (
  { waybill_number, tracking_code }: { readonly waybill_number: string; readonly tracking_code: string },
  trackingUrl: string,
): string => `${trackingUrl}/${encodeURIComponent(waybill_number)}/${tracking_code}`

const statement = `select ${trackingCode('$2::text')} as code from tenants tenant where tenant_id = $1`

/** Whether the code is that of the waybill. */
export const isTrackingCode = async (
  pool: pg.Pool,
  tenant: string,
  waybill: string,
  code: string,
): Promise<boolean> => {
  const query = { name: 'find_tracking_code', text: statement, values: [tenant, waybill] }
  return (await readInTenant<{ code: string }>(pool, tenant, query))[0]?.code === code
}
