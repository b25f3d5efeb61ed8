import { readUsual } from '@courier/shared/phone-digits.ts'
import { readPhone, spellKey } from '@courier/shared/phone-number.ts'
import type { Tx } from './tables.ts'

export interface PhoneColumns {
  readonly customer_phone: string
  /** undefined: `customer_phone` is as the merchant typed it. */
  readonly phone_as_typed: string | undefined
}

/**
 * Returns the columns of a typed number. Postgres makes `phone_key`, which finds candidates, of the last nine digits of
 * `customer_phone`; `isPhoneSql` decides. Where they would miss the spelling, `customer_phone` is the key of the
 * number, and `phone_as_typed` keeps the spelling (migration 0041).
 */
export const toPhoneColumns = (typed: string, key: string, country: string): PhoneColumns =>
  isStored(strip(typed), strip(key), country)
    ? { customer_phone: typed, phone_as_typed: undefined }
    : { customer_phone: key, phone_as_typed: `${key} ${typed}` }

/** Selects the phone number as the merchant typed it. */
export const typedPhoneSql = `
  case when starts_with(phone_as_typed, customer_phone || ' ') then substr(phone_as_typed, length(customer_phone) + 2)
    else customer_phone end`

const strip = (phone: string): string => phone.replace(/[ ().-]/g, '')

/** Returns true if `listStored` lists the text for the key, and its end is that of the key. */
const isStored = (text: string, key: string, country: string): boolean =>
  text === key || (text.slice(-9) === key.slice(-9) && readUsual(text, country) === key.slice(1))

/** Lists how `customer_phone` may hold what has this key, the key first. */
export const listStored = (key: string, country: string): string[] => spellKey(key, country).map(strip)

/**
 * Computes phone_key as the table does, of what `listStored` returns. Use it in a materialized CTE: under row-level
 * security no index serves a condition that calls a function of a column.
 */
export const computePhoneKey = (stored: string): string => `right(translate((${stored})[1], ' +-().', ''), 9)`

/** Finds orders by their phone: numbers of different people may share a phone_key. */
export const isPhoneSql = (stored: string, phoneKey = computePhoneKey(stored)): string =>
  `phone_key = ${phoneKey} and translate(customer_phone, ' -().', '') = any(${stored})`

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
    const orders = await tx.rows<StoredPhone>(readSql, [tenant])
    const changes = orders.flatMap(({ waybill, phone, typed, country }) => {
      const columns = toPhoneColumns(typed, readPhone(typed, country).key, country)
      return columns.customer_phone === phone ? [] : { waybill, phone, ...columns }
    })
    if (changes.length > 0) await tx.rows(changeSql, [tenant, JSON.stringify(changes)])
    const last = orders.at(-1)
    if (last) await tx.rows(markSql, [tenant, last.at, last.waybill])
    return orders.length
  }
}

interface StoredPhone {
  readonly at: string
  readonly waybill: string
  readonly phone: string
  readonly typed: string
  readonly country: string
}

/** Leaves the last minute out: a transaction that began earlier may still commit. */
const readSql = `
  select created_at::text as at, waybill_number as waybill, customer_phone as phone, ${typedPhoneSql} as typed, country
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
