/** Identifies a person in a conversation with one of our numbers. */
export interface Person {
  readonly tenant: string
  readonly phoneNumberId: string
  /** Holds E.164 digits without the plus, in any spelling, or the user id of a person whose number is unknown. */
  readonly recipient: string
}

export interface Conversation {
  readonly lastInboundAt: Date | null
  readonly optedOutAt: Date | null
  /** Is set while the person is opted out of marketing messages alone. */
  readonly marketingOutAt: Date | null
  /** Says who answers the person: we, or another responder on the number; null while unknown. */
  readonly owner: Owner | null
  readonly ownerAt: Date | null
}

export type Owner = 'ours' | 'other'

/** A person's message opens the conversation with a number for this long (docs/merchants/contract.md#session-rule). */
const windowHours = 24

/** Returns the time when the conversation closes or closed; null means that the person never wrote. */
export const expiresAt = (lastInboundAt: Date | null): Date | null =>
  lastInboundAt && new Date(lastInboundAt.getTime() + windowHours * 3_600_000)

export const isOpen = (lastInboundAt: Date | null, now: Date): boolean => {
  const end = expiresAt(lastInboundAt)
  return end !== null && now < end
}
