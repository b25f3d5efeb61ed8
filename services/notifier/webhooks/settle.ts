import { isForward, type MessageStatus, type ReportedStatus } from '../messages/status.ts'

/** What the API told of a message. */
export interface Report {
  readonly status: ReportedStatus
  readonly at: Date
  readonly providerMessageId: string
  readonly errorCode: number | null
  readonly errorMeaning: string | null
}

/** In this order the reports of one call leave the fullest timeline, whatever order they came in. */
const order: readonly ReportedStatus[] = ['sent', 'delivered', 'read', 'failed']

/**
 * The reports that move a message on from `from`, one after the other. `known` are those that its timeline has already
 * (`moment`): a repetition means nothing, even when the message was sent again since.
 */
export const settle = (
  from: MessageStatus,
  reports: readonly Report[],
  known: ReadonlySet<string> = new Set(),
): Report[] => {
  const steps: Report[] = []
  const sorted = reports
    .filter(({ status, at }) => !known.has(moment(status, at)))
    .toSorted((a, b) => order.indexOf(a.status) - order.indexOf(b.status) || a.at.getTime() - b.at.getTime())
  for (const report of sorted) if (isForward(steps.at(-1)?.status ?? from, report.status)) steps.push(report)
  return steps
}

/** Names a report among those of one message. */
export const moment = (status: string, at: Date): string => `${status} ${at.getTime()}`
