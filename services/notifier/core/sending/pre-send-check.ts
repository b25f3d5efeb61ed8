import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { isOpen } from '../conversations/conversation.ts'
import { lockConversations } from '../conversations/queries.ts'
import { prepared, type Tx } from '../database/tables.ts'
import { isPlain } from '../messaging-api/message-template.ts'
import type { ClaimedMessage } from './message.ts'

type BlockReason =
  | { kind: 'cancelled'; detail: string }
  | { kind: 'failed'; detail: string }
  | { kind: 'held'; detail: string }
  /** Makes the message due again after `seconds`, without counting an attempt. */
  | { kind: 'deferred'; seconds: number; detail?: string }

type DueToCheck = Pick<
  ClaimedMessage,
  | 'conversation'
  | 'plan'
  | 'holdsUntilOpen'
  | 'isExempt'
  | 'isMarketing'
  | 'isTemplateHeld'
  | 'supersededBy'
  | 'template'
>

/** Returns the reason that blocks a message; undefined if it may be sent. */
export const findBlockReason = (message: DueToCheck, now: Date): BlockReason | undefined => {
  const { conversation, plan, holdsUntilOpen } = message
  if (message.supersededBy) return { kind: 'cancelled', detail: message.supersededBy }
  if (conversation?.optedOutAt && !message.isExempt)
    return { kind: 'cancelled', detail: 'the person asked for no more messages' }
  if (conversation?.marketingOutAt && message.isMarketing)
    return { kind: 'cancelled', detail: 'the person asked for no marketing messages' }
  const needsOpen = plan === 'free' || isPlain(message.template)
  if (needsOpen && !isOpen(conversation?.lastInboundAt ?? null, now))
    return holdsUntilOpen
      ? { kind: 'held', detail: 'waits for the customer to write' }
      : { kind: 'failed', detail: 'No conversation was open when it was due.' }
  if (isPlain(message.template) && conversation?.owner === 'other' && !message.template.takesOver)
    return { kind: 'held', detail: 'waits: another responder answers this conversation' }
  return message.isTemplateHeld ? { kind: 'deferred', seconds: 60 } : undefined
}

export interface Blocked {
  readonly message: ClaimedMessage
  readonly reason: BlockReason
}

/** Stores blocked messages. Checks each again with its conversation locked: the customer may have written. */
export const storeBlocked = async (pool: pg.Pool, blocked: readonly Blocked[], now: Date): Promise<void> => {
  for (const { message, reason } of blocked)
    await inTenant(pool, message.tenant, async (tx: Tx) => {
      const { tenant, phoneNumberId, recipient, id, fence } = message
      const conversations = await lockConversations(tx, tenant, phoneNumberId, [recipient])
      const current = findBlockReason({ ...message, conversation: conversations.get(recipient) }, now)
      const stored = current?.kind === reason.kind ? reason : { kind: 'deferred' as const, seconds: 0 }
      const seconds = stored.kind === 'deferred' ? stored.seconds : 0
      const status = stored.kind === 'deferred' ? 'queued' : stored.kind
      const detail = stored.detail ?? null
      await prepared(tx, 'store_blocked')`
        with blocked as (
          update messages m set status = ${status}, status_at = now(), fence = m.fence + 1,
            due_at = now() + make_interval(secs => ${seconds}),
            error_meaning = case when ${status} = 'failed' then ${detail} end
          where m.tenant_id = ${tenant} and m.message_id = ${id} and m.fence = ${fence}::bigint and m.status = 'queued'
          returning m.tenant_id, m.message_id, m.status
        )
        insert into message_events (tenant_id, message_id, status, detail)
        select tenant_id, message_id, status, ${detail} from blocked where status <> 'queued'`
    })
}
