import { prepared, type Tx, toColumns } from '../../core/database/tables.ts'

/** Makes earlier messages that wait for other parcels leave no later than the messages of a later event. */
export const endWindows = async (
  tx: Tx,
  tenant: string,
  later: readonly { waybill: string; before: string }[],
): Promise<void> => {
  const [waybills, ids] = toColumns(later, 'waybill', 'before')
  await prepared(tx, 'end_windows')`
    with later as (
      select waybill, before, min(m.due_at) as due_at
      from unnest(${waybills}::text[], ${ids}::text[]) as given (waybill, before) join messages m
        on m.tenant_id = ${tenant} and m.waybill_number = waybill and m.message_id >= before and m.status = 'queued'
      group by waybill, before
    ), locked as (
      select m.message_id, m.waybill_number, m.created_at < now() as is_older from messages m
      where tenant_id = ${tenant} and waybill_number = any(${waybills}::text[])
        and joins is not null and status = 'queued'
      order by message_id for update
    )
    update messages m set due_at = ending.due_at, send_at = ending.due_at
    from (
      select message_id, min(due_at) as due_at from locked
      join later on waybill = waybill_number and (is_older or message_id < before)
      group by message_id
    ) ending
    where m.tenant_id = ${tenant} and m.message_id = ending.message_id and m.due_at > ending.due_at`
}
