import { readFileSync } from 'node:fs'
import type { Test } from 'tap'
import type { Check, Evidence, StoredMessage } from '../evidence.ts'
import type { Call } from '../history.ts'

/** Names the ways to spoil a true history, each of which a check has to detect. */
export type Spoils = Record<string, (evidence: Evidence) => unknown>

/** Holds part of the record of a run of `npm run trust -- chaos`: a line for each kind of evidence. */
const lines = readFileSync(new URL('./true-history.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
export const trueHistory = () => Object.fromEntries(lines.map(line => JSON.parse(line))) as Evidence

/** Requires that each check detects every history that is spoiled in one of its ways. */
export const testChecks = <Name extends string>(
  t: Test,
  checks: Readonly<Record<Name, Check>>,
  spoils: Readonly<Record<NoInfer<Name>, Spoils>>,
): void => {
  for (const [name, ways] of Object.entries<Spoils>(spoils))
    t.test(`${name} detects a spoiled history`, async t => {
      for (const [way, spoil] of Object.entries(ways)) {
        const evidence = trueHistory()
        spoil(evidence)
        t.not(checks[name as Name](evidence).length, 0, way)
      }
    })
}

/** Returns the first match; the recorded history has one. */
export const find = <Item>(items: readonly Item[], matches: (item: Item) => boolean): Item => {
  const found = items.find(matches)
  if (found === undefined) throw new Error('the recorded history has no such thing')
  return found
}
export const remove = <Item>(items: Item[], matches: (item: Item) => boolean): void =>
  void items.splice(items.indexOf(find(items, matches)), 1)
/** Adds a copy of the first match, with the changes. */
export const double = <Item>(items: Item[], matches: (item: Item) => boolean, changes: Partial<Item> = {}): void =>
  void items.push({ ...find(items, matches), ...changes })
export const change = <Item extends object>(
  items: Item[],
  matches: (item: Item) => boolean,
  changes: Partial<Item>,
): void => void Object.assign(find(items, matches), changes)
export const swap = <Item>(items: Item[], one: Item, other: Item): void => {
  const [first, second] = [items.indexOf(one), items.indexOf(other)]
  items[first] = other
  items[second] = one
}
/** Returns the first two items for which `of` returns the same, such as a waybill or a person. */
export const pickTwo = <Item>(items: readonly Item[], of: (item: Item) => unknown): [Item, Item] =>
  find([...Map.groupBy(items, of).values()], ({ length }) => length > 1) as [Item, Item]

export const any = (): boolean => true
export const isBatch = ({ what, ending, parts }: Call): boolean =>
  what === 'book' && ending === 'done' && parts.length > 2
export const isKeyed = (call: Call): boolean => isBatch(call) && call.key !== null
export const isQuestion = ({ question }: StoredMessage): boolean => question !== null
export const isUnconfirmed = ({ outcome }: Evidence['actions'][number]): boolean => outcome === 'unconfirmed'
export const isMove = ({ what, ending }: Call): boolean => what === 'move' && ending === 'done'
export const later = ({ respondedAt }: Call) => ({ sentAt: respondedAt + 1, respondedAt: respondedAt + 2 })
