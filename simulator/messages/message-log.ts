import { createRing } from '../basics/ring.ts'
import type { Message } from './message.ts'

/** The last accepted messages. Older ones are forgotten; their remaining statuses are still sent. */
export interface MessageLog {
  add(message: Message): void
  find(id: string): Message | undefined
  /** Newest first. */
  list(filter: MessageFilter): Generator<Message>
  /** The newest message to a recipient. */
  lastTo(phoneNumberId: string, to: string): Message | undefined
  accepted(): number
}

interface MessageFilter {
  to?: string | undefined
  phoneNumberId?: string | undefined
}

/** A message takes about 1 KB. */
const capacity = 50_000

export const createMessageLog = (): MessageLog => {
  const ring = createRing<Message>(capacity)
  const byId = new Map<string, Message>()
  let accepted = 0

  const passes = (message: Message, { to, phoneNumberId }: MessageFilter): boolean =>
    (to === undefined || message.to === to) && (phoneNumberId === undefined || message.phoneNumberId === phoneNumberId)

  function* list(filter: MessageFilter) {
    for (const message of ring.newestFirst()) if (passes(message, filter)) yield message
  }

  return {
    add(message) {
      const evicted = ring.push(message)
      if (evicted) byId.delete(evicted.id)
      byId.set(message.id, message)
      accepted += 1
    },
    find: id => byId.get(id),
    list,
    lastTo: (phoneNumberId, to) => list({ phoneNumberId, to }).next().value ?? undefined,
    accepted: () => accepted,
  }
}
