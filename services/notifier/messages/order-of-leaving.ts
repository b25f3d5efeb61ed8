import type { Tx } from '../database/tables.ts'
import type { Due } from './claim.ts'

/** A message waits this long at most for those before it: a template that is held must not silence an order. */
const longestWaitMinutes = 15

/**
 * Of the messages about one waybill to one recipient lets the oldest go, and puts the later ones back while it is queued,
 * tried again or on its way: they leave in the order of their making. Waiting does not count as an attempt.
 */
export const letGoFirst = async (tx: Tx, claimed: readonly Due[]): Promise<Due[]> => {
  const about = claimed.filter(({ waybillNumber }) => waybillNumber !== null)
  if (about.length === 0) return [...claimed]
  const { rows } = await tx.client.query({
    name: 'let_go_first',
    // A failed send is awaited until its next attempt; whatever else leaves soon is looked for every second.
    text: `
      with later as (
        select m.tenant_id, m.message_id, least(m.status_at + make_interval(mins => $3::integer), max(
          case when e.status = 'queued' and e.attempts > 0 then greatest(e.due_at, now()) else now() end
            + interval '1 second')) as due_at
        from unnest($1::text[], $2::text[]) as given (tenant_id, message_id)
        join messages m using (tenant_id, message_id)
        join messages e on e.tenant_id = m.tenant_id and e.waybill_number = m.waybill_number
          and e.phone_number_id = m.phone_number_id and e.recipient = m.recipient
          and (e.created_at, e.message_id) < (m.created_at, m.message_id)
          and coalesce(e.status, '') in ('queued', 'sending') and (e.send_at is null or e.send_at <= now())
        where m.status_at > now() - make_interval(mins => $3::integer)
        group by m.tenant_id, m.message_id, m.status_at
      )
      update messages m set due_at = later.due_at
      from later where m.tenant_id = later.tenant_id and m.message_id = later.message_id
      returning m.tenant_id || ' ' || m.message_id as key`,
    values: [about.map(message => message.tenant), about.map(message => message.id), longestWaitMinutes],
  })
  const isLater = new Set<string>(rows.map(row => row.key))
  return claimed.filter(({ tenant, id }) => !isLater.has(`${tenant} ${id}`))
}
