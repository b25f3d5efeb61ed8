import type { CheckedMessage } from './check.ts'

/** Limits what a rule makes; `event` is null for a message that the notifier makes itself. */
export interface ExpiringRule {
  readonly event: string | null
  readonly expires_after_hours: number | null
}

/** A message expires this long after it is due, and an older event makes none: its news would confuse by then. */
export const expiryHours = 24

/**
 * Decides when a new message expires: so many hours from a time; null means from now. The limit of a rule counts from
 * the event: hours that begin late do not extend it. A window that gathers messages is no delay.
 */
export const decideExpiry = ({ sendAt, joins }: CheckedMessage, rule: ExpiringRule | undefined) => {
  const hours = rule?.expires_after_hours ?? null
  const isFromEvent = (rule?.event ?? null) !== null && (joins === null || hours !== null)
  return { expiresFrom: isFromEvent ? null : sendAt, expiresAfter: hours ?? expiryHours }
}

/** Is the expiry, as SQL, of a message that staff send again. */
export const resentExpirySql = `now() + interval '${expiryHours} hours'`

/** Is the expiry, as SQL, of the message `m` that waits until `later.due_at`. A rule's own time limit stays. */
export const laterExpirySql = `case when exists (
    select from rules r where r.tenant_id = m.tenant_id and r.event = m.rule_event and r.expires_after_hours is not null
  ) then m.expires_at else greatest(m.expires_at, later.due_at + interval '${expiryHours} hours') end`
