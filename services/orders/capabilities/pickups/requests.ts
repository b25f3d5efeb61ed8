import { selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { type Acted, type Call, checkEach, refuse, refuseAny } from '../../core/actions/action.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { nameStatus } from '../../core/moves/check-moves.ts'
import { findStatuses } from '../../core/statuses/status-queries.ts'
import { beforePickup } from '../../core/statuses/statuses.ts'
import { addressJson, bookedField, findBusiness, listAddresses } from './addresses.ts'
import { type Expectation, maxParcels, type Pickup, type PickupRequest } from './schema.ts'

/** Lists the statuses of confirmed parcels that are with their merchant; drafts are not confirmed. */
export const pickable: readonly string[] = beforePickup.filter(key => key !== 'key_1')
const maxDaysAhead = 60
const maxNote = 2000

/** Asks for a pickup. An open one of that business, address and day grows by what is asked. */
export const requestPickup = async (
  tx: Tx,
  { tenant, merchantId, body, by }: Pick<Call<PickupRequest>, 'tenant' | 'merchantId' | 'body' | 'by'>,
): Promise<Acted<Pickup>> => {
  const of = merchantId ?? ''
  const { all = false, parcels = 0, waybill_numbers: waybills = [], day, from, to, note } = body
  const [place, days, listed] = [
    await findPlace(tx, tenant, of, body),
    await tx.rows<{ is_early: boolean; is_late: boolean }>(daySql, [tenant, day]),
    await tx.rows(pickableSql, [tenant, of, waybills]),
  ]
  if ('kind' in place) return place
  const keys = new Map(listed.map(row => [row.waybill_number, row]))
  const statuses = await findStatuses(tx, tenant)
  const errors = checkEach(waybills, waybill => {
    const order = keys.get(waybill)
    if (order?.business_id !== place.businessId) return 'The requested waybill does not exist in the system.'
    if (pickable.includes(order.status_key)) return undefined
    return `${waybill} is ${nameStatus(order.status_key, statuses)}: only a confirmed parcel can be picked up.`
  })
  if (days[0]?.is_early) errors.day = ['The day is over.']
  if (days[0]?.is_late) errors.day = [`A pickup may be at most ${maxDaysAhead} days ahead.`]
  if ((from === undefined) !== (to === undefined) || (from && to && from >= to))
    errors.to = ['The to field must be a later time than from.']
  if ([all, parcels > 0, waybills.length > 0].filter(Boolean).length !== 1)
    errors.waybill_numbers = ['Give one of waybill_numbers, all and parcels.']
  return (
    refuseAny(errors) ??
    storeRequest(tx, { tenant, merchantId: of, ...place, all, parcels, waybills, day, from, to, note }, by.kind)
  )
}

const daySql = `
  select $2::date < today as is_early, $2::date > today + ${maxDaysAhead} as is_late
  from (select (now() at time zone time_zone)::date as today from tenants where tenant_id = $1) company`
const pickableSql = `
  select waybill_number, status_key, business_id from orders
  where tenant_id = $1 and merchant_id = $2 and waybill_number = any($3::text[])`

/** Finds whose parcels are fetched, and where: the named address, or the default one of the business. */
const findPlace = async (tx: Tx, tenant: string, merchantId: string, body: PickupRequest) => {
  const { pickup_address_id: named, merchant_business_id: of } = body
  const addresses = await listAddresses(tx, tenant, merchantId)
  if (named !== undefined) {
    const found = addresses.find(({ id }) => id === Number(named))
    if (!found || (of !== undefined && found.merchant_business_id !== Number(of)))
      return refuse(bookedField, selectedInvalid(bookedField))
    return { businessId: found.merchant_business_id, addressId: found.id }
  }
  const business = await findBusiness(tx, tenant, merchantId, of)
  if (!business) return refuse('merchant_business_id', selectedInvalid('merchant_business_id'))
  const usual = addresses.find(row => row.merchant_business_id === business.business_id && row.is_default)
  if (!usual) return refuse(bookedField, 'The business has no default address: name the address.')
  return { businessId: business.business_id, addressId: usual.id }
}

interface Wanted {
  readonly tenant: string
  readonly merchantId: string
  readonly businessId: number
  readonly addressId: number
  readonly all: boolean
  readonly parcels: number
  readonly waybills: readonly string[]
  readonly day: string
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly note?: string | undefined
}

/** Stores a checked request, or adds it to the open one, whose row is locked. */
export const storeRequest = async (tx: Tx, wanted: Wanted, actor: string): Promise<Acted<Pickup>> => {
  const { tenant, merchantId, businessId, addressId, day, all, parcels, waybills, from, to, note } = wanted
  const place = [tenant, businessId, addressId, day]
  let id: string | undefined
  // The open request may end between the two statements; then the next insertion succeeds.
  while (id === undefined) {
    const rest = [merchantId, all, waybills, parcels, note ?? null, from ?? null, to ?? null]
    const [added] = await tx.rows<{ id: string }>(insertSql, [...place, ...rest])
    if (added) id = added.id
    const [open] = added ? [] : await tx.rows<Open>(lockOpenSql, place)
    if (!open) continue
    const named = [...new Set([...open.waybill_numbers, ...waybills])]
    const notes = [open.note, note].filter(Boolean).join('\n')
    if (named.length > maxParcels) return refuse('waybill_numbers', `A pickup has at most ${maxParcels} parcels.`)
    if (open.parcels + parcels > 10_000) return refuse('parcels', 'A pickup has at most 10000 parcels.')
    if (notes.length > maxNote) return refuse('note', `The notes of a pickup have at most ${maxNote} characters.`)
    const merged = [all || open.is_all, named, open.parcels + parcels, notes || null, from ?? null, to ?? null]
    await tx.client.query(growSql, [tenant, open.id, ...merged])
    id = open.id
  }
  await logPickup(tx, tenant, id, 'requested', actor)
  const data = (await readPickups(tx, tenant, { id }))[0] as Pickup
  return { kind: 'done', data, objects: [id] }
}

interface Open {
  readonly id: string
  readonly is_all: boolean
  readonly waybill_numbers: string[]
  readonly parcels: number
  readonly note: string | null
}

const insertSql = `
  insert into pickups (tenant_id, business_id, address_id, day, merchant_id, is_all, waybill_numbers, parcels, note,
    from_time, to_time, requested_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now())
  on conflict (tenant_id, business_id, address_id, day) where state = 'open' do nothing returning pickup_id::text as id`
const lockOpenSql = `
  select pickup_id::text as id, is_all, waybill_numbers, parcels, note from pickups
  where tenant_id = $1 and business_id = $2 and address_id = $3 and day = $4 and state = 'open' for update`
const growSql = `
  update pickups set is_all = $3, waybill_numbers = $4, parcels = $5, note = $6, from_time = coalesce($7, from_time),
    to_time = coalesce($8, to_time)
  where tenant_id = $1 and pickup_id = $2::bigint`

interface Sought {
  readonly id?: string | undefined
  readonly merchantId?: string | undefined
  readonly state?: string | undefined
  readonly day?: string | undefined
  readonly cityId?: number | undefined
}

/** Reads up to 500 pickups: for staff the open ones first, by day and city; for a merchant the newest first. */
export const readPickups = (tx: Tx, tenant: string, sought: Sought): Promise<Pickup[]> => {
  const { id = null, merchantId = null, state = null, day = null, cityId = null } = sought
  const order = merchantId === null ? byUrgency : 'p.pickup_id desc'
  return tx.rows<Pickup>(`${pickupsSql} order by ${order} limit 500`, [tenant, id, merchantId, state, day, cityId])
}

/** Sorts the open ones first, the earliest day first; then those that ended, the latest day first. */
const byUrgency = `p.state <> 'open', case when p.state = 'open' then p.day - date '2020-01-01'
  else date '2020-01-01' - p.day end, city.name, p.pickup_id`

const pickupsSql = `
  select p.pickup_id::float8 as id, p.state, p.day::text, from_time as "from", to_time as "to",
    json_build_object('id', p.merchant_id, 'name', merchant.name) as merchant,
    json_build_object('id', p.business_id, 'name', business.name) as business,
    case when address.address_id is not null then ${addressJson} end as address, is_all as "all", parcels,
    waybill_numbers, p.note, case when p.rider_id is not null
      then json_build_object('id', p.rider_id::text, 'name', staff.name, 'is_active', staff.is_active) end as rider,
    ${isoTime('requested_at')} as requested_at, ${isoTime('ended_at')} as ended_at, ended_by, reason, scanned, missing,
    extra
  from pickups p
    join merchants merchant on merchant.tenant_id = p.tenant_id and merchant.merchant_id = p.merchant_id
    join businesses business on business.tenant_id = p.tenant_id and business.business_id = p.business_id
    left join pickup_addresses address on address.tenant_id = p.tenant_id and address.address_id = p.address_id
    left join cities city on city.tenant_id = address.tenant_id and city.city_id = address.city_id
    left join staff on staff.tenant_id = p.tenant_id and staff.staff_id = p.rider_id
  where p.tenant_id = $1 and ($2::bigint is null or p.pickup_id = $2) and ($3::bigint is null or p.merchant_id = $3)
    and ($4::text is null or p.state = $4) and ($5::date is null or p.day = $5)
    and ($6::integer is null or address.city_id = $6)`

/** Adds what the merchant is to hand over now. */
export const expect = async (tx: Tx, tenant: string, pickup: Pickup): Promise<Expectation> => {
  const { id, waybill_numbers: named } = pickup
  const rows = await tx.rows<{ waybill_number: string; status_key: string }>(expectedSql, [tenant, id, pickable])
  const statuses = await findStatuses(tx, tenant)
  const waits = (key: string) => pickable.includes(key)
  return {
    ...pickup,
    expected: rows.filter(row => waits(row.status_key)).map(row => row.waybill_number),
    gone: rows
      .filter(row => named.includes(row.waybill_number) && !waits(row.status_key))
      .map(row => ({ waybill_number: row.waybill_number, status: nameStatus(row.status_key, statuses) })),
  }
}

const expectedSql = `
  select o.waybill_number, o.status_key from pickups p join orders o on o.tenant_id = p.tenant_id
    and o.merchant_id = p.merchant_id and o.business_id = p.business_id and (
      o.waybill_number = any(p.waybill_numbers)
      or is_all and o.status_key = any($3::text[]) and (
        address_id = 0 or coalesce(booked_with ->> '${bookedField}', address_id::text) = address_id::text))
  where p.tenant_id = $1 and p.pickup_id = $2 and state = 'open' order by o.created_at, o.waybill_number
  limit ${maxParcels * 2}`

/** Writes the entry for the feed, for webhooks, and for messages to the merchant. */
export const logPickup = (tx: Tx, tenant: string, id: string, what: string, actor: string) =>
  tx.client.query(logSql, [tenant, id, `pickup.${what}`, actor])

const logSql = `
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, happened_at, is_relayed, details)
  select $1, p.merchant_id, $3, array[''], array[''], $4, clock_timestamp(),
    not (messaging and merchant.phone is not null),
    jsonb_strip_nulls(jsonb_build_object('pickup_id', p.pickup_id::text, 'day', p.day::text,
      'business_name', business.name, 'address_name', address.name, 'rider', staff.name,
      'parcels', cardinality(scanned)::text, 'missing', cardinality(missing)::text,
      'extra', cardinality(extra)::text, 'reason', reason))
  from pickups p join tenants on tenants.tenant_id = p.tenant_id
    join merchants merchant on merchant.tenant_id = p.tenant_id and merchant.merchant_id = p.merchant_id
    join businesses business on business.tenant_id = p.tenant_id and business.business_id = p.business_id
    left join pickup_addresses address on address.tenant_id = p.tenant_id and address.address_id = p.address_id
    left join staff on staff.tenant_id = p.tenant_id and staff.staff_id = p.rider_id
  where p.tenant_id = $1 and p.pickup_id = $2::bigint returning tenant_id`
