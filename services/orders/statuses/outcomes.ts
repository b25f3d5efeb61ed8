import { deliveredKeys, failedAttemptKeys } from './statuses.ts'

// SQL of the events of a tenant, $1, between two times. The text has the keys: with parameters a generic plan could
// not use the partial index of these events.
const literals = (keys: readonly string[]): string => keys.map(key => `'${key}'`).join(', ')

export const fromDeliveries = (first: string, last: string): string => `
  from order_events where tenant_id = $1 and is_counted and status_key in (${literals(deliveredKeys)})
    and happened_at >= ${first} and happened_at < ${last}`

/** An attempt counts where it begins to fail, not at each status on the way back. */
export const fromFailedAttempts = (first: string, last: string): string => `
  from order_events failed left join lateral (
    select status_key from order_events
    where tenant_id = $1 and waybill_number = failed.waybill_number and event_id < failed.event_id
    order by event_id desc limit 1
  ) before on true
  where failed.tenant_id = $1 and failed.is_counted and failed.status_key in (${literals(failedAttemptKeys)})
    and failed.happened_at >= ${first} and failed.happened_at < ${last}
    and (before.status_key is null or before.status_key not in (${literals(failedAttemptKeys)}))`
