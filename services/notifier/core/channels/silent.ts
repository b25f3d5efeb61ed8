/** A number whose accepted messages get no status for this long is silent: its webhooks may not arrive. */
export const silentMinutes = 15
/** A number stays silent for this long after its last accepted message: nothing more can be learned from older ones. */
const silentHours = 24

/**
 * Selects the time of the oldest message that the API accepted on the number of row `c`, if no status of any message of
 * that number has come since, for `silentMinutes`. The minute covers what `signals.ts` leaves out.
 */
export const silentSinceSql = `select min(m.status_at) from messages m
  where m.tenant_id = c.tenant_id and m.phone_number_id = c.phone_number_id and m.status = 'accepted'
    and m.status_at between now() - interval '${silentHours} hours' and now() - interval '${silentMinutes} minutes'
    and m.status_at > coalesce((select s.status_at + interval '1 minute' from channel_signals s
      where s.tenant_id = c.tenant_id and s.phone_number_id = c.phone_number_id), '-infinity')`
