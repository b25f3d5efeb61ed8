import { inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import { lockConversations } from '../conversations/queries.ts'
import { isOpen } from '../conversations/window.ts'
import type { Tx } from '../database/tables.ts'
import type { ClaimedMessage } from './claim.ts'

/** What keeps a due message from leaving. */
export type Obstacle =
  | { kind: 'cancelled'; detail: string }
  | { kind: 'failed'; detail: string }
  | { kind: 'held'; detail: string }
  /** Looked at again after so many seconds; not an attempt. */
  | { kind: 'wait'; seconds: number }

/** Why a message must not leave now; undefined when it may. Pure. */
export const obstacleOf = (message: ClaimedMessage, now: Date): Obstacle | undefined => {
  const { conversation, plan, holdsUntilOpen } = message
  if (conversation?.optedOutAt) return { kind: 'cancelled', detail: 'the person asked for no more messages' }
  if (plan === 'free' && !isOpen(conversation?.lastInboundAt ?? null, now))
    return holdsUntilOpen
      ? { kind: 'held', detail: 'waits for the customer to write' }
      : { kind: 'failed', detail: 'No conversation was open when it was due.' }
  return message.isTemplateHeld ? { kind: 'wait', seconds: 60 } : undefined
}

export interface Blocked {
  readonly message: ClaimedMessage
  readonly obstacle: Obstacle
}

/**
 * Stores what became of messages that must not leave. One that is to be held is looked at once more with its
 * conversation locked: the customer may have written meanwhile, and then it stays due.
 */
export const storeBlocked = async (pool: pg.Pool, blocked: readonly Blocked[]): Promise<void> => {
  for (const { message, obstacle } of blocked)
    await inTenant(pool, message.tenant, async (tx: Tx) => {
      const { tenant, phoneNumberId, recipient, id, fence } = message
      const conversations = await lockConversations(tx, tenant, phoneNumberId, [recipient])
      const current = obstacleOf({ ...message, conversation: conversations.get(recipient) }, new Date())
      const { kind } = current?.kind === obstacle.kind ? current : { kind: 'wait' as const }
      const seconds = obstacle.kind === 'wait' ? obstacle.seconds : 0
      const status = kind === 'wait' ? 'queued' : kind
      const detail = obstacle.kind === 'wait' ? null : obstacle.detail
      await tx.client.query({
        name: 'store_blocked',
        text: `
          with blocked as (
            update messages m set status = $4, status_at = now(), due_at = now() + make_interval(secs => $5),
              error_meaning = case when $4 = 'failed' then $6 end
            where m.tenant_id = $1 and m.message_id = $2 and m.fence = $3::bigint and m.status = 'queued'
            returning m.tenant_id, m.message_id, m.status
          )
          insert into message_events (tenant_id, message_id, status, detail)
          select tenant_id, message_id, status, $6 from blocked where status <> 'queued'`,
        values: [tenant, id, fence, status, seconds, detail],
      })
    })
}
