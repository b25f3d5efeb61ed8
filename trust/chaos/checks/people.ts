import type { Check, Evidence } from '../evidence.ts'

/** The API's clock counts milliseconds. */
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

/** A message that was claimed when the person opted out may arrive while its claim and its send last. */
const inFlightMs = 60_000

type OptOut = Evidence['optOuts'][number]

/** Returns the time of each person's first opt-out. */
const findFirst = (optOuts: readonly OptOut[]): Map<string, number> =>
  new Map(optOuts.toSorted((one, other) => other.at - one.at).map(({ person, at }) => [person, at]))

/**
 * Requires that no message made after the response to staff arrives, and that none arrives more than a minute after any
 * opt-out.
 */
export const optOutsHold: Check = ({ history, messages, wire, optOuts }) => {
  const createdAt = new Map(messages.map(message => [message.id, message.createdAt]))
  const stored = findFirst(optOuts.filter(({ isById }) => !isById))
  const acknowledged = findFirst(
    history
      .filter(({ what, ending }) => what === 'opt out' && ending === 'done')
      .map(({ parts: [person = ''], respondedAt }) => ({ person, at: respondedAt })),
  )
  return wire.flatMap(({ message, person, at }) => {
    const out = Math.min(
      stored.get(person) ?? Number.POSITIVE_INFINITY,
      acknowledged.get(person) ?? Number.POSITIVE_INFINITY,
    )
    const isNew = (createdAt.get(message) ?? 0) > (acknowledged.get(person) ?? Number.POSITIVE_INFINITY)
    return isNew || at > out + inFlightMs
      ? [`${message} reached ${person}, who had opted out ${Math.round((at - out) / 1000)} s before`]
      : []
  })
}

export const writtenOptOutsAreKept: Check = ({ stops, optOuts, givenUp }) => {
  const out = new Set(optOuts.map(({ person }) => person))
  const undelivered = new Set(givenUp.map(({ inbound }) => inbound))
  return stops
    .filter(({ person, inbound }) => !out.has(person) && !undelivered.has(inbound))
    .map(({ person }) => `${person} wrote STOP, and it is not stored`)
}

/** Requires that a user id leads to the number of its person alone, with all that the notifier has of the person. */
export const identitiesLeadToTheirPeople: Check = ({ identities = [], optOuts }) => {
  const out = new Set(optOuts.map(({ person }) => person))
  return identities
    .filter(({ knownAs }) => knownAs !== null)
    .flatMap(({ person, knownAs, left, isOut }) => [
      ...(person === knownAs ? [] : [`the user id of ${person} leads to ${knownAs}`]),
      ...(left === 0 ? [] : [`${person} has a known number, and ${left} rows by user id`]),
      ...(isOut || !out.has(person)
        ? []
        : [`${person} opted out, and the conversation with the number does not say so`]),
    ])
}
