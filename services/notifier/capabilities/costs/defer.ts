import type { ChannelRef } from '../../core/channels/secrets.ts'
import { prepared, type Tx, toColumns } from '../../core/database/tables.ts'
import { isPlain } from '../../core/messaging-api/message-template.ts'
import type { Admission } from '../../core/sending/admission.ts'
import type { DueMessage } from '../../core/sending/message.ts'

export const waitsForBudget = "waits: the month's budget is used up"

/** Is the longest that a message waits once the budget allows it again. */
const budgetSeconds = 600

/** Limits the messages of one number that a statement defers. */
const maxDeferred = 10_000

/**
 * Defers the messages that wait for the budget, with similar ones that are due on the same number, before they cost a
 * token or a recipient's slot: messages that may be sent do not queue behind them.
 */
export const admitWithinBudget: Admission = async (tx, numbers) => {
  const paused = new Set((await findPaused(tx, numbers)).map(toKey))
  if (paused.size === 0) return {}
  const isWaiting = ({ template, waybillNumber, ...message }: DueMessage): boolean =>
    waybillNumber === null &&
    !isPlain(template) &&
    paused.has(toKey({ ...message, name: template.name, language: template.language.code }))
  return {
    defer: async due => {
      const waiting = due.filter(isWaiting)
      if (waiting.length > 0) await postpone(tx, waiting)
      return due.filter(message => !waiting.includes(message))
    },
  }
}

type PausedTemplate = ChannelRef & { readonly name: string; readonly language: string }

const toKey = ({ tenant, phoneNumberId, name, language }: PausedTemplate): string =>
  JSON.stringify([tenant, phoneNumberId, name, language])

const findPaused = (tx: Tx, numbers: readonly ChannelRef[]): Promise<PausedTemplate[]> => {
  const [tenants, ids] = toColumns(numbers, 'tenant', 'phoneNumberId')
  return prepared<PausedTemplate>(tx, 'find_paused')`
    select tenant_id as tenant, phone_number_id as "phoneNumberId", t.name, t.language
    from unnest(${tenants}::text[], ${ids}::text[]) as number (tenant_id, phone_number_id)
      join channels c using (tenant_id, phone_number_id) join templates t using (tenant_id, waba_id)
    where t.budget_paused_at is not null and t.held_at is null`
}

const postpone = async (tx: Tx, waiting: readonly DueMessage[]): Promise<void> => {
  const numbers = [...new Map(waiting.map(message => [`${message.tenant} ${message.phoneNumberId}`, message])).values()]
  await tx.client.query({
    name: 'keep_budget',
    text: `
      with first as materialized (
        select candidate.* from unnest($1::text[], $2::text[]) as number (tenant_id, phone_number_id)
        cross join lateral (
          select m.tenant_id, m.phone_number_id, m.message_id, m.template, m.waybill_number from messages m
          where m.tenant_id = number.tenant_id and m.phone_number_id = number.phone_number_id
            and m.status = 'queued' and m.due_at <= now()
          order by m.due_at
          limit ${maxDeferred}
        ) candidate
      ), paused as materialized (
        select tenant_id, message_id from unnest($3::text[], $4::text[]) as claimed (tenant_id, message_id)
        union
        select f.tenant_id, f.message_id from first f
        join channels c on c.tenant_id = f.tenant_id and c.phone_number_id = f.phone_number_id
        join templates t on t.tenant_id = c.tenant_id and t.waba_id = c.waba_id
          and t.name = f.template ->> 'name' and t.language = f.template -> 'language' ->> 'code'
        where f.waybill_number is null and t.held_at is null and t.budget_paused_at is not null
      ), locked as (
        select m.tenant_id, m.message_id from messages m join paused using (tenant_id, message_id)
        where m.status = 'queued'
        for update of m skip locked
      ), late as (
        update messages m set due_at = now() + make_interval(secs => $5)
        from locked where m.tenant_id = locked.tenant_id and m.message_id = locked.message_id
        returning m.tenant_id, m.message_id
      )
      insert into message_events (tenant_id, message_id, status, detail)
      select tenant_id, message_id, 'queued', $6 from late l
      where not exists (
        select from message_events e where e.tenant_id = l.tenant_id and e.message_id = l.message_id and e.detail = $6
      )`,
    values: [
      ...toColumns(numbers, 'tenant', 'phoneNumberId'),
      ...toColumns(waiting, 'tenant', 'id'),
      budgetSeconds,
      waitsForBudget,
    ],
  })
}
