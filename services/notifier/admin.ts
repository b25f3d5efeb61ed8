import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { addArchive } from '@courier/shared/cli/archive.ts'
import { printApplied } from '@courier/shared/cli/changes.ts'
import {
  print,
  printFieldErrors,
  printJson,
  readJson,
  runCommand,
  UsageError,
} from '@courier/shared/cli/command-line.ts'
import { addAudit, addMigrate, addTokenCommands, openPool } from '@courier/shared/cli/operator-commands.ts'
import { readSecret } from '@courier/shared/cli/secret.ts'
import { loadConfigOrExit } from '@courier/shared/config.ts'
import { VaultError } from '@courier/shared/vault.ts'
import { Type } from '@sinclair/typebox'
import { Command } from 'commander'
import { capabilities, createNotifierFile } from './capabilities.ts'
import type { Connections } from './capability.ts'
import { credentialSettings, databaseSettings, orderSettings, ordersUrl } from './config.ts'
import { createTokenFor, listTokens } from './core/access/token-commands.ts'
import { findUnopened, refuseWrongNewest } from './core/channels/check-keys.ts'
import { rotateKeys } from './core/channels/rotate.ts'
import { readKeyring } from './core/channels/vault.ts'
import { migrateNotifier } from './core/database/migrate.ts'
import { takeMessages } from './core/messages/archive.ts'
import type { SendRequest } from './core/messages/send-command.ts'
import type { ChannelRequest } from './core/provisioning/add-channel.ts'

const settings = () => loadConfigOrExit(Type.Object(databaseSettings), process.env)

const withPool = openPool('notifier admin', () => settings().NOTIFIER_DATABASE_URL)

const withKeyring: Connections['withKeyring'] = async action => {
  const { CREDENTIALS_KEYS } = loadConfigOrExit(
    Type.Object({ ...databaseSettings, ...credentialSettings }),
    process.env,
  )
  try {
    const keyring = readKeyring(CREDENTIALS_KEYS)
    return await withPool(async pool => {
      refuseWrongNewest(await findUnopened(pool, keyring), keyring)
      return action(pool, keyring)
    })
  } catch (error) {
    throw error instanceof VaultError ? new UsageError(error.message) : error
  }
}

/** Holds all, whatever the service leaves out: a command cares for the rows that it finds. */
const loaded = await loadCapabilities(capabilities, 'all')

// Each command imports what it alone needs when it runs: all commands together would take twice as long to start.
const program = new Command('notifier').description("The operator's commands of the notifier service.")

addMigrate(program, () => migrateNotifier(settings()))

program
  .command('apply')
  .description("configure a tenant's messaging as a file says, and print the changes")
  .argument('<file>', 'the notifier file, JSON; - reads standard input')
  .option('--dry-run', 'print the changes, but write nothing')
  .option('--json', 'print JSON', false)
  .action(async (path, { dryRun = false, json }) => {
    const { checkFile } = await import('./core/provisioning/check-file.ts')
    const { applyFile } = await import('./core/provisioning/apply.ts')
    const checked = checkFile(await readJson(path), process.env, createNotifierFile(loaded))
    const result =
      checked.kind === 'refused'
        ? checked
        : await withKeyring((pool, keyring) => applyFile(pool, keyring, checked.file, dryRun))
    printApplied(path, result, { dryRun, json })
  })

