import type { Tx } from '../database/tables.ts'

/** An event that makes messages about its waybill untrue. */
export interface Superseding {
  readonly waybill: string
  /** The events of the rules that made the messages. */
  readonly events: readonly string[]
  /** The id of a message of the same transaction: that one and later ones stay. */
  readonly before: string
  /** The rule's own event, for the timeline. */
  readonly by: string
}

/**
 * Cancels waiting messages, and prevents those in flight from being resent. Locks them in their keys' order, and finds
 * them by the waybill's index, whatever the statistics of the tables.
 */
export const supersede = async (tx: Tx, tenant: string, given: readonly Superseding[]): Promise<void> => {
  if (given.length === 0) return
  await tx.client.query({
    name: 'supersede',
    text: `
      with untrue as (
        select message.message_id, min(given.by) as by
        from jsonb_to_recordset($2::jsonb) as given (waybill text, events text[], before text, by text)
        cross join lateral (
          select m.message_id from messages m
          where m.tenant_id = $1 and m.waybill_number = given.waybill and m.rule_event = any(given.events)
            and m.status in ('queued', 'held', 'sending', 'unknown') and m.superseded_by is null
            and (m.created_at < now() or m.message_id < given.before)
          offset 0
        ) message
        group by message.message_id
      ), locked as (
        select m.message_id, 'superseded by ' || untrue.by as detail
        from messages m join untrue using (message_id) where m.tenant_id = $1 order by m.message_id for update of m
      ), superseded as (
        update messages m set superseded_by = locked.detail,
          status = case when m.status in ('queued', 'held') then 'cancelled' else m.status end,
          status_at = case when m.status in ('queued', 'held') then now() else m.status_at end,
          fence = case when m.status in ('queued', 'held') then m.fence + 1 else m.fence end
        from locked where m.tenant_id = $1 and m.message_id = locked.message_id
          and m.status in ('queued', 'held', 'sending', 'unknown')
        returning m.message_id, m.status, m.superseded_by
      )
      insert into message_events (tenant_id, message_id, status, detail)
      select $1, message_id, status, superseded_by from superseded where status = 'cancelled'`,
    values: [tenant, JSON.stringify(given)],
  })
}
