import type { Conversation } from '../conversations/conversation.ts'
import type { CheckedMessage } from '../messages/check.ts'

export interface DueMessage extends Omit<CheckedMessage, 'sendAt' | 'isHeld' | 'waitsFor' | 'source'> {
  readonly tenant: string
  readonly id: string
  readonly attempts: number
  readonly fence: string
  readonly supersededBy: string | null
  /** refused: by the API, until its template is approved again. budget: marketing about no parcel, budget used up. */
  readonly templateHold: 'refused' | 'budget' | null
  readonly traceparent: string | null
}

/** A message that this process sends, with the data of the pre-send check. */
export interface ClaimedMessage extends Omit<DueMessage, 'waybillNumber'> {
  readonly waybillNumber?: string | null
  readonly plan: 'free' | 'paid'
  readonly conversation: Conversation | undefined
  /** Computed only for people who opted out of marketing messages; else false. */
  readonly isMarketing: boolean
  /** The time by Postgres' clock. */
  readonly claimedAt: Date
}