program
  .command('channel')
  .description('the numbers that messages are sent from')
  .command('add')
  .description(
    'create a channel; its token comes from ACCESS_TOKEN or the terminal; webhooks need APP_SECRET and VERIFY_TOKEN',
  )
  .requiredOption('--tenant <id>', 'the tenant')
  .requiredOption('--number <id>', 'the phone number id')
  .option('--name <name>', 'its name; by default the phone number id')
  .option('--plan <plan>', 'free or paid; by default paid')
  .option('--default', 'make it the default channel, which sends the messages that name no channel')
  .option('--json', 'print JSON', false)
  .action(async ({ json, ...request }: ChannelRequest & { json: boolean }) => {
    const accessToken = await readSecret('ACCESS_TOKEN', 'access token of the number')
    const { APP_SECRET: appSecret, VERIFY_TOKEN: verifyToken } = process.env
    const secrets = { accessToken, appSecret: appSecret || undefined, verifyToken: verifyToken || undefined }
    const { addChannel } = await import('./core/provisioning/add-channel.ts')
    const result = await withKeyring((pool, keyring) => addChannel(pool, keyring, request, secrets))
    printApplied('The channel', result, { dryRun: false, json })
  })

addTokenCommands(program, withPool, {
  description: 'the bearer tokens of staff',
  holders: { '--staff <name>': 'the member of staff it speaks for' },
  create: createTokenFor,
  list: listTokens,
})

program
  .command('keys')
  .description('the keys that credentials are sealed with')
  .command('rotate')
  .description('seal every credential with the newest of CREDENTIALS_KEYS')
  .option('--json', 'print JSON', false)
  .action(async ({ json }) => {
    const result = await withKeyring((pool, keyring) => rotateKeys(pool, keyring))
    if (json) printJson(result)
    else if (result.rotated > 0) print(`${result.rotated} credentials were sealed with the newest key.`)
    else if (result.unopened.length === 0) print('All credentials already use the newest key.')
    if (result.unopened.length === 0) return
    for (const { tenant, phone_number_id, kind, slot, reason } of result.unopened)
      process.stderr.write(`  ${tenant} ${phone_number_id} ${kind} (${slot}): ${reason}\n`)
    process.exitCode = 1
  })

const append = (text: string, texts: string[] = []): string[] => [...texts, text]

program
  .command('send')
  .description('queue a template message; a running notifier sends it')
  .requiredOption('--tenant <id>', 'the tenant')
  .requiredOption('--template <name>', 'the template')
  .requiredOption('--language <code>', 'its language, such as en_US')
  .option('--to <phone>', 'the recipient; with --waybill, by default the customer')
  .option(
    '--waybill <number>',
    'the parcel that it is about; texts may name fields of its order, such as {{customer_name}}',
  )
  .option('--channel <id>', 'the phone number id to send from; without it, the default channel')
  .option('--header <text>', 'the parameter of the header')
  .option('--body <text>', 'a parameter of the body; repeat the option for each, in order', append)
  .option('--json', 'print JSON', false)
  .action(async ({ json, ...request }: SendRequest & { json?: boolean }) => {
    const known = loadConfigOrExit(Type.Object({ ...databaseSettings, ...orderSettings }), process.env)
    const { createLogger } = await import('@courier/shared/log.ts')
    const { sendMessage } = await import('./core/messages/send-command.ts')
    const logger = createLogger('notifier admin', 'silent')
    const { createOrdersClient } = await import('./core/orders-client/http-client.ts')
    const orders = createOrdersClient({ url: ordersUrl(known), serviceToken: known.SERVICE_TOKEN, logger })
    const result = await withPool(pool => sendMessage({ pool, orders }, request)).finally(() => orders.close())
    if (result.kind === 'refused') {
      printFieldErrors('The message', result.errors, json ?? false, 'queued')
      process.exitCode = 1
    } else if (json) printJson(result.message)
    else print(`${result.message.id} is ${result.message.status}.`)
  })

addAudit(program, withPool)

for (const { addCommands } of loaded.values()) addCommands?.(program, { withPool, withKeyring })

const asOwner = () => {
  const known = settings()
  const { NOTIFIER_MIGRATE_DATABASE_URL: url = known.NOTIFIER_DATABASE_URL } = known
  return url
}
addArchive(program, openPool('notifier admin', asOwner), { messages: takeMessages })

await runCommand(() => program.parseAsync(), { program: 'notifier', databaseSetting: 'NOTIFIER_DATABASE_URL' })
