/** Every status of a message, in the order of its life. */
export const messageStatuses = [
  'queued',
  'held',
  'sending',
  'unknown',
  'accepted',
  'sent',
  'delivered',
  'read',
  'failed',
  'cancelled',
  'expired',
] as const
export type MessageStatus = (typeof messageStatuses)[number]

/** What a webhook may tell of a message (messaging-api 4.4). */
export const reportedStatuses = ['sent', 'delivered', 'read', 'failed'] as const
export type ReportedStatus = (typeof reportedStatuses)[number]

const steps: Partial<Record<MessageStatus, number>> = { accepted: 1, sent: 2, delivered: 3, read: 4 }

/**
 * Whether a report moves a message on: forward only. A failure is final unless the message turns out to have been
 * delivered; one that was delivered cannot fail any more. What was given up (cancelled, expired) and still reported was
 * sent all the same.
 */
export const isForward = (from: MessageStatus, to: ReportedStatus): boolean => {
  const reached = steps[from] ?? 0
  if (to === 'failed') return from !== 'failed' && reached < 3
  if (from === 'failed') return to !== 'sent'
  return (steps[to] ?? 0) > reached
}
