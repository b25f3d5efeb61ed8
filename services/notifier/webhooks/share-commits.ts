import type pg from 'pg'
import { type Applied, type ApplyOptions, applyCalls, type Call } from './apply.ts'

/** Applies a call. Says what its transaction came to; undefined when another call that shared it is told. */
export type TakeCall = (call: Call) => Promise<Applied | undefined>

/** So many transactions are worked on while small calls wait to share the next. */
const fewTransactions = 2
const manyTransactions = 6
/** So many facts are worth a transaction of their own. */
const manyFacts = 100
const maxFacts = 1_000

interface Waiting {
  readonly call: Call
  readonly resolve: (applied: Applied | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Small calls that come while others are applied share one transaction; each is answered after its commit. */
export const shareCommits = (pool: pg.Pool, options: ApplyOptions): TakeCall => {
  const waiting: Waiting[] = []
  let running = 0

  const applyGroup = async (group: readonly Waiting[]): Promise<void> => {
    const calls = group.map(({ call }) => call)
    try {
      const applied = await applyCalls(pool, calls, new Date(), options)
      for (const [index, { resolve }] of group.entries()) resolve(index === 0 ? applied : undefined)
    } catch (error) {
      // What one of several calls spoils is not the others' fault.
      if (group.length > 1) for (const one of group) await applyGroup([one])
      else group[0]?.reject(error)
    }
  }

  const next = async (): Promise<void> => {
    const facts = waiting.reduce((sum, { call }) => sum + call.facts.length, 0)
    if (waiting.length === 0 || running >= (facts >= manyFacts ? manyTransactions : fewTransactions)) return
    running++
    await applyGroup(takeGroup(waiting))
    running--
    next()
  }

  return call =>
    new Promise((resolve, reject) => {
      waiting.push({ call, resolve, reject })
      next()
    })
}

/** The calls that waited longest, as many as fit. */
const takeGroup = (waiting: Waiting[]): Waiting[] => {
  let facts = 0
  const end = waiting.findIndex(({ call }) => {
    facts += call.facts.length
    return facts > maxFacts
  })
  return waiting.splice(0, end === -1 ? waiting.length : Math.max(1, end))
}
