import { randomBytes } from 'node:crypto'

export const messageIdPattern = '^msg_[0-9a-z]{25}$'

/** That many ids, which sort in their order. */
export const newMessageIds = (count: number, now: Date): string[] =>
  Array.from({ length: count }, () => newMessageId(now)).sort()

/** An id that sorts by the time of its making: `msg_`, 9 characters of milliseconds, 16 of chance. */
const newMessageId = (now: Date): string =>
  `msg_${now.getTime().toString(36).padStart(9, '0')}${randomBytes(8).toString('hex')}`
