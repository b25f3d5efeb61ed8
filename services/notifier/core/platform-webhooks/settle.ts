import type { MessageStatus } from '../database/tables.ts'
import { classifyCode } from '../messaging-api/classify.ts'

/** Lists reportable statuses in the order of a full timeline (docs/contributors/messaging-api.md#status-events). */
export const reportedStatuses = ['sent', 'delivered', 'read', 'failed'] as const
export type ReportedStatus = (typeof reportedStatuses)[number]

const steps: Partial<Record<MessageStatus, number>> = { sent: 1, delivered: 2, read: 3 }

/**
 * Returns true if a report moves a message forward. A failure is final unless the message turns out to have
 * been delivered; a delivered one can no longer fail. A report about a cancelled or expired message shows that it was
 * sent after all.
 */
export const isForward = (from: MessageStatus, to: ReportedStatus): boolean => {
  const reached = steps[from] ?? 0
  if (to === 'failed') return from !== 'failed' && reached < 2
  if (from === 'failed') return to !== 'sent'
  return (steps[to] ?? 0) > reached
}

/** Holds the platform's pricing of a message (docs/contributors/messaging-api.md#pricing). */
export interface Pricing {
  readonly category: string
  /** undefined means before July 2025. */
  readonly type: string | undefined
  readonly isFree: boolean
}

export interface Report {
  readonly status: ReportedStatus
  readonly at: Date
  readonly providerMessageId: string
  readonly errorCode: number | null
  readonly errorMeaning: string | null
  readonly pricing?: Pricing | undefined
}

const findRank = ({ status }: Report): number => reportedStatuses.indexOf(status)

/**
 * Returns the reports that move a message on from `from`, one after another. `known` holds the reports that its
 * timeline already has (`updateKey`): a repetition changes nothing, even if the message has been sent again since.
 */
export const settle = (from: MessageStatus, reports: readonly Report[], known: ReadonlySet<string> = new Set()) => {
  const steps: Report[] = []
  const sorted = reports
    .filter(({ status, at }) => !known.has(updateKey(status, at)))
    .toSorted((a, b) => findRank(a) - findRank(b) || a.at.getTime() - b.at.getTime())
  for (const report of sorted) {
    const reached = steps.at(-1)?.status ?? from
    if (isForward(reached, report.status) && !isRetried(reached, report)) steps.push(report)
  }
  return steps
}

/** Returns true for a failure of a waiting message that the queue retries, as it retries the same refusal. */
const isRetried = (reached: MessageStatus, { status, errorCode: code }: Report): boolean =>
  status === 'failed' &&
  (reached === 'queued' || reached === 'held') &&
  !['permanent', 'hold_template'].includes(classifyCode(code).class)

export const updateKey = (status: string, at: Date): string => `${status} ${at.getTime()}`
