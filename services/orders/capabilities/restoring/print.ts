import { print, printJson, printTable } from '@courier/shared/cli/command-line.ts'
import type { KnownEvent } from './queries.ts'
import type { Restored } from './restored.ts'

export const printRestored = (tenants: readonly Restored[], dryRun: boolean, json: boolean): void => {
  if (json)
    return printJson({ dry_run: dryRun, tenants: tenants.map(({ repaired, ...rest }) => ({ ...rest, ...repaired })) })
  const rows = tenants.map(({ tenant, skipped, repaired, next_waybill, requeued, lost, dropped }) => ({
    tenant,
    skipped,
    ...repaired,
    next_waybill,
    requeued: requeued.length,
    lost: lost.length,
    dropped: dropped.length,
  }))
  printTable(rows, 'There are no tenants.')
  for (const one of tenants) {
    if (!one.known_to_notifier)
      print(`${one.tenant}: the notifier does not know this tenant. Apply its file there and run this again.`)
    printEvents(
      `${one.tenant}: events that are in the outbox again; their messages will have the status unknown`,
      one.requeued,
    )
    printEvents(
      `${one.tenant}: events that the notifier knows and this database lost; staff must enter them again`,
      one.lost,
    )
    printEvents(
      `${one.tenant}: events that waited too long and were removed from the outbox, possibly undelivered`,
      one.dropped,
    )
    if (one.beyond.length > 0)
      print(
        `${one.tenant}: ${one.beyond.length} lost waybills are not below ${one.next_waybill}, such as ${one.beyond[0]}: merchants chose them, or run this again with a larger --skip.`,
      )
  }
  print(
    'Orders made since the backup and unknown to the notifier are lost: ask the merchants (docs/operators/backup.md).',
  )
  if (dryRun) print('Nothing was written: this was a dry run.')
}

const maxLines = 20

const printEvents = (what: string, events: readonly KnownEvent[]): void => {
  if (events.length === 0) return
  print(`${what}:`)
  for (const { waybill_number, status_key, happened_at } of events.slice(0, maxLines))
    print(`  ${waybill_number} ${status_key} ${happened_at.toISOString()}`)
  if (events.length > maxLines) print(`  and ${events.length - maxLines} more: --json lists all`)
}
