import pg from 'pg'
import { startOwnPostgres } from '../dev/own-postgres.ts'
import { teardownOf } from '../dev/tool.ts'
import { tell } from './service.ts'

/** A database of a service in a Postgres of its own, the addresses of its roles, and a connection of its superuser. */
export const startDatabase = async (name: 'orders' | 'notifier', cleanUps: AsyncDisposableStack) => {
  // Each baseline keeps its connections beside those of the service.
  const { addressAs } = await startOwnPostgres(teardownOf(cleanUps), name, { max_connections: '400' })
  const superuser = new pg.Client({ connectionString: addressAs('postgres') })
  superuser.on('error', error => tell(`the connection to Postgres broke: ${error.message}`))
  await superuser.connect()
  cleanUps.defer(() => superuser.end())
  const setting = name.toUpperCase()
  const environment = {
    [`${setting}_DATABASE_URL`]: addressAs(name),
    [`${setting}_MIGRATE_DATABASE_URL`]: addressAs(`${name}_owner`),
  }
  return { databaseUrl: addressAs(name), superuser, environment }
}
