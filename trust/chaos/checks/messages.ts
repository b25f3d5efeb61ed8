import { type Check, compareCounts, type StoredMessage } from '../evidence.ts'
import { groupIntents } from '../history.ts'

const indexById = (messages: readonly StoredMessage[]) => new Map(messages.map(message => [message.id, message]))

/** Lists the events that make a message, by the rules of trust/chaos/bed.ts. */
const eventsWithRules = ['order.created', 'key_3', 'key_12', 'key_13']

/** Requires that each event is processed once and makes exactly one message. */
export const eventsMakeTheirMessagesOnce: Check = ({ orders, timeline, messages }) => {
  const events = [...orders.map(({ waybill }) => ({ waybill, status: 'order.created' })), ...timeline]
  const due = events
    .filter(({ status }) => eventsWithRules.includes(status))
    .map(({ waybill, status }) => `${waybill} ${status}`)
  const made = messages
    .filter(({ event }) => eventsWithRules.includes(event ?? ''))
    .map(({ waybill, event }) => `${waybill} ${event}`)
  return compareCounts([...new Set(due)], made).map(([event, times, count]) =>
    times === 0 ? `a message is about ${event}, which never happened` : `${event} made ${count} messages`,
  )
}

export const noMessageTwiceOnTheWire: Check = ({ messages, wire }) => {
  const stored = indexById(messages)
  return [...Map.groupBy(wire, ({ message }) => message)].flatMap(([id, arrivals]) => {
    const message = stored.get(id)
    if (!message) return [`${id} arrived at the API and is not stored`]
    const most = 1 + message.resends
    return arrivals.length > most ? [`${id} arrived ${arrivals.length} times and was sent ${most} times`] : []
  })
}

/**
 * Requires that a message is resent at most as often as staff requested it, and at least once if a request was
 * acknowledged.
 */
export const resendsAreAskedFor: Check = ({ history, messages }) => {
  const asked = Map.groupBy(
    history.filter(({ what }) => what === 'resend'),
    call => call.asked,
  )
  return messages.flatMap(({ id, resends }) => {
    const calls = asked.get(id) ?? []
    const most = calls.filter(({ ending }) => ending !== 'refused').length
    // The second of two concurrent requests finds the message queued already, and gets 200 too.
    const least = calls.some(({ ending }) => ending === 'done') ? 1 : 0
    return resends < least || resends > most
      ? [`${id} was sent again by staff ${resends} times, and they asked for it ${most} times`]
      : []
  })
}

/** Requires that the response to a send names a stored message for each requested one. */
export const sendsNameTheirMessages: Check = ({ history, messages }) => {
  const stored = indexById(messages)
  return groupIntents(history)
    .filter(({ what, ending }) => what === 'send' && ending === 'done')
    .flatMap(({ name, parts, calls }) => {
      const sent = [calls.find(({ ending }) => ending === 'done')?.data].flat() as ({ id?: string } | null)[]
      const ids = new Set(sent.map(message => message?.id ?? '').filter(id => stored.has(id)))
      return ids.size === parts.length && sent.length === parts.length
        ? []
        : [
            `the response to ${name} names ${sent.length} messages, of which ${ids.size} are stored, not ${parts.length}`,
          ]
    })
}

const arrived = ['accepted', 'sent', 'delivered', 'read']

const hasNotArrived = ['unknown', 'failed', 'cancelled', 'expired', 'queued', 'held']

/**
 * Requires true statuses after all webhooks have arrived, except the ones that were given up: exactly the messages that
 * arrived count as arrived.
 */
export const statusesAreTrue: Check = ({ messages, wire, givenUp }) => {
  const arrivedIds = new Set(wire.map(({ message }) => message))
  const unreported = new Set(givenUp.map(({ message }) => message))
  return messages.flatMap(({ id, status, isCancelled, joinedTo }) => {
    if (arrived.includes(status) && !arrivedIds.has(id) && !arrivedIds.has(joinedTo ?? ''))
      return [`${id} is ${status} and never arrived`]
    if (isCancelled && arrivedIds.has(id)) return [`${id} was cancelled by staff and arrived`]
    const mayBeUnknown = status === 'unknown' && unreported.has(id)
    if (!mayBeUnknown && arrivedIds.has(id) && hasNotArrived.includes(status))
      return [`${id} is ${status}, and it arrived`]
    return []
  })
}

/**
 * Requires that a message with another one's parcel names both, went to the same person, and has the same status: each
 * parcel is in a message that arrived.
 */
export const parcelsAreInTheirMessage: Check = ({ messages, wire }) => {
  const stored = indexById(messages)
  const texts = Map.groupBy(wire, ({ message }) => message)
  return messages.flatMap(({ id, waybill, person, status, joinedTo }) => {
    if (!joinedTo) return []
    const carrier = stored.get(joinedTo)
    if (carrier?.person !== person || carrier.status !== status)
      return [`${id} to ${person} is ${status}, and joined ${joinedTo} to ${carrier?.person}, ${carrier?.status}`]
    const names = (text = ''): boolean => [waybill, carrier.waybill].every(each => text.includes(each ?? ''))
    return arrived.includes(status) && !texts.get(joinedTo)?.some(({ text }) => names(text))
      ? [`${joinedTo} arrived without ${waybill}, whose message joined it`]
      : []
  })
}

/**
 * Requires that messages of rules arrive in the order of their waybill's events. A resent message may arrive at any
 * time.
 */
export const messagesKeepTheirOrder: Check = ({ messages, timeline, wire }) => {
  const positions = new Map<string, number>()
  const steps = Map.groupBy(timeline, ({ waybill }) => waybill)
  for (const [waybill, all] of steps)
    for (const [n, { status }] of all.entries()) positions.set(`${waybill} ${status}`, n)
  const stored = indexById(messages)
  const joined = Map.groupBy(messages, ({ joinedTo }) => joinedTo)
  const latest = new Map<string, { at: number; event: string }>()
  const parcels = wire.flatMap(({ message }) => [message, ...(joined.get(message) ?? []).map(({ id }) => id)])
  return parcels.flatMap(id => {
    const { waybill, person, event, resends } = stored.get(id) ?? {}
    if (!waybill || !event || resends) return []
    const at = event === 'order.created' ? -1 : positions.get(`${waybill} ${event}`)
    if (at === undefined) return []
    const before = latest.get(`${waybill} ${person}`)
    if (!before || before.at < at) latest.set(`${waybill} ${person}`, { at, event })
    return before && before.at > at
      ? [`${id} about ${event} of ${waybill} arrived after the one about ${before.event}`]
      : []
  })
}
