import { readPhone } from '@courier/shared/phone-number.ts'
import type { Tx } from '../database/tables.ts'

export interface PhoneColumns {
  readonly customer_phone: string
  /** undefined: `customer_phone` is as the merchant typed it. */
  readonly phone_as_typed: string | undefined
}

/**
 * Returns the columns of a typed number. Postgres makes `phone_key`, which look-ups use, of the last nine digits of
 * `customer_phone`. Where the spelling would hide digits of the number, `customer_phone` is the number itself, and
 * `phone_as_typed` keeps the spelling (migration 0041).
 */
export const toPhoneColumns = (typed: string, key: string): PhoneColumns =>
  typed.slice(-9) === key.slice(-9) || takeKey(typed) === takeKey(key)
    ? { customer_phone: typed, phone_as_typed: undefined }
    : { customer_phone: key, phone_as_typed: `${key} ${typed}` }

/** Computes `phone_key` as the table does. */
const takeKey = (phone: string): string => phone.replace(/[ +().-]/g, '').slice(-9)

const readAtOnce = 2_000
/** Processes of the previous version may write this long after the start of this process. */
const followedMilliseconds = 24 * 3_600_000

/**
 * Creates the housekeeping that stores the numbers that earlier versions wrote as `toPhoneColumns` does, also those
 * that they write within a day of this process's start. Returns how many orders it read.
 */
export const fillPhones = () => {
  const end = performance.now() + followedMilliseconds
  return async (tx: Tx, tenant: string): Promise<number> => {
    if (performance.now() > end) return 0
    const orders = await tx.rows<{ at: string; waybill: string; phone: string; country: string }>(readSql, [tenant])
    const changes = orders.flatMap(({ waybill, phone, country }) => {
      const columns = toPhoneColumns(phone, readPhone(phone, country).key)
      return columns.phone_as_typed === undefined ? [] : { waybill, phone, ...columns }
    })
    if (changes.length > 0) await tx.rows(changeSql, [tenant, JSON.stringify(changes)])
    const last = orders.at(-1)
    if (last) await tx.rows(markSql, [tenant, last.at, last.waybill])
    return orders.length
  }
}

/** Leaves the last minute out: a transaction that began earlier may still commit. */
const readSql = `
  select created_at::text as at, waybill_number as waybill, customer_phone as phone, country
  from orders cross join (
    select country, phones_read_at, phones_read_waybill from tenants where tenant_id = $1
  ) mark
  where tenant_id = $1 and (created_at, waybill_number)
      > (coalesce(phones_read_at, '-infinity'), coalesce(phones_read_waybill, ''))
    and created_at < now() - interval '1 minute'
  order by created_at, waybill_number limit ${readAtOnce}`

/** Changes no order whose number somebody has edited meanwhile. */
const changeSql = `
  update orders set customer_phone = change.customer_phone, phone_as_typed = change.phone_as_typed
  from json_to_recordset($2::json) as change (waybill text, phone text, customer_phone text, phone_as_typed text)
  where tenant_id = $1 and waybill_number = change.waybill and orders.customer_phone = change.phone`

const markSql = `
  update tenants set phones_read_at = $2::timestamptz, phones_read_waybill = $3 where tenant_id = $1`
