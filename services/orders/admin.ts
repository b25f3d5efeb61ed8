import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { addArchive } from '@courier/shared/cli/archive.ts'
import { type Applied, printApplied } from '@courier/shared/cli/changes.ts'
import { print, printJson, printTable, readJson, runCommand, UsageError } from '@courier/shared/cli/command-line.ts'
import { addAudit, addMigrate, addTokenCommands, openPool } from '@courier/shared/cli/operator-commands.ts'
import { readSecret } from '@courier/shared/cli/secret.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { readKeys } from '@courier/shared/vault.ts'
import { Type } from '@sinclair/typebox'
import { Command } from 'commander'
import { capabilities as all, createCompanyFile, joinDeactivations } from './capabilities.ts'
import type { Capability, Rotated } from './capability.ts'
import { findWrongKey } from './check-keys.ts'
import { databaseSettings, webhookSettings } from './config.ts'
import { addStaffCommands } from './core/access/staff-admin.ts'
import { createTokenFor, listTokens } from './core/access/token-commands.ts'
import { migrateOrders } from './core/database/migrate.ts'
import { takeTimelines } from './core/lists/archive.ts'
import { checkFile } from './core/provisioning/check-file.ts'
import type { NewMerchant } from './core/provisioning/merchant-commands.ts'
import { listTrackingKeys, revokeTrackingKey, rotateTrackingKey } from './core/tracking/tracking-keys.ts'

const settings = () => loadConfigOrExit(Type.Object(databaseSettings), process.env)

const withPool = openPool('orders admin', () => settings().ORDERS_DATABASE_URL)

const program = new Command('orders').description("The operator's commands of the orders service.")

/** Lists commands that use no capability: loading these would take most of the time of such a command. */
const withoutCapabilities = ['migrate', 'token', 'merchant', 'audit', 'archive', 'tracking-keys']
/** Are all capabilities, whatever the service leaves out: a command cares for the rows that it finds. */
const loaded = await loadCapabilities<Capability>(
  all,
  withoutCapabilities.includes(process.argv[2] ?? '') ? 'none' : 'all',
)
const companyFile = createCompanyFile(loaded)

addMigrate(program, () => migrateOrders(settings()))

program
  .command('apply')
  .description('bring a tenant to the state of a file, and print what changed')
  .argument('<file>', 'the tenant file, JSON; - reads standard input')
  .option('--dry-run', 'print the changes without writing them')
  .option('--json', 'print JSON', false)
  .action(async (path, { dryRun = false, json }) => {
    const checked = checkFile(await readJson(path), companyFile)
    const { applyTenant } = await import('./core/provisioning/apply.ts')
    const result =
      checked.kind === 'refused'
        ? checked
        : await withPool(pool => applyTenant(pool, checked.file, dryRun, { companyFile }))
    printApplied(path, result, { dryRun, json })
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

const loadMerchants = () => import('./core/provisioning/merchant-commands.ts')
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

addStaffCommands(program, withPool, joinDeactivations(loaded))

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
  .command('keys')
  .description("the keys that seal the secrets of merchants' webhooks and their bank accounts")
  .command('rotate')
  .description('seal every secret and bank account with the newest of WEBHOOK_KEYS')
  .option('--json', 'print JSON', false)
  .action(async ({ json }) => {
    const { WEBHOOK_KEYS } = loadConfigOrExit(Type.Object({ ...databaseSettings, ...webhookSettings }), process.env)
    if (WEBHOOK_KEYS === undefined) throw new UsageError('WEBHOOK_KEYS is not set')
    const keyring = readKeys('WEBHOOK_KEYS', WEBHOOK_KEYS)
    const found = await withPool(async pool => {
      const problem = await findWrongKey(pool, keyring, loaded)
      if (problem !== undefined) throw new UsageError(problem)
      const rotated: Rotated[] = []
      for (const { rotateKeys } of loaded.values()) if (rotateKeys) rotated.push(await rotateKeys(pool, keyring))
      return rotated
    })
    const unopened = found.flatMap(({ unopened }) => unopened)
    const list = (texts: string[]) => new Intl.ListFormat('en-GB').format(texts)
    if (json) printJson({ ...Object.fromEntries(found.map(({ field, count }) => [field, count])), unopened })
    else if (found.some(({ count }) => count > 0))
      print(`The newest key seals ${list(found.map(({ count, what }) => `${count} more ${what}`))}.`)
    else if (unopened.length === 0)
      print(`All ${list(found.flatMap(({ what }) => what.split(', ')))} already use the newest key.`)
    for (const { tenant, reason, ...id } of unopened)
      process.stderr.write(`  ${tenant} ${Object.entries(id).flat().join(' ')}: ${reason}\n`)
    if (unopened.length > 0) process.exitCode = 1
  })

for (const { addCommands } of loaded.values()) addCommands?.(program, withPool, loaded)

const trackingKeys = program.command('tracking-keys').description("the keys that sign the links to parcels' pages")
const addKeyCommand = (name: string, description: string) =>
  trackingKeys
    .command(name)
    .description(description)
    .requiredOption('--tenant <id>', 'the tenant')
    .option('--json', 'print JSON', false)

addKeyCommand('list', 'list the keys, newest first: the first one signs').action(async ({ tenant, json }) => {
  const found = await withPool(pool => listTrackingKeys(pool, tenant))
  if (json) printJson(found)
  else printTable(found, 'The tenant has no key yet.')
})
addKeyCommand('rotate', 'sign new links with a new key; printed links stay valid until their key is revoked').action(
  async ({ tenant, json }) => {
    const key = await withPool(pool => rotateTrackingKey(pool, tenant))
    if (json) printJson({ tenant, key })
    else print(`The tracking key ${key} signs new links. Links of earlier keys are valid until you revoke them.`)
  },
)
addKeyCommand('revoke', 'end the links of an earlier key: their pages show neither amount nor city')
  .requiredOption('--key <number>', 'the number of the key')
  .action(async ({ tenant, key, json }) => {
    if (!/^\d{1,9}$/.test(key)) throw new UsageError('--key must be the number of a key')
    await withPool(pool => revokeTrackingKey(pool, tenant, Number(key)))
    if (json) printJson({ tenant, key: Number(key) })
    else print(`Links of the tracking key ${key} are no longer valid.`)
  })

addAudit(program, withPool)

const findOwnerUrl = () => {
  const { ORDERS_DATABASE_URL, ORDERS_MIGRATE_DATABASE_URL = ORDERS_DATABASE_URL } = settings()
  return ORDERS_MIGRATE_DATABASE_URL
}
addArchive(program, openPool('orders admin', findOwnerUrl), { timelines: takeTimelines })

await runCommand(() => program.parseAsync(), { program: 'orders', databaseSetting: 'ORDERS_DATABASE_URL' })
