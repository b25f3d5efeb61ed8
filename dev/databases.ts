import pg from 'pg'
import { embeddedPassword } from './settings.ts'

/**
 * Creates the roles and the database of a service where they are missing: `<name>_owner` owns the tables, `<name>`
 * reads and writes them; no other role may connect.
 */
export const createDatabaseWithRoles = async (superuserUrl: string, name: string): Promise<void> => {
  await onServer(superuserUrl, async client => {
    for (const role of [name, `${name}_owner`])
      if (!(await exists(client, 'select 1 from pg_roles where rolname = $1', role)))
        await client.query(`create role ${role} login password '${embeddedPassword}'`)
    if (!(await exists(client, 'select 1 from pg_database where datname = $1', name)))
      await client.query(`create database ${name} owner ${name}_owner`)
    await client.query(`revoke connect on database ${name} from public`)
    await client.query(`grant connect on database ${name} to ${name}`)
  })
}

/** Opens a connection of its own for `act`, and closes it afterwards. */
export const onServer = async <Result>(url: string, act: (client: pg.Client) => Promise<Result>): Promise<Result> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return act(client).finally(() => client.end())
}

const exists = async (client: pg.Client, text: string, name: string): Promise<boolean> =>
  ((await client.query(text, [name])).rowCount ?? 0) > 0

/** Lets only the superuser connect to the databases that initdb created. */
export const closeOtherDatabases = (superuserUrl: string): Promise<unknown> =>
  onServer(superuserUrl, client => client.query('revoke connect on database postgres, template1 from public'))
