import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migrate } from '@courier/shared/postgres/migrate.ts'
import { createDatabaseWithRoles, onServer } from '../dev/databases.ts'
import { embeddedPassword, root } from '../dev/settings.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'

const services = ['orders', 'notifier'] as const

/** Runs the statements for one service of the file that compose's Postgres runs at its first start. */
const createAsCompose = async (server: string, name: string): Promise<void> => {
  const [, service = ''] = name.split('_compose_')[1]?.match(/^([a-z]+)_/) ?? []
  const statements = (await readFile(join(root, 'ops/postgres/roles.sql'), 'utf8'))
    .replace(/^(--|\\).*$/gm, '')
    .split(';')
    .filter(part => part.includes(` ${service}`))
  if (statements.length !== 5)
    throw new Error(`ops/postgres/roles.sql has ${statements.length} statements of ${service}`)
  await onServer(server, async client => {
    for (const statement of statements)
      await client.query(
        statement.replace(/:'\w+'/, `'${embeddedPassword}'`).replaceAll(new RegExp(`\\b${service}`, 'g'), name),
      )
  })
}

/** Maps names to the ways to create the database of a service. */
const setUps: Readonly<Record<string, (server: string, name: string) => Promise<void>>> = {
  embedded: createDatabaseWithRoles,
  compose: createAsCompose,
}

const buildAddress = (server: string, role: string, database: string): string =>
  Object.assign(new URL(server), { username: role, password: embeddedPassword, pathname: database }).href

/** Creates and migrates the databases of both services, under names that only this run uses. Returns the names. */
const provision = async (t: TrustOptions, server: string, how: string): Promise<string[]> => {
  const run = randomBytes(4).toString('hex')
  const names = services.map(service => `trust_${how}_${service}_${run}`)
  for (const [index, name] of names.entries()) {
    await setUps[how]?.(server, name)
    t.teardown(() =>
      onServer(server, async client => {
        await client.query(`drop database ${name} with (force)`)
        await client.query(`drop role ${name}, ${name}_owner`)
      }),
    )
    const migrations = join(root, 'services', services[index] ?? '', 'core/database/migrations')
    await migrate(buildAddress(server, `${name}_owner`, name), migrations, name)
  }
  return names
}

/** Holds queries that find nothing when the roles are correct; $1 is the role of the service. */
const errorQueries: Readonly<Record<string, string>> = {
  'a role has more than a login': `select rolname from pg_roles where rolname in ($1::text, $1::text || '_owner')
     and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication or not rolcanlogin)`,
  'a role is a member of another': `select member::regrole from pg_auth_members
     where member in ($1::text::regrole, ($1::text || '_owner')::regrole)`,
  'something does not belong to the role that migrates': `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relowner <> ($1::text || '_owner')::regrole`,
  'the role of the service owns something': `select classid::regclass, objid from pg_shdepend
     where refobjid = $1::text::regrole and deptype = 'o'`,
  'a table has no policy or does not force it': `select relname from pg_class c
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not like 'kysely%'
       and $1::text <> ''
       and not (relrowsecurity and relforcerowsecurity and exists (select from pg_policy where polrelid = c.oid))`,
  'the role of the service may do more than read and write': `select relname, privilege from pg_class,
       unnest(array['TRUNCATE', 'REFERENCES', 'TRIGGER']) privilege
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and has_table_privilege($1::text, pg_class.oid, privilege)`,
  'the role of the service may write the list of migrations': `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname like 'kysely%'
       and has_table_privilege($1::text, oid, 'insert, update, delete')`,
  'the role of the service may create tables': `select nspname from pg_namespace
     where nspname = 'public' and has_schema_privilege($1::text, oid, 'create')`,
}

const checkRoles = (server: string, name: string, broken: Broken): Promise<void> =>
  onServer(buildAddress(server, 'postgres', name), async client => {
    for (const [error, text] of Object.entries(errorQueries)) {
      const { rows } = await client.query(text, [name])
      broken.require(rows.length === 0, `${name}: ${error}: ${JSON.stringify(rows)}`)
    }
  })

/** Returns the refusal of a login; undefined: the login succeeded. */
const tryLogin = (address: string): Promise<string | undefined> =>
  onServer(address, async () => {}).then(
    () => undefined,
    error => String((error as { code?: unknown }).code),
  )

/** Tries each role at each database. Returns the number of logins. */
const checkLogins = async (server: string, names: readonly string[], broken: Broken): Promise<number> => {
  let logins = 0
  for (const own of names)
    for (const other of names)
      for (const role of [own, `${own}_owner`]) {
        const refusal = await tryLogin(buildAddress(server, role, other))
        const isRight = own === other ? refusal === undefined : refusal === '42501'
        broken.require(isRight, `${role} at the database ${other}: ${refusal ?? 'admitted'}`)
        logins++
      }
  return logins
}

export const promise: TrustPromise = {
  promise: 'The role of a service owns nothing, is held by row-level security, and opens only its own database',
  limit: 'embedded Postgres and compose: 0 rights too many, every other login refused',
  run: async options => {
    const server = process.env.TEST_POSTGRES_URL ?? ''
    const { broken } = options
    let [rights, logins] = [0, 0]
    for (const how of Object.keys(setUps)) {
      const names = await provision(options, server, how)
      for (const name of names) await checkRoles(server, name, broken)
      rights += names.length * Object.keys(errorQueries).length
      logins += await checkLogins(server, names, broken)
    }
    return { rights, logins, 'too many': broken.count }
  },
}
