import type { Check, StoredMessage } from '../facts.ts'

const byId = (messages: readonly StoredMessage[]) => new Map(messages.map(message => [message.id, message]))

/** Of the stage's rules: the statuses that make a message (trust/chaos/bed.ts). */
const statusesWithRules = ['key_3', 'key_12', 'key_13']

/** Each event is processed once: each makes its message, and one. */
export const eventsMakeTheirMessagesOnce: Check = ({ orders, timeline, messages }) => {
  const due = [
    ...orders.map(({ waybill }) => `${waybill} order.created`),
    ...timeline.flatMap(({ waybill, status }) => (statusesWithRules.includes(status) ? [`${waybill} ${status}`] : [])),
  ]
  const wanted = new Set(due)
  const aboutStatuses = messages.filter(
    ({ event }) => event === 'order.created' || statusesWithRules.includes(event ?? ''),
  )
  const made = Map.groupBy(aboutStatuses, ({ waybill, event }) => `${waybill} ${event}`)
  return [
    ...due.filter(event => !made.has(event)).map(event => `${event} made no message`),
    ...[...made].filter(([, all]) => all.length > 1).map(([event, all]) => `${event} made ${all.length} messages`),
    ...[...made.keys()]
      .filter(event => !wanted.has(event))
      .map(event => `a message is about ${event}, which never was`),
  ]
}

export const noMessageTwiceOnTheWire: Check = ({ messages, wire }) => {
  const stored = byId(messages)
  return [...Map.groupBy(wire, ({ message }) => message)].flatMap(([id, arrivals]) => {
    const message = stored.get(id)
    if (!message) return [`${id} arrived at the API and is not stored`]
    const most = 1 + message.resends
    return arrivals.length > most ? [`${id} arrived ${arrivals.length} times and was sent ${most} times`] : []
  })
}

const arrived = ['accepted', 'sent', 'delivered', 'read']

/** All webhooks have come: what arrived is known to have arrived, and nothing else is. */
export const statusesAreTrue: Check = ({ messages, wire, webhooksGivenUp }) => {
  const there = new Set(wire.map(({ message }) => message))
  return messages.flatMap(({ id, status, isCancelled }) => {
    if (arrived.includes(status) && !there.has(id)) return [`${id} is ${status} and never arrived`]
    if (isCancelled && there.has(id)) return [`${id} was cancelled by staff and arrived`]
    const mayBeUnknown = webhooksGivenUp > 0 && status === 'unknown'
    if (!mayBeUnknown && there.has(id) && ['unknown', 'cancelled', 'expired', 'queued', 'held'].includes(status))
      return [`${id} is ${status}, and it arrived`]
    return []
  })
}

/** Of the messages of rules: the events of a waybill have an order. Sent again by staff they come when they come. */
export const messagesKeepTheirOrder: Check = ({ messages, timeline, wire }) => {
  const place = new Map<string, number>()
  const steps = Map.groupBy(timeline, ({ waybill }) => waybill)
  for (const [waybill, all] of steps) for (const [n, { status }] of all.entries()) place.set(`${waybill} ${status}`, n)
  const stored = byId(messages)
  const latest = new Map<string, { at: number; event: string }>()
  return wire.flatMap(({ message: id }) => {
    const { waybill, person, event, resends } = stored.get(id) ?? {}
    if (!waybill || !event || resends) return []
    const at = event === 'order.created' ? -1 : place.get(`${waybill} ${event}`)
    if (at === undefined) return []
    const before = latest.get(`${waybill} ${person}`)
    if (!before || before.at < at) latest.set(`${waybill} ${person}`, { at, event })
    return before && before.at > at
      ? [`${id} about ${event} of ${waybill} arrived after that about ${before.event}`]
      : []
  })
}

/** The API's clock has milliseconds. */
const slackMs = 2

export const peopleGetTheirPause: Check = ({ wire, pauseSeconds }) =>
  [...Map.groupBy(wire, ({ person }) => person)].flatMap(([person, arrivals]) => {
    const sorted = arrivals.toSorted((one, other) => one.at - other.at)
    return sorted.slice(1).flatMap(({ at, message }, n) => {
      const gap = at - (sorted[n]?.at ?? 0)
      return gap + slackMs < pauseSeconds * 1000
        ? [`${message} reached ${person} ${gap} ms after ${sorted[n]?.message}: the pause is ${pauseSeconds} s`]
        : []
    })
  })

/** What was claimed when the person opted out may arrive while its claim and its send last. */
const inFlightMs = 60_000

export const optOutsHold: Check = ({ messages, wire, optOuts }) => {
  const stored = byId(messages)
  const since = new Map(optOuts.toSorted((one, other) => other.at - one.at).map(({ person, at }) => [person, at]))
  return wire.flatMap(({ message, person, at }) => {
    const out = since.get(person)
    if (out === undefined) return []
    const isLater = (stored.get(message)?.createdAt ?? 0) > out || at > out + inFlightMs
    return isLater ? [`${message} reached ${person}, who had opted out ${Math.round((at - out) / 1000)} s before`] : []
  })
}

export const writtenOptOutsAreKept: Check = ({ stops, optOuts, webhooksGivenUp }) => {
  if (webhooksGivenUp > 0) return []
  const out = new Set(optOuts.map(({ person }) => person))
  return stops
    .filter(({ person }) => !out.has(person))
    .map(({ person }) => `${person} wrote STOP, and it is not stored`)
}
