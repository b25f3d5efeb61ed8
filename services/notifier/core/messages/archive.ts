import { query } from '@courier/shared/postgres/database.ts'
import { deleteRows, type TakeOld } from '@courier/shared/postgres/old-rows.ts'
import { outQueue } from '../database/tables.ts'
import { idsFrom } from './insert.ts'

/** Lists the statuses of messages that have left the queue, except `unknown`, which staff settle. */
const finished = outQueue.filter(status => status !== 'unknown')

const messagesAtOnce = 5_000

export const takeMessages: TakeOld = async (tx, tenant, days, [after = '']) => {
  const before = idsFrom(new Date(Date.now() - days * 86_400_000))
  const found = await query<{ id: string }>(tx)`
    select message_id as id from messages
    where tenant_id = ${tenant} and message_id > ${after} and message_id < ${before}
      and status = any(${finished}::text[]) and status_at < now() - make_interval(days => ${days})
    order by message_id limit ${messagesAtOnce} for update skip locked`
  const ids = found.map(({ id }) => id)
  const take = (table: string) => deleteRows(tx, tenant, [table, 'message_id'], ids)
  const rows = { messages: await take('messages'), message_events: await take('message_events') }
  return { rows, next: ids.length < messagesAtOnce ? undefined : ids.slice(-1) }
}
