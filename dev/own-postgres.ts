import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabaseWithRoles } from './databases.ts'
import { freePort } from './ports.ts'
import { startPostgres } from './postgres.ts'
import { embeddedPassword } from './settings.ts'
import type { Teardown } from './test-database.ts'

/** A Postgres as in production, with fsync, that has the roles and an empty database of a service. Gone after `teardown`. */
export const startOwnPostgres = async (t: Teardown, name: string, settings: Record<string, string> = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-own-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const options = { folder, port: await freePort(), settings }
  let starting = startPostgres(options)
  t.teardown(async () => (await starting.catch(() => undefined))?.remove())
  await createDatabaseWithRoles((await starting).url, name)
  return {
    /** Its address for a role, such as `<name>_owner` or postgres. */
    addressAs: (role: string): string => `postgres://${role}:${embeddedPassword}@127.0.0.1:${options.port}/${name}`,
    kill: async () => (await starting).kill(),
    start: async (): Promise<void> => {
      starting = startPostgres(options)
      await starting
    },
  }
}
