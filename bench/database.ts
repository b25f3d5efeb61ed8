import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createDatabaseWithRoles } from '../dev/databases.ts'
import { freePort } from '../dev/ports.ts'
import { startPostgres } from '../dev/postgres.ts'
import { embeddedPassword } from '../dev/settings.ts'
import { tell } from './bench.ts'

/** Each floor keeps its connections beside those of the service. */
const settings = { max_connections: '400' }

/** Its address for a role, such as `<name>_owner` or postgres. */
export type AddressAs = (role: string) => string

/** The database of a service in a Postgres of its own, with fsync and all else as in production. */
export const startDatabase = async (name: string, cleanUps: AsyncDisposableStack): Promise<AddressAs> => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-bench-'))
  cleanUps.defer(() => rm(folder, { recursive: true, force: true }))
  await chmod(folder, 0o755)
  const port = await freePort()
  const starting = startPostgres({ folder, port, settings })
  cleanUps.defer(async () => {
    const postgres = await starting.catch(() => undefined)
    await postgres?.remove()
  })
  await createDatabaseWithRoles((await starting).url, name)
  return role => `postgres://${role}:${embeddedPassword}@127.0.0.1:${port}/${name}`
}

export const connectSuperuser = async (addressAs: AddressAs, cleanUps: AsyncDisposableStack): Promise<pg.Client> => {
  const superuser = new pg.Client({ connectionString: addressAs('postgres') })
  superuser.on('error', error => tell(`the connection to Postgres broke: ${error.message}`))
  await superuser.connect()
  cleanUps.defer(() => superuser.end())
  return superuser
}
