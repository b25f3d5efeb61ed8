import type { Conversation } from '../conversations/conversation.ts'
import type { Hours } from '../messages/hours.ts'
import type { Content } from '../messaging-api/message-template.ts'

/** A message whose time has come. */
export interface DueMessage {
  readonly tenant: string
  readonly id: string
  readonly phoneNumberId: string
  readonly recipient: string
  readonly template: Content
  readonly attempts: number
  readonly fence: string
  readonly holdsUntilOpen: boolean
  /** It goes to a person who opted out, too. */
  readonly isExempt: boolean
  readonly hours: Hours | null
  /** Why it is not sent any more. */
  readonly supersededBy: string | null
  /**
   * refused: by the API; the message waits until the catalogue approves its template again. budget: it is a marketing message
   * about no parcel, and the tenant's budget is used up.
   */
  readonly templateHold: 'refused' | 'budget' | null
  readonly waybillNumber: string | null
  readonly traceparent: string | null
}

/** A message that this process sends, with what the pre-send check looks at. */
export interface ClaimedMessage extends Omit<DueMessage, 'waybillNumber'> {
  readonly waybillNumber?: string | null
  readonly plan: 'free' | 'paid'
  readonly conversation: Conversation | undefined
  /** Looked up for people who opted out of marketing messages; else false. */
  readonly isMarketing: boolean
  /** By Postgres' clock. */
  readonly claimedAt: Date
}
