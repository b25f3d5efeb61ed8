import pg from 'pg'
import { embeddedPassword } from './settings.ts'

/**
 * Makes the roles and the database of a service where they are missing: `<name>_owner` owns the tables, `<name>` reads
 * and writes them; no other role may connect.
 */
export const createDatabaseWithRoles = async (superuserUrl: string, name: string): Promise<void> => {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    for (const role of [name, `${name}_owner`])
      if (!(await exists(client, 'select 1 from pg_roles where rolname = $1', role)))
        await client.query(`create role ${role} login password '${embeddedPassword}'`)
    if (!(await exists(client, 'select 1 from pg_database where datname = $1', name)))
      await client.query(`create database ${name} owner ${name}_owner`)
    await client.query(`revoke connect on database ${name} from public`)
    await client.query(`grant connect on database ${name} to ${name}`)
  } finally {
    await client.end()
  }
}

const exists = async (client: pg.Client, text: string, name: string): Promise<boolean> =>
  ((await client.query(text, [name])).rowCount ?? 0) > 0

/** No role but the superuser may connect to the databases that came with the cluster. */
export const closeOtherDatabases = async (superuserUrl: string): Promise<void> => {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  await client.query('revoke connect on database postgres, template1 from public').finally(() => client.end())
}
