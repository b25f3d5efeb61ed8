import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { migrate } from '@courier/shared/postgres/migrate.ts'
import { cloneOnCitus, makeCitusTemplate } from './citus.ts'
import { createDatabaseWithRoles, onServer } from './databases.ts'
import { embeddedPassword, root } from './settings.ts'

const services = ['orders', 'notifier'] as const
type Service = (typeof services)[number]

/** A database of one test file: its URLs by role, as a service gets the first two. */
export interface TestDatabase {
  url: string
  ownerUrl: string
  superuserUrl: string
}

const addresses = (server: string, service: string, database: string): TestDatabase => {
  const as = (parts: object): string => Object.assign(new URL(server), { pathname: database, ...parts }).href
  const password = embeddedPassword
  return {
    url: as({ username: testName(service), password }),
    ownerUrl: as({ username: `${testName(service)}_owner`, password }),
    superuserUrl: as({}),
  }
}

/** The roles and the template of the tests: never a service's own, whatever server the tests run on. */
const testName = (service: string): string => `courier_test_${service}`

/** Creates a migrated database for each service, which the tests clone. */
export const makeTemplates = async (server: string): Promise<void> => {
  for (const service of services) {
    await createDatabaseWithRoles(server, testName(service))
    const { ownerUrl } = addresses(server, service, testName(service))
    await migrate(ownerUrl, join(root, 'services', service, 'database/migrations'), testName(service))
  }
  if (citus) {
    const { ownerUrl } = addresses(citus, 'orders', testName('orders'))
    await makeCitusTemplate(citus, testName('orders'), ownerUrl)
  }
}

/** The coordinator of a Citus, as superuser. */
const citus = process.env.TEST_CITUS_URL
/** The value that marks a test file whose database of orders is on Citus. */
export const onCitus = 'on-citus'

/** A place to register clean-up: a test, or a promise of trust/. */
export interface Teardown {
  teardown: (cleanUp: () => unknown) => unknown
}

/**
 * Creates a fresh, migrated database of `service`, dropped when the test ends. Needs the server that `npm test` starts.
 */
export const cloneDatabase = async (t: Teardown, service: Service): Promise<TestDatabase> => {
  if (service === 'orders' && process.argv.includes(onCitus)) {
    if (!citus) throw new Error('TEST_CITUS_URL names no Citus')
    const { name, drop } = await cloneOnCitus(citus, testName(service))
    t.teardown(drop)
    return addresses(citus, service, name)
  }
  const server = process.env.TEST_POSTGRES_URL
  if (!server) throw new Error('run tests with `npm test -- FILE`: it starts the Postgres that they use')
  const name = `${testName(service)}_${randomBytes(6).toString('hex')}`
  const create = `create database ${name} template ${testName(service)} owner ${testName(service)}_owner strategy file_copy`
  await onServer(server, client => client.query(create))
  t.teardown(() => onServer(server, client => client.query(`drop database ${name} with (force)`)))
  return addresses(server, service, name)
}
