import { print, printJson, printTable } from './command-line.ts'

/** Something that `apply` changed. */
export interface Change {
  kind: string
  id: string
  change: 'added' | 'changed' | 'removed' | 'deactivated'
}

const maxLines = 20

/** What `apply` changed or, in a dry run, would change: counts, then the single changes while they are few. */
export const printChanges = (changes: Change[], { dryRun, json }: { dryRun: boolean; json: boolean }): void => {
  if (json) return printJson({ dry_run: dryRun, changes })
  const counts = Object.groupBy(changes, ({ kind, change }) => `${kind} ${change}`)
  const rows = Object.values(counts).flatMap(group =>
    group?.[0] ? [{ what: group[0].kind, change: group[0].change, count: group.length }] : [],
  )
  printTable(rows, 'Nothing to change: the tenant is as the file says.')
  if (changes.length > 0 && changes.length <= maxLines)
    for (const { kind, id, change } of changes) print(`  ${kind} ${id} ${change}`)
  if (dryRun && changes.length > 0) print('Nothing was written: this was a dry run.')
}
