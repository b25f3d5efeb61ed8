import { printChanges } from '@courier/shared/changes.ts'
import { printFaults, readJson, runCommand } from '@courier/shared/command-line.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { addAudit, addMigrate, addTokenCommands, poolOf, printToken } from '@courier/shared/operator-commands.ts'
import { Type } from '@sinclair/typebox'
import { Command } from 'commander'
import { createTokenFor, listTokens, revokeTokenById, type TokenRequest } from './access/token-commands.ts'
import { databaseSettings } from './config.ts'
import { migrateOrders } from './database/migrate.ts'
import { applyTenant } from './provisioning/apply.ts'
import { checkFile } from './provisioning/check-file.ts'

const settings = () => loadConfigOrExit(Type.Object(databaseSettings), process.env)

const withPool = poolOf('orders admin', () => settings().ORDERS_DATABASE_URL)

const program = new Command('orders').description("The operator's commands of the orders service.")

addMigrate(program, () => migrateOrders(settings()))

program
  .command('apply')
  .description('make a tenant what a file says, and print what changed')
  .argument('<file>', 'the tenant file, JSON; - reads standard input')
  .option('--dry-run', 'print the same, write nothing')
  .option('--json', 'print JSON', false)
  .action(async (path, { dryRun = false, json }) => {
    const checked = checkFile(await readJson(path))
    const result =
      checked.kind === 'refused' ? checked : await withPool(pool => applyTenant(pool, checked.file, dryRun))
    if (result.kind === 'applied') return printChanges(result.changes, { dryRun, json })
    printFaults(path, result.faults, json)
    process.exitCode = 1
  })

const token = program.command('token').description('the bearer tokens of merchants and staff')

token
  .command('create')
  .description('make a token; it is shown this once')
  .requiredOption('--tenant <id>', 'the tenant')
  .option('--merchant <email>', 'the merchant it speaks for')
  .option('--staff <name>', 'the member of staff it speaks for')
  .option('--expires <iso>', 'when it ends, such as 2027-01-31T00:00:00Z')
  .option('--json', 'print JSON', false)
  .action(async ({ json, ...request }: TokenRequest & { json?: boolean }) => {
    const created = await withPool(pool => createTokenFor(pool, request))
    printToken(created, json)
  })

addTokenCommands(token, 'orders', withPool, { list: listTokens, revoke: revokeTokenById })

addAudit(program, withPool)

await runCommand(() => program.parseAsync(), { program: 'orders', databaseSetting: 'ORDERS_DATABASE_URL' })
