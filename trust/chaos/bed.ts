import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startOwnPostgres } from '../../dev/own-postgres.ts'
import { findFreePort, toAddress } from '../../dev/ports.ts'
import { type Environment, ServiceProcess } from '../../dev/service-process.ts'
import { root } from '../../dev/settings.ts'
import { startProxy, type TcpProxy } from '../../dev/tcp-proxy.ts'
import { cloneDatabase, type TestDatabase } from '../../dev/test-database.ts'
import { rules as replies } from '../../services/notifier/test/replies-fixture.ts'
import { type Courier, nowhere, startCourier } from '../courier.ts'
import type { TrustOptions } from '../promise.ts'
import { type Reactions, startEndpoints } from './endpoints.ts'
import type { linkNames, serverNames } from './plan.ts'

type Service = 'orders' | 'notifier'

export interface BedOptions {
  /** Names the services with two processes. */
  readonly pairs?: readonly Service[]
  /** Names the services with a Postgres of their own, which can be killed. */
  readonly ownPostgres?: readonly Service[]
  /** Adds settings to both services. */
  readonly environment?: Environment
  /** Sets the seconds between two messages to a person. */
  readonly pauseSeconds?: number
  /** Limits the messages per second. */
  readonly rate?: number
  readonly simulator?: Environment
  /**
   * Names the merchant's endpoints, each with its reactions while it is disturbed. A link leads to the first.
   */
  readonly endpoints?: Readonly<Record<string, Reactions>>
  /** true: parcels of a person that go out within a minute share a message. */
  readonly joinsParcels?: boolean
  /** true: orders delivers no event to the notifier, so there are no messages. */
  readonly isWithoutMessages?: boolean
}

const createStatusRule = (on: string, template: string) => {
  return { on, template, language: 'en_US', body: ['{{customer_name}}', '{{waybill_number}}'] }
}
const perPerson = { per: 'person', within: '1m', body: ['{{count}}', '{{waybill_numbers}}'] }
const listRules = (joinsParcels = false) => [
  ...replies,
  createStatusRule('key_3', 'order_cancelled'),
  { ...createStatusRule('key_12', 'order_out_for_delivery'), ...(joinsParcels && perPerson) },
  createStatusRule('key_13', 'order_delivered'),
]

/** Moves the clock of each process by the first of these hours, and at each `clock` fault by the next. */
export const wrongClock = {
  CLOCK_IS_WRONG_BY: '0,3,-2,0.5,-5,0',
  NODE_OPTIONS: `--import ${pathToFileURL(join(root, 'dev/wrong-clock.ts'))}`,
}

export const buildAddress = ({ port }: TcpProxy): string => `http://127.0.0.1:${port}`

/** Creates a database, on a Postgres that can be killed if the options say so. */
const prepareDatabase = async (t: TrustOptions, service: Service, { ownPostgres }: BedOptions) => {
  if (!ownPostgres?.includes(service)) return { database: await cloneDatabase(t, service), server: undefined }
  // A restored backup needs the WAL that is written while its files are copied.
  const server = await startOwnPostgres(t, service, { max_connections: '120', wal_keep_size: '1GB' })
  const as = server.buildAddress
  const database = { url: as(service), ownerUrl: as(`${service}_owner`), superuserUrl: as('postgres') }
  return { database, server }
}

/** Starts one more process of a service, on the database of the first. */
const startAnother = async (t: TrustOptions, courier: Courier, service: Service): Promise<ServiceProcess> => {
  const port = await findFreePort()
  const environment = { ...courier[service].environment, [`${service.toUpperCase()}_PORT`]: String(port) }
  const process = new ServiceProcess(`services/${service}/main.ts`, toAddress('127.0.0.1', port), environment)
  t.teardown(() => process.stop())
  process.start()
  await process.ready()
  return process
}

/** Routes the service's roles through the link, but not the superuser's connections, which the audit uses. */
const routeThrough = ({ port }: TcpProxy, { url, ownerUrl, superuserUrl }: TestDatabase): TestDatabase => {
  const through = (address: string): string => Object.assign(new URL(address), { port: String(port) }).href
  return { url: through(url), ownerUrl: through(ownerUrl), superuserUrl }
}

/** Describes the end of a link. A process gets its address later: until then its port is 1, where nothing listens. */
const at = (findUrl: () => string | undefined) => ({
  host: '127.0.0.1',
  get port(): number {
    return Number(new URL(findUrl() ?? nowhere).port)
  },
})

/** Starts the processes of the services, whose every connection goes through a link that can fail. */
export const startBed = async (t: TrustOptions, options: BedOptions) => {
  const { pairs = [], pauseSeconds = 0 } = options
  const link = async (...ends: ReturnType<typeof at>[]): Promise<TcpProxy> => {
    const proxy = await startProxy(...ends)
    t.teardown(proxy.close)
    return proxy
  }
  const [ordersData, notifierData, endpoints] = await Promise.all([
    prepareDatabase(t, 'orders', options),
    prepareDatabase(t, 'notifier', options),
    startEndpoints(t, options.endpoints ?? {}),
  ])
  const processes: Record<string, ServiceProcess> = {}
  let api: ServiceProcess | undefined
  const both = (service: Service) => [1, 2].map(n => at(() => processes[`${service}-${n}`]?.url))
  const links: Readonly<Record<(typeof linkNames)[number], TcpProxy>> = {
    'clients-orders': await link(...both('orders')),
    'clients-notifier': await link(...both('notifier')),
    'webhooks-notifier': await link(...both('notifier')),
    'orders-notifier': await link(...both('notifier')),
    'notifier-orders': await link(...both('orders')),
    'notifier-API': await link(at(() => api?.url)),
    'orders-Postgres': await link(at(() => ordersData.database.url)),
    'notifier-Postgres': await link(at(() => notifierData.database.url)),
    'orders-endpoint': await link(at(() => endpoints[0]?.url)),
  }
  const courier = await startCourier(t, {
    rules: listRules(options.joinsParcels),
    rate: options.rate ?? 1_000,
    ordersDatabase: routeThrough(links['orders-Postgres'], ordersData.database),
    notifierDatabase: routeThrough(links['notifier-Postgres'], notifierData.database),
    orders: {
      ...options.environment,
      NOTIFIER_URL: options.isWithoutMessages ? nowhere : buildAddress(links['orders-notifier']),
    },
    notifier: {
      ...options.environment,
      ORDERS_URL: buildAddress(links['notifier-orders']),
      MESSAGING_API_URL: buildAddress(links['notifier-API']),
      RECIPIENT_PAUSE_SECONDS: String(pauseSeconds),
    },
    simulator: {
      WEBHOOK_URL: `${buildAddress(links['webhooks-notifier'])}/webhooks/messaging`,
      // The simulator retries webhooks for six minutes, in the short form for two.
      SIMULATOR_DELAY_FACTOR: t.short ? '0.3' : '1',
      ...options.simulator,
    },
  })
  const { orders, notifier } = courier
  Object.assign(processes, { 'orders-1': orders, 'notifier-1': notifier })
  api = courier.simulator
  const others = pairs.map(async service => (processes[`${service}-2`] = await startAnother(t, courier, service)))
  await Promise.all(others)
  const servers: Readonly<Record<(typeof serverNames)[number], (typeof ordersData)['server']>> = {
    'Postgres-of-orders': ordersData.server,
    'Postgres-of-notifier': notifierData.server,
  }
  return { courier, processes, links, servers, endpoints, pauseSeconds, hasMessages: !options.isWithoutMessages }
}

export type Bed = Awaited<ReturnType<typeof startBed>>
