import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migrate } from '@courier/shared/postgres/database.ts'
import { createDatabaseWithRoles, onServer } from '../dev/databases.ts'
import { embeddedPassword, root } from '../dev/settings.ts'
import type { Broken, TrustOptions, TrustPromise } from './promise.ts'

const services = ['orders', 'notifier'] as const
type Service = (typeof services)[number]

/** Makes the databases of both services, as a way to set them up does, under names of this run alone. */
interface SetUp {
  readonly how: string
  readonly nameOf: (service: Service) => string
  readonly make: (server: string, name: string) => Promise<void>
}

/** The statements that compose's Postgres runs at its first start, taken from its script. */
const makeAsCompose = async (server: string, name: string): Promise<void> => {
  const script = await readFile(join(root, 'dev/compose-databases.sh'), 'utf8')
  const text = /<<'SQL'\n(.*)\nSQL\n/s.exec(script)?.[1]
  if (!text) throw new Error('dev/compose-databases.sh has no statements between SQL and SQL')
  const quoted: Record<string, string> = { name, owner: `${name}_owner` }
  const filled = text
    .replace(/:"(\w+)"/g, (_all, variable: string) => `"${quoted[variable]}"`)
    .replace(/:'(password|owner_password)'/g, `'${embeddedPassword}'`)
  await onServer(server, async client => {
    for (const statement of filled.split(';').filter(part => part.trim())) await client.query(statement)
  })
}

const setUps = (): SetUp[] => {
  const run = randomBytes(4).toString('hex')
  const named = (how: string) => (service: Service) => `trust_${how}_${service}_${run}`
  return [
    { how: 'embedded', nameOf: named('embedded'), make: createDatabaseWithRoles },
    { how: 'compose', nameOf: named('compose'), make: makeAsCompose },
  ]
}

const addressAs = (server: string, role: string, database: string): string => {
  const url = new URL(server)
  Object.assign(url, { username: role, password: embeddedPassword, pathname: database })
  return url.href
}

const provide = async (t: TrustOptions, server: string, { nameOf, make }: SetUp): Promise<void> => {
  for (const service of services) {
    const name = nameOf(service)
    await make(server, name)
    t.teardown(() =>
      onServer(server, async client => {
        await client.query(`drop database ${name} with (force)`)
        await client.query(`drop role ${name}, ${name}_owner`)
      }),
    )
    const migrations = join(root, 'services', service, 'database/migrations')
    await migrate(addressAs(server, `${name}_owner`, name), migrations, name)
  }
}

/** Queries that find nothing when the roles are as they must be; $1 is the role of the service. */
const faultQueries: Readonly<Record<string, string>> = {
  'a role has more than a login': `select rolname from pg_roles where rolname in ($1::text, $1::text || '_owner')
     and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication or not rolcanlogin)`,
  'a role is a member of another': `select member::regrole from pg_auth_members
     where member in ($1::text::regrole, ($1::text || '_owner')::regrole)`,
  'something does not belong to the role that migrates': `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relowner <> ($1::text || '_owner')::regrole`,
  'the role of the service owns something': `select classid::regclass, objid from pg_shdepend
     where refobjid = $1::text::regrole and deptype = 'o'`,
  'a table is not under forced row-level security': `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not like 'kysely%'
       and not (relrowsecurity and relforcerowsecurity) and $1::text <> ''`,
  'a table has no policy': `select relname from pg_class c
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and relname not like 'kysely%' and $1::text <> ''
       and not exists (select from pg_policy where polrelid = c.oid)`,
  'the role of the service may do more than read and write': `select relname, privilege from pg_class,
       unnest(array['TRUNCATE', 'REFERENCES', 'TRIGGER']) privilege
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
       and has_table_privilege($1::text, pg_class.oid, privilege)`,
  'the role of the service sees the list of migrations': `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relkind = 'r' and relname like 'kysely%'
       and has_table_privilege($1::text, oid, 'insert, update, delete')`,
  'the role of the service may make tables': `select nspname from pg_namespace
     where nspname = 'public' and has_schema_privilege($1::text, oid, 'create')`,
}

const checkRoles = async (server: string, { how, nameOf }: SetUp, broken: Broken): Promise<void> => {
  for (const service of services) {
    const name = nameOf(service)
    await onServer(addressAs(server, 'postgres', name), async client => {
      for (const [fault, text] of Object.entries(faultQueries)) {
        const { rows } = await client.query(text, [name])
        broken.require(rows.length === 0, `${how} ${service}: ${fault}: ${JSON.stringify(rows)}`)
      }
    })
  }
}

/** undefined: it could connect. */
const refusalOf = (address: string): Promise<string | undefined> =>
  onServer(address, async () => {}).then(
    () => undefined,
    error => String((error as { code?: unknown }).code),
  )

const checkDoors = async (server: string, { how, nameOf }: SetUp, broken: Broken): Promise<number> => {
  let doors = 0
  for (const own of services)
    for (const other of services)
      for (const role of [nameOf(own), `${nameOf(own)}_owner`]) {
        const refusal = await refusalOf(addressAs(server, role, nameOf(other)))
        const isRight = own === other ? refusal === undefined : refusal === '42501'
        broken.require(isRight, `${how}: ${own} at the database of ${other}: ${refusal ?? 'let in'}`)
        doors++
      }
  return doors
}

export const promise: TrustPromise = {
  promise: 'The role of a service owns nothing, is held by row-level security, and opens its own database alone',
  limit: 'embedded Postgres and compose: 0 rights too many, every other door closed',
  run: async options => {
    const server = process.env.TEST_POSTGRES_URL ?? ''
    const { broken } = options
    let doors = 0
    for (const setUp of setUps()) {
      await provide(options, server, setUp)
      await checkRoles(server, setUp, broken)
      doors += await checkDoors(server, setUp, broken)
    }
    const checks = setUps().length * services.length * Object.keys(faultQueries).length
    return { rights: checks, doors, faults: broken.count }
  },
}
