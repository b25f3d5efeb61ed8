import type { FieldErrors } from '../errors/errors.ts'
import { print, printFieldErrors, printJson, printTable } from './command-line.ts'

/** Describes a change that `apply` made. */
export interface Change {
  kind: string
  id: string
  change: 'added' | 'changed' | 'removed' | 'deactivated' | 'revoked'
  /** Gives the reason, for people. */
  reason?: string
  /** Lists lines such as `name: Kotte -> Kotte North`, for people. */
  details?: string[]
}

export type Applied =
  | { kind: 'applied'; changes: Change[]; warnings?: string[] }
  | { kind: 'refused'; errors: FieldErrors }

/** Prints changes and warnings, or the errors of `what`, after which the process exits with 1. */
export const printApplied = (what: string, result: Applied, options: { dryRun: boolean; json: boolean }): void => {
  if (result.kind === 'applied') return printChanges(result.changes, { ...options, warnings: result.warnings ?? [] })
  printFieldErrors(what, result.errors, options.json)
  process.exitCode = 1
}

export const compare = (
  kind: string,
  before: ReadonlyMap<string, string>,
  after: ReadonlyMap<string, string>,
): Change[] => [
  ...[...after].flatMap(([id, text]): Change[] => {
    if (before.get(id) === text) return []
    return [{ kind, id, change: before.has(id) ? 'changed' : 'added' }]
  }),
  ...[...before.keys()].filter(id => !after.has(id)).map((id): Change => ({ kind, id, change: 'removed' })),
]

const maxLines = 20

/** Prints what `apply` changed or, in a dry run, would change: counts, then each change unless there are too many. */
const printChanges = (
  changes: Change[],
  { dryRun, json, warnings = [] }: { dryRun: boolean; json: boolean; warnings?: readonly string[] },
): void => {
  if (json) return printJson({ dry_run: dryRun, changes: changes.map(({ details: _, ...change }) => change), warnings })
  const counts = Object.groupBy(changes, ({ kind, change }) => `${kind} ${change}`)
  const rows = Object.values(counts).flatMap(group =>
    group?.[0] ? [{ what: group[0].kind, change: group[0].change, count: group.length }] : [],
  )
  printTable(rows, 'Nothing to change: the tenant is as the file says.')
  if (changes.length > 0 && changes.length <= maxLines)
    for (const { kind, id, change, reason, details = [] } of changes) {
      print(`  ${kind} ${id} ${change}${reason ? `: ${reason}` : ''}`)
      for (const detail of details) print(`    ${kind} ${id} ${detail}`)
    }
  if (changes.length > 0) for (const warning of warnings) print(`  warning: ${warning}`)
  if (dryRun && changes.length > 0) print('Nothing was written: this was a dry run.')
}
