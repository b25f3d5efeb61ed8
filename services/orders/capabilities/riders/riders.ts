import { httpError } from '@courier/shared/errors/errors.ts'
import { isoTime } from '../../core/database/iso-time.ts'
import type { Tx } from '../../core/database/tables.ts'
import { isOpenSql } from '../../core/statuses/status-queries.ts'
import { deliveredKeys, failedAttemptKeys } from '../../core/statuses/statuses.ts'

/** Describes the member of staff who carries parcels. */
export interface Rider {
  readonly id: string
  readonly name: string
}

/** Finds the account behind a token. Throws for a token that the operator made: it can have no parcels. */
export const findRider = async (tx: Tx, tenant: string, tokenId: string): Promise<Rider> => {
  const [rider] = await tx.rows<Rider>({ name: 'find_rider', text: riderSql, values: [tenant, tokenId] })
  if (!rider) throw httpError('role_forbidden', 'This token has no account: log in as a member of staff.')
  return rider
}

const riderSql = `
  select staff.staff_id::text as id, staff.name from tokens join staff
    on staff.tenant_id = tokens.tenant_id and staff.staff_id = tokens.staff_id
  where tokens.tenant_id = $1 and token_id = $2`

/**
 * Builds a `from` clause with the parcels of riders of the tenant $1 that are under way or ended today, by the
 * company's day. Someone who left keeps parcels until they are given to others.
 */
export const fromToday = `
  from rider_parcels parcel join orders on orders.tenant_id = parcel.tenant_id
    and orders.waybill_number = parcel.waybill_number
  where parcel.tenant_id = $1 and (
    ${isOpenSql} or exists (
      select from order_events event
      where event.tenant_id = $1 and event.waybill_number = parcel.waybill_number and happened_at >= (
          select date_trunc('day', now() at time zone time_zone) at time zone time_zone from tenants
          where tenant_id = $1
        )
    ))`

export const findName = (id: string, alias = 'staff'): string =>
  `(select ${alias}.name from staff ${alias} where ${alias}.tenant_id = $1 and ${alias}.staff_id = ${id})`

export interface RiderDay extends Rider {
  readonly is_active: boolean
  readonly to_do: number
  readonly done: number
  readonly failed: number
  readonly refused: number
  readonly last_act_at: string | null
}

/** Lists the riders, and who has parcels or acts that wait, with their day. */
export const listRiders = (tx: Tx, tenant: string): Promise<RiderDay[]> =>
  tx.rows({ name: 'list_riders', text: ridersSql, values: [tenant, deliveredKeys, failedAttemptKeys] })

const ridersSql = `
  select staff_id::text as id, name, is_active, coalesce(to_do, 0) as to_do, coalesce(done, 0) as done,
    coalesce(failed, 0) as failed, coalesce(refused, 0) as refused, ${isoTime('last_at')} as last_act_at
  from staff left join (
    select rider_id, count(*) filter (where ${isOpenSql} and status_key <> all($3::text[]))::int as to_do,
      count(*) filter (where status_key = any($2::text[]))::int as done,
      count(*) filter (
        where status_key <> all($2::text[]) and (status_key = any($3::text[]) or not ${isOpenSql})
      )::int as failed
    ${fromToday} group by rider_id
  ) parcels on parcels.rider_id = staff_id left join (
    select rider_id, max(received_at) as last_at,
      count(*) filter (where code is not null and decision is null)::int as refused
    from rider_acts where tenant_id = $1 group by rider_id
  ) acts on acts.rider_id = staff_id
  where staff.tenant_id = $1 and ('rider' = any(coalesce(roles, array[role])) and is_active
    or parcels.rider_id is not null or refused > 0)
  order by name`
