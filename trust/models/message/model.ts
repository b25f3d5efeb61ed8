export const reports = ['sent', 'delivered', 'read', 'failed'] as const
type Reported = (typeof reports)[number]

export interface Message {
  name: string
  id: string
  waybill: string | null
  status: string
  attempts: number
  /** true: the message was refused temporarily, and is not due before its wait is over. */
  waits: boolean
  /** true: the message has been unknown for ten minutes. */
  isGivenUp: boolean
  wasResentBySweep: boolean
  /** Lists the sends that took effect. */
  sends: Send[]
}

interface Send {
  /** true: the notifier has learned the send's id. */
  isKnown: boolean
  /** true: the message was queued again after this send. */
  isFormer: boolean
}

export interface State {
  resends: boolean
  recipient: string
  messages: Message[]
  /** Lists the fates of the next sends. */
  fates: string[]
  /** Lists the names of the messages that arrived, in the order of arrival. */
  arrived: string[]
  /** Gives each report a second of its own. */
  second: number
  reported: { text: string; body: string }[]
}

const rank: Record<string, number> = { accepted: 1, sent: 2, delivered: 3, read: 4 }
/** Returns true if a report may change the status (docs/contributors/messaging-api.md#status-events). */
const isForward = (from: string, to: Reported): boolean => {
  if (to === 'failed') return from !== 'failed' && (rank[from] ?? 0) < 3
  return from === 'failed' ? to !== 'sent' : (rank[to] ?? 0) > (rank[from] ?? 0)
}

/** Returns true if a later message about the same waybill waits for this one. */
const holdsBack = ({ status, isGivenUp }: Message): boolean =>
  status === 'queued' || (status === 'unknown' && !isGivenUp)
/** Sends the messages that may be sent now, the oldest one of each waybill first. */
export const sendDue = (state: State): void => {
  for (const [index, message] of state.messages.entries()) {
    const { waybill, status, waits } = message
    const isLater = state.messages.slice(0, index).some(other => other.waybill === waybill && holdsBack(other))
    if (status === 'queued' && !waits && (waybill === null || !isLater)) send(state, message)
  }
}
const send = (state: State, message: Message): void => {
  const fate = state.fates.shift() ?? 'accepted'
  if (fate === 'accepted' || fate === 'lost') {
    state.arrived.push(message.name)
    message.sends.push({ isKnown: fate === 'accepted', isFormer: false })
  }
  if (fate === 'busy' && message.attempts < 7) message.waits = true
  else message.status = { accepted: 'accepted', refused: 'failed', busy: 'failed' }[fate] ?? 'unknown'
  if (fate === 'busy' || fate === 'refused') message.attempts++
}

export const accept = (state: State, id: string, waybill: string | null): void => {
  const made = { name: `M${state.messages.length + 1}`, id, waybill, status: 'queued', attempts: 0 }
  state.messages.push({ ...made, waits: false, isGivenUp: false, wasResentBySweep: false, sends: [] })
}
/** Gives up an unknown message, or resends it once if the setting says so and no later one about its waybill left. */
export const giveUp = ({ resends, messages }: State, message: Message): void => {
  message.isGivenUp = true
  const later = messages.slice(messages.indexOf(message) + 1).filter(({ waybill }) => waybill === message.waybill)
  if (!resends || message.wasResentBySweep || (message.waybill !== null && later.some(hasLeft))) return
  queueAgain(message)
  message.wasResentBySweep = true
}
export const mayResend = ({ status, isGivenUp }: Message): boolean =>
  status === 'failed' || (status === 'unknown' && isGivenUp)
export const resend = (message: Message): void => {
  queueAgain(message)
  message.attempts = 0
}
const queueAgain = (message: Message): void => {
  for (const sent of message.sends) sent.isFormer = true
  Object.assign(message, { status: 'queued', waits: false, isGivenUp: false })
}

/** Applies a webhook's report on one of the message's sends. From a former send, only an arrival counts. */
export const report = (message: Message, sent: Send, to: Reported): void => {
  const counts = !sent.isFormer || to === 'delivered' || to === 'read'
  if (counts && isForward(message.status, to)) Object.assign(message, { status: to, waits: false })
  if (!sent.isFormer) sent.isKnown = true
}

const hasLeft = (message: Message): boolean =>
  isCertain(message) || message.status === 'unknown' || (rank[message.status] ?? 0) > 0
const isCertain = ({ sends }: Message): boolean => sends.some(({ isKnown, isFormer }) => isKnown && !isFormer)
/**
 * Lists the reportable sends. Leaves out an earlier send whose id was never learned while the current send's id is
 * unknown: nothing distinguishes the two.
 */
export const reportable = ({ messages }: State): { message: Message; sent: Send; nth: number }[] =>
  messages.flatMap(message =>
    message.sends.flatMap((sent, nth) =>
      sent.isFormer && !sent.isKnown && !isCertain(message) ? [] : [{ message, sent, nth }],
    ),
  )
