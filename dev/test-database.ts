import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { migrate } from '@courier/shared/database.ts'
import pg from 'pg'
import { createDatabaseWithRoles } from './databases.ts'
import { embeddedPassword, root } from './settings.ts'

const services = ['orders', 'notifier'] as const
type Service = (typeof services)[number]

/** A database of one test file: the roles' addresses, as a service gets them. */
export interface TestDatabase {
  url: string
  ownerUrl: string
}

const addresses = (server: string, service: string, database: string): TestDatabase => {
  const as = (role: string): string => {
    const url = new URL(server)
    url.username = role
    url.password = embeddedPassword
    url.pathname = database
    return url.href
  }
  return { url: as(testName(service)), ownerUrl: as(`${testName(service)}_owner`) }
}

/** The roles and the template of the tests: never those of a service, on whatever server the tests run. */
const testName = (service: string): string => `courier_test_${service}`

/** Makes a migrated database of each service, from which the tests clone theirs. */
export const makeTemplates = async (server: string): Promise<void> => {
  for (const service of services) {
    await createDatabaseWithRoles(server, testName(service))
    const { ownerUrl } = addresses(server, service, testName(service))
    await migrate(ownerUrl, join(root, 'services', service, 'database/migrations'), testName(service))
  }
}

/** Where a helper says how what it made is removed: a test, or a promise of trust/. */
export interface Teardown {
  teardown: (cleanUp: () => unknown) => unknown
}

/** A fresh, migrated database of `service`, dropped when the test ends. Needs the server that `npm test` starts. */
export const cloneDatabase = async (t: Teardown, service: Service): Promise<TestDatabase> => {
  const server = process.env.TEST_POSTGRES_URL
  if (!server) throw new Error('run tests with `npm test -- FILE`: it starts the Postgres that they use')
  const name = `${testName(service)}_${randomBytes(6).toString('hex')}`
  await onServer(server, `create database ${name} template ${testName(service)} owner ${testName(service)}_owner`)
  t.teardown(() => onServer(server, `drop database ${name} with (force)`))
  return addresses(server, service, name)
}

/** The same database as the superuser. */
export const superuserAddress = ({ url }: Pick<TestDatabase, 'url'>): string => {
  const address = new URL(process.env.TEST_POSTGRES_URL ?? '')
  address.pathname = new URL(url).pathname
  return address.href
}

const onServer = async (server: string, statement: string): Promise<void> => {
  const client = new pg.Client({ connectionString: server })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}
