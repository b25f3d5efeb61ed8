import { print, printJson } from '@courier/shared/cli/command-line.ts'
import type { WithPool } from '@courier/shared/cli/operator-commands.ts'
import type { Command } from 'commander'
import { checkLedger, listFindings } from './check-ledger.ts'

const ledgerErrors = {
  unequal: 'journal %: its transfers differ from its lines',
  doubled: '%: booked more than once',
  unbooked: '%: delivered, but not booked',
  taken_back: '%: booked, but its move was taken back',
  wrong_invoices: 'invoice %: it differs from its lines',
  wrong_handovers: 'handover %: its cash differs from its parcels',
  wrong_deposits: 'deposit %: it differs from its parcels',
  wrong_batches: 'batch %: it differs from its invoices',
  wrong_corrections: 'correction %: its line differs from it',
  wrong_days: '%: its folded sums differ from its transfers',
  broken_seals: '%: its seal does not match',
}

/** Adds the command that checks the ledger of a tenant (docs/money.md). */
export const addLedgerCommands = (program: Command, withPool: WithPool): void => {
  program
    .command('ledger')
    .description('the money of a tenant')
    .command('check')
    .description('check the ledger for differences; exit with status 1 if there are any')
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--json', 'print JSON', false)
    .action(async ({ tenant, json }: { tenant: string; json: boolean }) => {
      const check = await withPool(pool => checkLedger(pool, tenant))
      const found = listFindings(check)
      if (json) printJson(check)
      else {
        for (const [rule, object] of found) print(ledgerErrors[rule].replace('%', object))
        print(`${check.lines} lines, ${check.transfers} transfers, ${found.length} errors`)
      }
      if (found.length > 0) process.exitCode = 1
    })
}
