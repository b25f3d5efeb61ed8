import type { Check, Facts } from '../facts.ts'
import { type Intent, intentsOf, isSettled, reads } from '../history.ts'

/** How often each part of what an intent wants is stored. */
const storedParts = ({ effects }: Facts) => {
  const byName = Map.groupBy(effects, ({ name }) => name)
  return ({ name }: Intent): Map<string, number> =>
    new Map([...Map.groupBy(byName.get(name) ?? [], ({ part }) => part)].map(([part, all]) => [part, all.length]))
}

const changesOf = ({ history }: Facts): Intent[] =>
  intentsOf(history).filter(({ what, parts }) => !reads.includes(what) && parts.length > 0)

export const acknowledgedIsStored: Check = facts => {
  const storedOf = storedParts(facts)
  return changesOf(facts)
    .filter(({ ending }) => ending === 'done')
    .flatMap(intent => {
      const stored = storedOf(intent)
      const lost = intent.parts.filter(part => !stored.has(part))
      return lost.length > 0 ? [`${intent.what} ${intent.name} was acknowledged, ${lost} of it is not stored`] : []
    })
}

export const refusedIsNotStored: Check = facts => {
  const storedOf = storedParts(facts)
  return changesOf(facts)
    .filter(intent => intent.ending === 'refused' && storedOf(intent).size > 0)
    .map(({ what, name, calls }) => {
      const codes = calls.map(({ status, code }) => `${status} ${code ?? 'refused connection'}`)
      return `${what} ${name} was refused (${[...new Set(codes)]}: nothing was changed), and is stored`
    })
}

export const inDoubtIsWholeOrNot: Check = facts => {
  const storedOf = storedParts(facts)
  return changesOf(facts)
    .filter(intent => intent.ending === 'in doubt')
    .map(intent => ({ intent, count: storedOf(intent).size }))
    .filter(({ intent, count }) => count > 0 && count < intent.parts.length)
    .map(({ intent: { what, name, parts }, count }) => `${what} ${name} is stored in part: ${count} of ${parts.length}`)
}

/** Without a key it may be there as often as it was sent, but for the calls whose response says that nothing was changed. */
export const nothingTwice: Check = facts => {
  const storedOf = storedParts(facts)
  return changesOf(facts).flatMap(intent => {
    const most = intent.key === null ? intent.calls.filter(({ ending }) => ending !== 'refused').length : 1
    const doubled = [...storedOf(intent)].filter(([, count]) => count > Math.max(1, most)).map(([part]) => part)
    return doubled.length > 0 ? [`${intent.what} ${intent.name} is stored twice: ${doubled}`] : []
  })
}

export const nothingUnasked: Check = facts => {
  const wanted = new Set(facts.history.flatMap(({ name, parts }) => parts.map(part => `${name} ${part}`)))
  return facts.effects
    .filter(({ name, part }) => !wanted.has(`${name} ${part}`))
    .map(({ name, part }) => `${name} ${part} is stored, and nobody asked for it`)
}

/** Of a send alone the status may be another one: it is that of now. */
const comparable = (data: unknown): string => JSON.stringify(data, (name, value) => (name === 'status' ? '' : value))

export const oneResponseForAKey: Check = ({ history }) =>
  intentsOf(history).flatMap(({ what, name, key, calls }) => {
    const done = calls.filter(({ ending }) => ending === 'done')
    const responses = new Set(done.map(({ status, data }) => `${status} ${comparable(data)}`))
    return key !== null && responses.size > 1
      ? [`${what} ${name} has several responses for its key: ${[...responses].join(' and ')}`]
      : []
  })

/** docs/errors.md: 503 alone, with Retry-After where nothing was changed and without where that is not known. */
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

/** 409 `idempotency_key_running` needs another call with that key which may still run. */
export const keysRunOnlyWhileTheyRun: Check = ({ history }) =>
  intentsOf(history).flatMap(({ what, name, calls }) =>
    calls
      .filter(({ code }) => code === 'idempotency_key_running')
      .filter(running => {
        const before = calls.filter(call => call !== running && call.sentAt <= running.sentAt)
        const isDone = before.some(({ ending, answeredAt }) => ending === 'done' && answeredAt < running.sentAt)
        return isDone || before.every(({ ending, code }) => ending === 'refused' && code !== 'idempotency_key_running')
      })
      .map(() => `${what} ${name} was said to be running, and was not`),
  )

/** Once all is well a repetition gets its response. */
export const nobodyWaitsForever: Check = ({ history }) =>
  intentsOf(history)
    .filter(({ key, calls }) => key !== null && !isSettled(calls.at(-1)?.code ?? null, calls.at(-1)?.status ?? 0))
    .map(({ what, name, calls }) => `${what} ${name} has no final response after ${calls.length} calls with its key`)
