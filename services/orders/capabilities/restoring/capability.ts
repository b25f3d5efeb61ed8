import { UsageError } from '@courier/shared/cli/command-line.ts'
import { readPastTime, requireStopped, type WithPool } from '@courier/shared/cli/operator-commands.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { acceptHistory } from '@courier/shared/postgres/history-state.ts'
import { Type } from '@sinclair/typebox'
import type { Command } from 'commander'
import type { Capabilities, Capability } from '../../capability.ts'
import { notifierSettings, notifierUrl } from '../../core/relay/settings.ts'
import { printRestored } from './print.ts'
import { recover } from './restored.ts'

/** Adds the command that recovers after a restore (docs/operators/backup.md). */
const addRestored = (program: Command, withPool: WithPool, loaded: Capabilities): void => {
  program
    .command('restored')
    .description(
      'recover after orders or the notifier was restored: skip used numbers, deliver missing events; print what to check',
    )
    .requiredOption('--since <iso>', 'the time to which the database was restored; the earlier time if both were')
    .option('--skip <numbers>', 'how many waybill numbers to leave out; 0 if only the notifier was restored')
    .option('--dry-run', 'print the changes, but write nothing')
    .option('--json', 'print JSON', false)
    .action(async ({ since, skip, dryRun = false, json }) => {
      if (skip !== undefined && !/^\d{1,12}$/.test(skip)) throw new UsageError('--skip must be a whole number')
      const known = loadConfigOrExit(Type.Object(notifierSettings), process.env)
      const options = { since: readPastTime('--since', since), skip: skip && Number(skip), isDryRun: dryRun, loaded }
      // The client is imported only here: undici would take a sixth of the time that every command needs to start.
      const { createServiceClient } = await import('@courier/shared/service-client.ts')
      const notifier = createServiceClient({ baseUrl: notifierUrl(known), serviceToken: known.SERVICE_TOKEN })
      const tenants = await withPool(async pool => {
        if (options.skip !== 0) await requireStopped(pool, 'orders')
        const tenants = await recover(pool, { ...options, notifier })
        if (options.skip !== 0 && !dryRun) await acceptHistory(pool)
        return tenants
      }).finally(() => notifier.close())
      printRestored(tenants, dryRun, json)
    })
}

/** Repairs a database that was restored from a backup (docs/operators/backup.md). */
export const restoring: Capability = { addCommands: addRestored }
