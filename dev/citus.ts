import { randomBytes } from 'node:crypto'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { migrate } from '@courier/shared/postgres/migrate.ts'
import { createDatabaseWithRoles, onServer } from './databases.ts'
import { root } from './settings.ts'

const migrations = join(root, 'services/orders/core/database/migrations')
/** Returns true for the migrations that precede the distribution: the others run on shards, as in an upgrade. */
const isBefore = (file: string): boolean => basename(file) < '0035'

/** Reads the SQL that docs/operators/scaling.md says to run: it distributes the tables that are not yet distributed. */
const readDistributionSql = (): string => {
  const [, section = ''] = readFileSync(join(root, 'docs/operators/scaling.md'), 'utf8').split('\n## Citus\n')
  const text = /```sql\n(.*?)```/s.exec(section)?.[1]
  if (!text) throw new Error('docs/operators/scaling.md#citus has no SQL')
  return text
}

/** Lists the superuser's addresses of the database `name` on each node, the coordinator first. */
const listNodes = async (server: string, name: string): Promise<string[]> => {
  const listing = 'select nodename, nodeport from pg_dist_node order by groupid'
  const { rows } = await onServer(server, client => client.query(listing))
  return rows.map(
    ({ nodename, nodeport }) =>
      Object.assign(new URL(server), { hostname: nodename, port: nodeport, pathname: name }).href,
  )
}

const onNodes = async (server: string, name: string, act: (url: string) => Promise<unknown>): Promise<void> => {
  for (const url of await listNodes(server, name)) await act(url)
}

const run = (url: string, ...texts: string[]): Promise<void> =>
  onServer(url, async client => {
    for (const text of texts) await client.query(text)
  })

/** Creates a database of orders on all nodes, as docs/operators/scaling.md#citus says, and upgrades it. */
export const makeCitusTemplate = async (server: string, name: string, ownerUrl: string): Promise<void> => {
  const roles = [name, `${name}_owner`].map(role => `alter role ${role} set citus.propagate_set_commands = 'local'`)
  await onNodes(server, 'postgres', async url => {
    await run(url, `drop database if exists ${name} with (force)`)
    await createDatabaseWithRoles(url, name)
    await run(url, ...roles)
  })
  await onNodes(server, name, url => run(url, 'create extension citus'))
  await onNodes(server, name, async url => {
    const { hostname, port } = new URL(url)
    const isCoordinator = port === new URL(server).port
    const adding = isCoordinator ? 'citus_set_coordinator_host' : 'citus_add_node'
    await run(Object.assign(new URL(server), { pathname: name }).href, `select ${adding}('${hostname}', ${port})`)
  })
  const earlier = mkdtempSync(join(tmpdir(), 'courier-migrations-'))
  for (const file of globSync(`${migrations}/*.sql`).filter(isBefore)) cpSync(file, join(earlier, basename(file)))
  for (const folder of [earlier, migrations]) {
    await migrate(ownerUrl, folder, name)
    await run(ownerUrl, readDistributionSql())
  }
  rmSync(earlier, { recursive: true })
  // A template must have no connections, not even from Citus' maintenance.
  const ending = `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`
  await onNodes(server, 'postgres', url => run(url, `alter database ${name} allow_connections false`, ending))
}

/** Creates a copy of the template on all nodes. */
export const cloneOnCitus = async (server: string, template: string) => {
  const name = `${template}_${randomBytes(6).toString('hex')}`
  const nodes = await listNodes(server, 'postgres')
  const onEach = (text: string) => Promise.all(nodes.map(url => run(url, text)))
  await onEach(`create database ${name} template ${template} owner ${template}_owner strategy file_copy`)
  return { name, drop: () => onEach(`drop database if exists ${name} with (force)`) }
}
