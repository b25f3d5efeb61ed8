import type { Check, Evidence } from '../evidence.ts'
import { type Call, groupIntents, type Intent, isSettled, reads } from '../history.ts'

/** Creates a function that counts how often each part of an intent is stored. */
const createPartCounter = ({ effects }: Evidence) => {
  const byName = Map.groupBy(effects, ({ name }) => name)
  return ({ name }: Intent): Map<string, number> =>
    new Map([...Map.groupBy(byName.get(name) ?? [], ({ part }) => part)].map(([part, all]) => [part, all.length]))
}

const findChanges = ({ history }: Evidence): Intent[] =>
  groupIntents(history).filter(({ what, parts }) => !reads.includes(what) && parts.length > 0)

export const acknowledgedIsStored: Check = evidence => {
  const countStored = createPartCounter(evidence)
  return findChanges(evidence)
    .filter(({ ending }) => ending === 'done')
    .flatMap(intent => {
      const stored = countStored(intent)
      const lost = intent.parts.filter(part => !stored.has(part))
      return lost.length > 0 ? [`${intent.what} ${intent.name} was acknowledged, ${lost} of it is not stored`] : []
    })
}

export const refusedIsNotStored: Check = evidence => {
  const countStored = createPartCounter(evidence)
  return findChanges(evidence)
    .filter(intent => intent.ending === 'refused' && countStored(intent).size > 0)
    .map(({ what, name, calls }) => {
      const codes = calls.map(({ status, code }) => `${status} ${code ?? 'refused connection'}`)
      return `${what} ${name} was refused (${[...new Set(codes)]}: nothing was changed), and is stored`
    })
}

export const inDoubtIsWholeOrNot: Check = evidence => {
  const countStored = createPartCounter(evidence)
  return findChanges(evidence)
    .filter(intent => intent.ending === 'in doubt')
    .map(intent => ({ intent, count: countStored(intent).size }))
    .filter(({ intent, count }) => count > 0 && count < intent.parts.length)
    .map(({ intent: { what, name, parts }, count }) => `${what} ${name} is stored in part: ${count} of ${parts.length}`)
}

/**
 * Requires that an intent with a key is stored at most once, and one without a key at most as often as it was sent,
 * refused requests excepted.
 */
export const nothingTwice: Check = evidence => {
  const countStored = createPartCounter(evidence)
  return findChanges(evidence).flatMap(intent => {
    const most = intent.key === null ? intent.calls.filter(({ ending }) => ending !== 'refused').length : 1
    const doubled = [...countStored(intent)].filter(([, count]) => count > Math.max(1, most)).map(([part]) => part)
    return doubled.length > 0 ? [`${intent.what} ${intent.name} is stored twice: ${doubled}`] : []
  })
}

export const nothingUnasked: Check = evidence => {
  const wanted = new Set(evidence.history.flatMap(({ name, parts }) => parts.map(part => `${name} ${part}`)))
  return evidence.effects
    .filter(({ name, part }) => !wanted.has(`${name} ${part}`))
    .map(({ name, part }) => `${name} ${part} is stored, and nobody asked for it`)
}

/** Drops what a response says of the moment: the status of a message, and that a rider's act came before. */
const toComparable = (data: unknown): string =>
  JSON.stringify(data, (name, value) => (name === 'status' || name === 'replayed' ? '' : value))

/** Requires that once an intent with a key was done, its final responses are the same: no repetition is refused. */
export const oneResponseForAKey: Check = ({ history }) =>
  groupIntents(history).flatMap(({ what, name, key, calls }) => {
    const done = calls.findIndex(({ ending }) => ending === 'done')
    const settled = done < 0 ? [] : calls.slice(done).filter(isSettled)
    const responses = new Set(settled.map(({ status, code, data }) => `${status} ${code ?? toComparable(data)}`))
    return key !== null && responses.size > 1
      ? [`${what} ${name} has several responses for its key: ${[...responses].join(' and ')}`]
      : []
  })

/**
 * Requires that every 5xx is a 503 (docs/merchants/errors.md): with Retry-After if nothing was changed, and without it
 * if that is unknown.
 */
export const onlyTheErrorsOfTheDocs: Check = ({ history }) =>
  history
    .filter(({ status }) => status >= 500)
    .filter(({ status, code, hasRetryAfter }) => {
      const isKnown = code === 'unavailable' || code === 'outcome_unknown'
      return status !== 503 || !isKnown || hasRetryAfter !== (code === 'unavailable')
    })
    .map(
      ({ what, name, status, code, hasRetryAfter }) =>
        `${what} ${name} got ${status} ${code} ${hasRetryAfter ? 'with' : 'without'} Retry-After`,
    )

/**
 * Limits how long a transaction on a lost connection may keep its key after its 503: twice the five seconds of
 * docs/merchants/errors.md.
 */
const lostMilliseconds = 10_000

/**
 * Requires that a request gets 409 `idempotency_key_running` only while the transaction of another request with its key
 * may be open.
 */
export const keysRunOnlyWhileTheyRun: Check = ({ history }) =>
  groupIntents(history).flatMap(({ what, name, calls }) => {
    const isRunning = ({ code }: Call): boolean => code === 'idempotency_key_running'
    const mayHoldAt =
      (at: number) =>
      ({ ending, code, respondedAt }: Call): boolean =>
        ending === 'in doubt' || respondedAt + (code === 'unavailable' ? lostMilliseconds : 0) >= at
    return calls
      .filter(isRunning)
      .filter(({ sentAt }) => {
        const before = calls.filter(call => !isRunning(call) && call.sentAt <= sentAt)
        const isDone = before.some(({ ending, respondedAt }) => ending === 'done' && respondedAt < sentAt)
        return isDone || !before.some(mayHoldAt(sentAt))
      })
      .map(() => `${what} ${name} got 409 idempotency_key_running, and was not running`)
  })

/** Requires that the last request with each key gets a final response. */
export const nobodyWaitsForever = ({ history }: { readonly history: readonly Call[] }): string[] =>
  groupIntents(history)
    .filter(({ key, calls }) => key !== null && !isSettled(calls.at(-1) as Call))
    .map(({ what, name, calls }) => `${what} ${name} has no final response after ${calls.length} requests with its key`)

const withData = ['book', 'send', 'look up', 'read']

export const successesHaveTheirData: Check = ({ history }) =>
  history
    .filter(
      ({ what, ending, data }) => ending === 'done' && withData.includes(what) && typeof (data ?? '') !== 'object',
    )
    .map(({ what, name, status }) => `${what} ${name} got ${status} without data`)
