import { addArchive } from '@courier/shared/cli/archive.ts'
import { type Applied, printApplied } from '@courier/shared/cli/changes.ts'
import { print, printJson, readJson, runCommand, UsageError } from '@courier/shared/cli/command-line.ts'
import {
  addAudit,
  addMigrate,
  addTokenCommands,
  openPool,
  readPastTime,
  requireStopped,
} from '@courier/shared/cli/operator-commands.ts'
import { readSecret } from '@courier/shared/cli/secret.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { readKeys } from '@courier/shared/vault.ts'
import { Type } from '@sinclair/typebox'
import { Command } from 'commander'
import { checkLedger, listFindings } from './capabilities/money/check-ledger.ts'
import { printRestored } from './capabilities/restoring/print.ts'
import { databaseSettings, notifierSettings, notifierUrl, webhookSettings } from './config.ts'
import { addStaffCommands } from './core/access/staff-admin.ts'
import { createTokenFor, listTokens } from './core/access/token-commands.ts'
import { migrateOrders } from './core/database/migrate.ts'
import { takeTimelines } from './core/lists/archive.ts'
import { checkFile } from './core/provisioning/check-file.ts'
import type { NewMerchant } from './core/provisioning/merchant-commands.ts'
import { addTrackingKeyCommands } from './core/tracking/tracking-key-commands.ts'

const settings = () => loadConfigOrExit(Type.Object(databaseSettings), process.env)

// Each command imports what it alone needs when it runs: all commands together would take twice as long to start.
const loadMerchants = () => import('./core/provisioning/merchant-commands.ts')

const withPool = openPool('orders admin', () => settings().ORDERS_DATABASE_URL)

const program = new Command('orders').description("The operator's commands of the orders service.")

addMigrate(program, () => migrateOrders(settings()))

program
  .command('apply')
  .description('bring a tenant to the state of a file, and print what changed')
  .argument('<file>', 'the tenant file, JSON; - reads standard input')
  .option('--dry-run', 'print the changes without writing them')
  .option('--json', 'print JSON', false)
  .action(async (path, { dryRun = false, json }) => {
    const checked = checkFile(await readJson(path))
    const { applyTenant } = await import('./core/provisioning/apply.ts')
    const result =
      checked.kind === 'refused' ? checked : await withPool(pool => applyTenant(pool, checked.file, dryRun))
    printApplied(path, result, { dryRun, json })
  })

const ledgerErrors = {
  unequal: 'journal %: its transfers differ from its lines',
  doubled: '%: booked more than once',
  unbooked: '%: delivered, but not booked',
  wrong_invoices: 'invoice %: it differs from its lines',
  wrong_handovers: 'handover %: its cash differs from its parcels',
  wrong_deposits: 'deposit %: it differs from its parcels',
  wrong_days: '%: its folded sums differ from its transfers',
  broken_seals: '%: its seal does not match',
}

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

const merchant = program.command('merchant').description('the merchants of a tenant, one by one')

const addMerchantCommand = (
  name: string,
  description: string,
  what: string,
  act: (request: NewMerchant) => Promise<Applied>,
) =>
  merchant
    .command(name)
    .description(description)
    .requiredOption('--tenant <id>', 'the tenant')
    .requiredOption('--email <email>', 'the e-mail address of the merchant')
    .option('--json', 'print JSON', false)
    .action(async ({ json, ...request }) => printApplied(what, await act(request), { dryRun: false, json }))

const readPassword = () => readSecret('MERCHANT_PASSWORD', 'password of the merchant')
const append = (text: string, texts: string[] = []): string[] => [...texts, text]

const addDescription = 'create a merchant; its password comes from MERCHANT_PASSWORD or the terminal'
addMerchantCommand('add', addDescription, 'The merchant', async request => {
  const password = await readPassword()
  return withPool(async pool => (await loadMerchants()).addMerchant(pool, request, password))
})
  .requiredOption('--name <name>', 'the name of the merchant')
  .option('--rate-card <name>', 'a rate card of the tenant; without one, the orders of the merchant are refused')
  .requiredOption('--business <id:name>', 'a business; repeat it for each one; the first is the default', append)

const passwordDescription = 'set a new password, from MERCHANT_PASSWORD or the terminal; logins with the old one end'
addMerchantCommand('password', passwordDescription, 'The password', async request => {
  const password = await readPassword()
  return withPool(async pool => (await loadMerchants()).changePassword(pool, request, password))
})

const deactivateDescription = 'refuse the tokens and logins of a merchant; its orders stay'
addMerchantCommand('deactivate', deactivateDescription, 'The merchant', request =>
  withPool(async pool => (await loadMerchants()).deactivateMerchant(pool, request)),
)

addStaffCommands(program, withPool)

addTokenCommands(program, withPool, {
  description: 'the bearer tokens of merchants and staff',
  holders: {
    '--merchant <email>': 'the merchant that holds the token',
    '--staff <name>': 'the member of staff who holds the token',
  },
  create: createTokenFor,
  list: listTokens,
})

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
    const known = loadConfigOrExit(Type.Object({ ...databaseSettings, ...notifierSettings }), process.env)
    const options = { since: readPastTime('--since', since), skip: skip && Number(skip), isDryRun: dryRun }
    const { recover } = await import('./capabilities/restoring/restored.ts')
    const { createServiceClient } = await import('@courier/shared/service-client.ts')
    const notifier = createServiceClient({ baseUrl: notifierUrl(known), serviceToken: known.SERVICE_TOKEN })
    const tenants = await withPool(async pool => {
      if (options.skip !== 0) await requireStopped(pool, 'orders')
      return recover(pool, { ...options, notifier })
    }).finally(() => notifier.close())
    printRestored(tenants, dryRun, json)
  })

program
  .command('keys')
  .description("the keys that seal the secrets of merchants' webhooks and their bank accounts")
  .command('rotate')
  .description('seal every secret and bank account with the newest of WEBHOOK_KEYS')
  .option('--json', 'print JSON', false)
  .action(async ({ json }) => {
    const { WEBHOOK_KEYS } = loadConfigOrExit(Type.Object({ ...databaseSettings, ...webhookSettings }), process.env)
    if (WEBHOOK_KEYS === undefined) throw new UsageError('WEBHOOK_KEYS is not set')
    const { rotateKeys } = await import('./capabilities/feed/rotate-keys.ts')
    const result = await withPool(pool => rotateKeys(pool, readKeys('WEBHOOK_KEYS', WEBHOOK_KEYS)))
    if (json) printJson(result)
    else if (result.rotated + result.accounts > 0)
      print(`The newest key seals ${result.rotated} more webhooks and ${result.accounts} more bank accounts.`)
    else if (result.unopened.length === 0) print('All webhooks and bank accounts already use the newest key.')
    for (const { tenant, reason, ...id } of result.unopened)
      process.stderr.write(
        `  ${tenant} ${'endpoint_id' in id ? id.endpoint_id : `merchant ${id.merchant_id}`}: ${reason}\n`,
      )
    if (result.unopened.length > 0) process.exitCode = 1
  })

addTrackingKeyCommands(program, withPool)

addAudit(program, withPool)

const findOwnerUrl = () => {
  const { ORDERS_DATABASE_URL, ORDERS_MIGRATE_DATABASE_URL = ORDERS_DATABASE_URL } = settings()
  return ORDERS_MIGRATE_DATABASE_URL
}
addArchive(program, openPool('orders admin', findOwnerUrl), { timelines: takeTimelines })

await runCommand(() => program.parseAsync(), { program: 'orders', databaseSetting: 'ORDERS_DATABASE_URL' })
