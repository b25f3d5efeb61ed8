/** A person's message opens the conversation with a number for this long (spec.md 8, messaging-api 5). */
export const windowHours = 24

/** When the conversation closes, or closed; null: the person never wrote. */
export const expiresAt = (lastInboundAt: Date | null): Date | null =>
  lastInboundAt && new Date(lastInboundAt.getTime() + windowHours * 3_600_000)

export const isOpen = (lastInboundAt: Date | null, now: Date): boolean => {
  const end = expiresAt(lastInboundAt)
  return end !== null && now < end
}
