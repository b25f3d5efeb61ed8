import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startOwnPostgres } from '../../dev/own-postgres.ts'
import type { ServiceProcess } from '../../dev/service-process.ts'
import { root } from '../../dev/settings.ts'
import { startProxy, type TcpProxy } from '../../dev/tcp-proxy.ts'
import type { TestDatabase } from '../../dev/test-database.ts'
import { rules as replies } from '../../services/notifier/test/replies-fixture.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../../services/orders/test/webhook-receiver.ts'
import { type Courier, startAnother, startCourier } from '../courier.ts'
import type { TrustOptions } from '../promise.ts'
import type { linkNames, processNames, serverNames } from './plan.ts'

type OwnPostgres = Awaited<ReturnType<typeof startOwnPostgres>>

/** Two processes of each service, whose every connection goes through a link that can fail. */
export interface Bed {
  readonly courier: Courier
  readonly processes: Readonly<Record<(typeof processNames)[number], ServiceProcess>>
  readonly links: Readonly<Record<(typeof linkNames)[number], TcpProxy>>
  readonly servers: Readonly<Record<(typeof serverNames)[number], OwnPostgres>>
  readonly endpoint: WebhookReceiver
}

export const pauseSeconds = 1

const aboutStatus = (on: string, template: string) => {
  return { on, template, language: 'en_US', body: ['{{customer_name}}', '{{waybill_number}}'] }
}
const rules = [
  ...replies,
  aboutStatus('key_3', 'order_cancelled'),
  aboutStatus('key_12', 'order_out_for_delivery'),
  aboutStatus('key_13', 'order_delivered'),
]

/** The clocks of the processes go wrong by so many hours, one after the other. */
const CLOCK_IS_WRONG_BY = '0,3,-2,0.5,-5,0'
const NODE_OPTIONS = `--import ${pathToFileURL(join(root, 'dev/wrong-clock.ts'))}`

interface End {
  port: number
  readonly host: string
}
const endAt = (url = 'http://127.0.0.1:1'): End => ({ host: '127.0.0.1', port: Number(new URL(url).port) })
const move = (end: End, url: string): void => void Object.assign(end, endAt(url))
export const addressOf = ({ port }: TcpProxy): string => `http://127.0.0.1:${port}`

export const startBed = async (t: TrustOptions): Promise<Bed> => {
  const link = async (...ends: readonly End[]): Promise<TcpProxy> => {
    const proxy = await startProxy(...ends)
    t.teardown(proxy.close)
    return proxy
  }
  // Fast starts: in the short form every second counts.
  const settings = { max_connections: '120' }
  const [ordersPostgres, notifierPostgres, endpoint] = await Promise.all([
    startOwnPostgres(t, 'orders', settings),
    startOwnPostgres(t, 'notifier', settings),
    startWebhookReceiver(t),
  ])
  // What is not started yet gets its address later: both processes of orders, both of the notifier, and the simulator.
  const [orders, notifier] = [
    [endAt(), endAt()],
    [endAt(), endAt()],
  ]
  const api = endAt()
  const links = {
    'clients-orders': await link(...orders),
    'clients-notifier': await link(...notifier),
    'webhooks-notifier': await link(...notifier),
    'orders-notifier': await link(...notifier),
    'notifier-orders': await link(...orders),
    'notifier-API': await link(api),
    'orders-Postgres': await link(endAt(ordersPostgres.addressAs('orders'))),
    'notifier-Postgres': await link(endAt(notifierPostgres.addressAs('notifier'))),
    'orders-endpoint': await link(endAt(endpoint.url)),
  }
  const common = { NODE_OPTIONS, CLOCK_IS_WRONG_BY }
  let second: Promise<[ServiceProcess, ServiceProcess]> = Promise.reject(new Error('the services were not started'))
  second.catch(() => undefined)
  const courier = await startCourier(t, {
    rules,
    rate: 200,
    ordersDatabase: databaseOf('orders', ordersPostgres, links['orders-Postgres']),
    notifierDatabase: databaseOf('notifier', notifierPostgres, links['notifier-Postgres']),
    orders: { ...common, NOTIFIER_URL: addressOf(links['orders-notifier']) },
    notifier: {
      ...common,
      ORDERS_URL: addressOf(links['notifier-orders']),
      MESSAGING_API_URL: addressOf(links['notifier-API']),
      RECIPIENT_PAUSE_SECONDS: String(pauseSeconds),
    },
    simulator: {
      WEBHOOK_URL: `${addressOf(links['webhooks-notifier'])}/webhooks/messaging`,
      // It repeats webhooks for six minutes, in the short form for two.
      SIMULATOR_DELAY_FACTOR: t.short ? '0.3' : '1',
    },
    onStarted: stack => {
      second = Promise.all([startAnother(t, stack, 'orders'), startAnother(t, stack, 'notifier')])
      // Awaited below, whatever fails before.
      second.catch(() => undefined)
      move(orders[0] as End, stack.orders.url)
      move(notifier[0] as End, stack.notifier.url)
      move(api, stack.simulator.url)
    },
  })
  const [ordersTwo, notifierTwo] = await second
  move(orders[1] as End, ordersTwo.url)
  move(notifier[1] as End, notifierTwo.url)
  return {
    courier,
    processes: {
      ...{ 'orders-1': courier.orders, 'orders-2': ordersTwo },
      ...{ 'notifier-1': courier.notifier, 'notifier-2': notifierTwo },
    },
    links,
    servers: { 'Postgres-of-orders': ordersPostgres, 'Postgres-of-notifier': notifierPostgres },
    endpoint,
  }
}

/** The service's roles go through the link, the audit does not. */
const databaseOf = (name: string, { addressAs }: OwnPostgres, { port }: TcpProxy): TestDatabase => {
  const through = (role: string): string => Object.assign(new URL(addressAs(role)), { port: String(port) }).href
  return { url: through(name), ownerUrl: through(`${name}_owner`), superuserUrl: addressAs('postgres') }
}
