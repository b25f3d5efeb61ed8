import { print, printJson, printTable } from '@courier/shared/cli/command-line.ts'
import { readPastTime, requireStopped } from '@courier/shared/cli/operator-commands.ts'
import { acceptHistory } from '@courier/shared/postgres/history-state.ts'
import type { Command } from 'commander'
import type { Capability, Connections } from '../../capability.ts'
import { markRestored } from './restored.ts'

const marked =
  'The messages that were queued, held or sending have the status unknown: only staff can resend them. Scheduled messages stay queued. Continue with docs/operators/backup.md.'

const addRestored = (program: Command, { withPool }: Connections): Command =>
  program
    .command('restored')
    .description(
      'mark as unknown what may have been sent; run it after restoring an older backup, before the service starts',
    )
    .option('--until <iso>', 'the time when the lost database was last in use; by default now')
    .option('--dry-run', 'print the changes, but write nothing')
    .option('--json', 'print JSON', false)
    .action(async ({ until, dryRun = false, json }) => {
      const lostAt = until === undefined ? new Date() : readPastTime('--until', until)
      const tenants = await withPool(async pool => {
        await requireStopped(pool, 'notifier')
        const tenants = await markRestored(pool, lostAt, dryRun)
        if (!dryRun) await acceptHistory(pool)
        return tenants
      })
      if (json) return printJson({ dry_run: dryRun, until: lostAt, tenants })
      const table = tenants.map(tenant => ({ ...tenant }))
      printTable(table, 'There are no tenants.')
      print(dryRun ? 'Nothing was written: this was a dry run.' : marked)
    })

/** Repairs a restored database (docs/operators/backup.md). */
export const restoring: Capability = { addCommands: addRestored }
