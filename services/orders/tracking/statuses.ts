/** The statuses that a merchant may choose at creation (spec.md 3): DRAFT, the default, and CONFIRMED. */
export const initialStatusKeys = ['key_1', 'key_2'] as const
export type InitialStatusKey = (typeof initialStatusKeys)[number]
