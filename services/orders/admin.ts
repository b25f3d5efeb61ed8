import { type AuditRequest, printAudit } from '@courier/shared/audit-command.ts'
import { printChanges } from '@courier/shared/changes.ts'
import { print, printFaults, printJson, printTable, readJson, runCommand } from '@courier/shared/command-line.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { createPool } from '@courier/shared/database.ts'
import { Type } from '@sinclair/typebox'
import { Command } from 'commander'
import type pg from 'pg'
import { createTokenFor, listTokens, revokeTokenById, type TokenRequest } from './access/token-commands.ts'
import { databaseSettings } from './config.ts'
import { migrateOrders } from './database/migrate.ts'
import { applyTenant } from './provisioning/apply.ts'
import { checkFile } from './provisioning/check-file.ts'

const settings = () => loadConfigOrExit(Type.Object(databaseSettings), process.env)

/** A tenant's file may be large: what a command writes takes longer than a call's statements may. */
const statementSeconds = 600

/** Runs a command with a pool of its own. */
const withPool = async <Result>(action: (pool: pg.Pool) => Promise<Result>): Promise<Result> => {
  const pool = createPool({
    url: settings().ORDERS_DATABASE_URL,
    name: 'orders admin',
    connections: 2,
    statementSeconds,
  })
  try {
    return await action(pool)
  } finally {
    await pool.end()
  }
}

const program = new Command('orders').description("The operator's commands of the orders service.")

program
  .command('migrate')
  .description('bring the database up to date')
  .option('--json', 'print JSON', false)
  .action(async ({ json }) => {
    const applied = await migrateOrders(settings())
    if (json) printJson({ applied })
    else print(applied.join('\n') || 'The database is up to date.')
  })

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
    if (json) printJson(created)
    else print(`${created.id}\n${created.token}\nKeep it now: it is not shown again.`)
  })

token
  .command('list')
  .description('all tokens, without their secrets')
  .option('--tenant <id>', 'of that tenant alone')
  .option('--json', 'print JSON', false)
  .action(async ({ tenant, json }) => {
    const tokens = await withPool(pool => listTokens(pool, tenant))
    if (json) printJson(tokens)
    else printTable(tokens, 'There are no tokens. Make one: orders token create --help')
  })

token
  .command('revoke')
  .description('end a token; within 5 seconds it is refused')
  .argument('<id>', 'the token id, as `token list` shows it')
  .option('--json', 'print JSON', false)
  .action(async (id, { json }) => {
    const tenant = await withPool(pool => revokeTokenById(pool, id))
    if (json) printJson({ id, tenant, revoked: true })
    else print(`${id} of tenant ${tenant} is revoked.`)
  })

program
  .command('audit')
  .description('who did what, the newest first')
  .requiredOption('--tenant <id>', 'the tenant')
  .option('--since <iso>', 'from then on, such as 2027-01-31T00:00:00Z')
  .option('--limit <number>', 'how many at most', '100')
  .option('--json', 'print JSON', false)
  .action((request: AuditRequest) => withPool(pool => printAudit(pool, request)))

await runCommand(() => program.parseAsync(), { program: 'orders', databaseSetting: 'ORDERS_DATABASE_URL' })
