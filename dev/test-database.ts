import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { createPool } from '@courier/shared/postgres/database.ts'
import { migrate } from '@courier/shared/postgres/migrate.ts'
import pg from 'pg'
import type { Chosen } from './chosen-capabilities.ts'
import { cloneOnCitus, makeCitusTemplate } from './citus.ts'
import { createDatabaseWithRoles, onServer } from './databases.ts'
import { embeddedPassword, root } from './settings.ts'

const services = ['orders', 'notifier'] as const
type Service = (typeof services)[number]

/** Holds the URLs of one test file's database, by role. A service gets the first two. */
export interface TestDatabase {
  url: string
  ownerUrl: string
  superuserUrl: string
}

const buildAddresses = (server: string, service: string, database: string): TestDatabase => {
  const as = (parts: object): string => Object.assign(new URL(server), { pathname: database, ...parts }).href
  const password = embeddedPassword
  return {
    url: as({ username: formatTestName(service), password }),
    ownerUrl: as({ username: `${formatTestName(service)}_owner`, password }),
    superuserUrl: as({}),
  }
}

/** Names the roles and the template of the tests, which are never a service's own, whatever the server. */
const formatTestName = (service: string): string => `courier_test_${service}`

/** Creates a migrated database for each service, which the tests clone. */
export const makeTemplates = async (server: string): Promise<void> => {
  for (const service of services) {
    await createDatabaseWithRoles(server, formatTestName(service))
    const { ownerUrl } = buildAddresses(server, service, formatTestName(service))
    await migrate(ownerUrl, join(root, 'services', service, 'core/database/migrations'), formatTestName(service))
  }
  for (const chosen of ['all', 'none'] as const)
    for (const demo of ['plain', 'cards'] as const) await makeDemo(server, chosen, demo)
}

/** Creates the database that the tests on Citus clone, if there is a Citus. */
export const makeTemplateOnCitus = async (): Promise<void> => {
  if (!citus) return
  const { ownerUrl } = buildAddresses(citus, 'orders', formatTestName('orders'))
  await makeCitusTemplate(citus, formatTestName('orders'), ownerUrl)
}

/** Names a tenant of `demoFiles`. */
type Demo = 'plain' | 'cards'

const formatDemoName = (chosen: Chosen, demo: Demo): string => `${formatTestName('orders')}_${chosen}_${demo}`

/** Creates a database of orders with a tenant of `demoFiles`. */
const makeDemo = async (server: string, chosen: Chosen, demo: Demo): Promise<void> => {
  const { applyTenant } = await import('../services/orders/core/provisioning/apply.ts')
  const { capabilities, createCompanyFile } = await import('../services/orders/capabilities.ts')
  const { demoFiles } = await import('../services/orders/test/tenant.ts')
  const name = formatDemoName(chosen, demo)
  const create = formatCreation(name, 'orders', formatTestName('orders'))
  await onServer(server, client => client.query(`drop database if exists ${name} with (force)`))
  await onServer(server, client => client.query(create))
  const companyFile = createCompanyFile(await loadCapabilities(capabilities, chosen))
  const pool = createPool({ url: buildAddresses(server, 'orders', name).url, name: 'test', connections: 1 })
  await applyTenant(pool, demoFiles[demo], false, { companyFile }).finally(() => pool.end())
}

/** Connects the superuser to the coordinator of a Citus cluster. */
const citus = process.env.TEST_CITUS_URL
/** Marks, as an argument, a test file whose orders database is on Citus. */
export const onCitus = 'on-citus'

/** Registers clean-ups, as a test or a promise of trust/ does. */
export interface Teardown {
  teardown: (cleanUp: () => unknown) => unknown
}

declare global {
  /** Cleans up after the last file of a process that runs a folder. */
  var endOfProcess: Teardown | undefined
}

/**
 * Returns a function that gives all tests of a process one object, which `create` makes at the first call. Where the
 * process runs one file alone, each test gets its own.
 */
export const share = <Shared>(create: (end: Teardown) => Shared): ((t: Teardown) => Shared) => {
  let shared: { it: Shared } | undefined
  return t => {
    if (!globalThis.endOfProcess) return create(t)
    shared ??= { it: create(globalThis.endOfProcess) }
    return shared.it
  }
}

/** Creates a migrated database of `service`, dropped when the test ends. Needs the server that `npm test` starts. */
export const cloneDatabase = async (t: Teardown, service: Service): Promise<TestDatabase> => {
  if (service === 'orders' && process.argv.includes(onCitus)) {
    if (!citus) throw new Error('TEST_CITUS_URL names no Citus')
    const { name, drop } = await cloneOnCitus(citus, formatTestName(service))
    t.teardown(drop)
    return buildAddresses(citus, service, name)
  }
  return createDatabase(t, service, formatTestName(service))
}

/**
 * Creates a database of orders with a tenant of `demoFiles`, applied with these capabilities; undefined on Citus, which
 * has no such template.
 */
export const cloneDemo = async (t: Teardown, chosen: Chosen, demo: Demo): Promise<TestDatabase | undefined> =>
  process.argv.includes(onCitus) ? undefined : createDatabase(t, 'orders', formatDemoName(chosen, demo))

/** Creates a database of `service` without tables, dropped when the test ends. */
export const createEmptyDatabase = (t: Teardown, service: Service): Promise<TestDatabase> =>
  createDatabase(t, service, 'template0')

const createDatabase = async (t: Teardown, service: Service, template: string): Promise<TestDatabase> => {
  const server = process.env.TEST_POSTGRES_URL
  if (!server) throw new Error('run tests with `npm test -- FILE`: it starts the Postgres that they use')
  const name = `${formatTestName(service)}_${randomBytes(6).toString('hex')}`
  await onServer(server, client => client.query(formatCreation(name, service, template)))
  t.teardown(() => onServer(server, client => client.query(`drop database ${name} with (force)`)))
  return buildAddresses(server, service, name)
}

const formatCreation = (name: string, service: Service, template: string): string =>
  `create database ${name} template ${template} owner ${formatTestName(service)}_owner strategy file_copy`

/** Opens a connection, which the end of the test closes. */
export const connectTo = async (t: Teardown, url: string): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  return client
}

/** Creates an empty folder, which the end of the test removes. */
export const makeFolder = (t: Teardown): string => {
  const folder = mkdtempSync(join(tmpdir(), 'courier-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
