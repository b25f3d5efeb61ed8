import type { Conversation } from '../conversations/conversation.ts'
import type { CheckedMessage } from '../messages/check.ts'

export interface DueMessage extends Omit<CheckedMessage, 'sendAt' | 'isHeld' | 'waitsFor' | 'source'> {
  readonly tenant: string
  readonly id: string
  readonly attempts: number
  readonly fence: string
  readonly supersededBy: string | null
  /** Is true until the refused template is approved again. */
  readonly isTemplateHeld: boolean
  readonly traceparent: string | null
}

/** Adds the data of the pre-send check to a message that this process sends. */
export interface ClaimedMessage extends Omit<DueMessage, 'waybillNumber'> {
  readonly waybillNumber?: string | null
  readonly plan: 'free' | 'paid'
  readonly conversation: Conversation | undefined
  /** Is reliable only for people who opted out of marketing messages. */
  readonly isMarketing: boolean
  /** Comes from Postgres' clock. */
  readonly claimedAt: Date
}
