import { print, printJson, printTable, UsageError } from '@courier/shared/cli/command-line.ts'
import type { WithPool } from '@courier/shared/cli/operator-commands.ts'
import type { Command } from 'commander'
import { listTrackingKeys, revokeTrackingKey, rotateTrackingKey } from './tracking-keys.ts'

/** Adds the commands that list, rotate and revoke the keys that sign the links on labels. */
export const addTrackingKeyCommands = (program: Command, withPool: WithPool): void => {
  const keys = program.command('tracking-keys').description("the keys that sign the links to parcels' pages")
  const add = (name: string, description: string) =>
    keys
      .command(name)
      .description(description)
      .requiredOption('--tenant <id>', 'the tenant')
      .option('--json', 'print JSON', false)

  add('list', 'list the keys, newest first: the first one signs').action(async ({ tenant, json }) => {
    const found = await withPool(pool => listTrackingKeys(pool, tenant))
    if (json) printJson(found)
    else printTable(found, 'The tenant has no key yet.')
  })
  add('rotate', 'sign new links with a new key; printed links stay valid until their key is revoked').action(
    async ({ tenant, json }) => {
      const key = await withPool(pool => rotateTrackingKey(pool, tenant))
      if (json) printJson({ tenant, key })
      else print(`The tracking key ${key} signs new links. Links of earlier keys are valid until you revoke them.`)
    },
  )
  add('revoke', 'end the links of an earlier key: their pages show neither amount nor city')
    .requiredOption('--key <number>', 'the number of the key')
    .action(async ({ tenant, key, json }) => {
      if (!/^\d{1,9}$/.test(key)) throw new UsageError('--key must be the number of a key')
      await withPool(pool => revokeTrackingKey(pool, tenant, Number(key)))
      if (json) printJson({ tenant, key: Number(key) })
      else print(`Links of the tracking key ${key} are no longer valid.`)
    })
}
