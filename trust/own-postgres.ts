import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createDatabaseWithRoles } from '../dev/databases.ts'
import { freePort } from '../dev/ports.ts'
import { type EmbeddedPostgres, startPostgres } from '../dev/postgres.ts'
import { embeddedPassword } from '../dev/settings.ts'
import type { Teardown, TestDatabase } from '../dev/test-database.ts'

export interface OwnPostgres {
  /** Empty, with the roles of orders. */
  orders: TestDatabase & { superuserUrl: string }
  kill: () => Promise<void>
  start: () => Promise<void>
}

/** A Postgres as in production, with fsync, for whoever kills it. Gone after `teardown`. */
export const startOwnPostgres = async (t: Teardown): Promise<OwnPostgres> => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-trust-'))
  await chmod(folder, 0o755)
  const options = { folder, port: await freePort() }
  let postgres: EmbeddedPostgres = await startPostgres(options)
  t.teardown(async () => {
    await postgres.remove()
    await rm(folder, { recursive: true, force: true })
  })
  await createDatabaseWithRoles(postgres.url, 'orders')
  const as = (role: string) => `postgres://${role}:${embeddedPassword}@127.0.0.1:${options.port}/orders`
  return {
    orders: { url: as('orders'), ownerUrl: as('orders_owner'), superuserUrl: as('postgres') },
    kill: () => postgres.kill(),
    start: async () => {
      postgres = await startPostgres(options)
    },
  }
}
