import type { Conversation } from '../conversations/conversation.ts'
import type { Hours } from '../messages/hours.ts'
import type { Content } from '../messaging-api/message-template.ts'

export interface DueMessage {
  readonly tenant: string
  readonly id: string
  readonly phoneNumberId: string
  readonly recipient: string
  readonly template: Content
  readonly attempts: number
  readonly fence: string
  readonly holdsUntilOpen: boolean
  readonly isExempt: boolean
  readonly hours: Hours | null
  readonly supersededBy: string | null
  /** refused: by the API, until its template is approved again. budget: marketing about no parcel, budget used up. */
  readonly templateHold: 'refused' | 'budget' | null
  readonly waybillNumber: string | null
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
