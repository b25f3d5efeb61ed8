import { selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { readPhone } from '@courier/shared/phone-number.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { Static } from '@sinclair/typebox'
import { findActiveBusinesses } from '../../core/access/queries.ts'
import { type Acted, type Call, refuse, refuseAny } from '../../core/actions/action.ts'
import type { BookingPoint } from '../../core/booking/booking-point.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { Address, NewAddress } from './schema.ts'

export const bookedField = 'pickup_address_id'
const maxAddresses = 100

/** Builds the JSON of the address `address`, of which the city has the name. */
export const addressJson = `json_build_object('id', address.address_id, 'merchant_business_id', address.business_id,
  'name', address.name, 'address', address.address, 'city_id', address.city_id, 'city', city.name,
  'phone', address.phone, 'is_default', address.is_default)`

export const listAddresses = async (tx: Tx, tenant: string, merchantId: string): Promise<Address[]> =>
  (await tx.rows({ name: 'list_pickup_addresses', text: listSql, values: [tenant, merchantId] })).map(({ row }) => row)

const listSql = `
  select ${addressJson} as row from pickup_addresses address
    join cities city on city.tenant_id = address.tenant_id and city.city_id = address.city_id
  where address.tenant_id = $1 and merchant_id = $2 and address.is_active order by business_id, address_id`

/** Finds an active business of the merchant: the one that is named, or the default one. */
export const findBusiness = async (tx: Tx, tenant: string, merchantId: string, named?: string | number) => {
  const all = await findActiveBusinesses(tx, tenant, merchantId)
  if (named !== undefined) return all.find(({ business_id }) => business_id === Number(named))
  return all.find(({ is_default }) => is_default) ?? (all.length === 1 ? all[0] : undefined)
}

export const addAddress = async (
  tx: Tx,
  { tenant, merchantId, body }: Call<Static<typeof NewAddress>>,
): Promise<Acted<Address>> => {
  const { merchant_business_id: named, city_id, name, address, phone, is_default = false } = body
  const of = merchantId ?? ''
  const business = await findBusiness(tx, tenant, of, named)
  const cities = await tx.rows('select from cities where tenant_id = $1 and city_id = $2 and is_active', [
    tenant,
    city_id,
  ])
  const [company] = await tx.rows<{ country: string }>('select country from tenants where tenant_id = $1', [tenant])
  const isPhone = readPhone(phone, company?.country ?? '').number !== undefined
  const refusal = refuseAny({
    ...(!isPhone && { phone: ['The phone field must be a phone number.'] }),
    ...(!business && { merchant_business_id: [selectedInvalid('merchant_business_id')] }),
    ...(cities.length === 0 && { city_id: [selectedInvalid('city_id')] }),
  })
  if (refusal || !business) return refusal ?? refuse('merchant_business_id', '')
  // Two requests at once give a business one default.
  await tx.client.query(lockBusinessSql, [tenant, business.business_id])
  const known = await listAddresses(tx, tenant, of)
  if (known.length >= maxAddresses) return refuse('name', `There are already ${maxAddresses} addresses: delete one.`)
  const isFirst = known.every(row => row.merchant_business_id !== business.business_id)
  if (is_default) await tx.client.query(noDefaultSql, [tenant, business.business_id])
  const values = [tenant, of, business.business_id, name, address, city_id, phone, is_default || isFirst]
  const [added] = await tx.rows<{ id: number }>(addSql, values)
  const data = (await listAddresses(tx, tenant, of)).find(({ id }) => id === Number(added?.id)) as Address
  return { kind: 'done', data, objects: [String(data.id)] }
}

const lockBusinessSql = 'select from businesses where tenant_id = $1 and business_id = $2 for no key update'
const noDefaultSql = 'update pickup_addresses set is_default = false where tenant_id = $1 and business_id = $2'
const addSql = `
  insert into pickup_addresses (tenant_id, merchant_id, business_id, name, address, city_id, phone, is_default)
  values ($1, $2, $3, $4, $5, $6, $7, $8) returning address_id as id`

/** Deletes an address. Returns why not, or undefined if the merchant has no such address. */
export const deleteAddress = async (tx: Tx, tenant: string, merchantId: string, id: string) => {
  const { rows } = await tx.client.query(deleteSql, [tenant, merchantId, id])
  if (rows.length === 0) return undefined
  const open = await tx.rows<{ day: string }>(openSql, [tenant, id])
  return open.length > 0 ? `A pickup on ${open[0]?.day} needs this address: withdraw it first.` : true
}

const deleteSql = `
  update pickup_addresses set is_active = false, is_default = false
  where tenant_id = $1 and merchant_id = $2 and address_id = $3::bigint and is_active returning tenant_id`
const openSql = `
  select day::text from pickups where tenant_id = $1 and address_id = $2::bigint and state = 'open' limit 1`

/** Keeps the address of a batch with its orders. A company without any address ignores the field, as it always was. */
export const addressOfBooking: BookingPoint = {
  field: bookedField,
  read: async (pool, { tenant, merchantId, businessId, value }) => {
    const values = [tenant, merchantId, businessId, /^\s*\d{1,15}\s*$/.test(String(value)) ? String(value).trim() : '0']
    const [found] = await readInTenant<{ has_some: boolean; is_own: boolean }>(pool, tenant, {
      name: 'find_pickup_address',
      text: ownSql,
      values,
    })
    if (!found?.has_some) return undefined
    return found.is_own ? { keep: String(values[3]) } : { error: selectedInvalid(bookedField) }
  },
}

const ownSql = `
  select exists (select from pickup_addresses where tenant_id = $1) as has_some, exists (
    select from pickup_addresses where tenant_id = $1 and merchant_id = $2 and business_id::text = $3
      and address_id = $4::bigint and is_active
  ) as is_own`
