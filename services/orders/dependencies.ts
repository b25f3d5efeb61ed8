import type { Edge } from '@courier/shared/edge/server.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { createSlices } from '@courier/shared/slices.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { createSending, type SendingOptions } from './capabilities/feed/sender.ts'
import { createChangeWatch } from './capabilities/feed/watch.ts'
import { Printer } from './capabilities/labels/printer.ts'
import { createRateGaps } from './capabilities/rate-gaps/recorder.ts'
import { createLogins, type LoginLimits } from './core/access/login.ts'
import { createTokenReader } from './core/access/tokens.ts'
import { createBatchWriter } from './core/booking/batch-writer.ts'
import { createFindHabits } from './core/booking/history.ts'
import { createWaybillNumbers } from './core/booking/waybill-numbers.ts'
import { createCatalogues } from './core/catalogue/catalogue.ts'
import { createWholeLists } from './core/lists/whole-list.ts'
import { countDeliveries, createRelay, watchOutbox } from './core/relay/relay.ts'
import { createSnapshotReader } from './core/tracking/order-snapshot.ts'
import { createOrderFinder } from './core/tracking/read-orders.ts'

export interface OrdersOptions extends Edge {
  pool: pg.Pool
  logger: Logger
  /** Sends events to the notifier. */
  notifier: ServiceClient
  /** Reads messages from the notifier. Events use the other client, so they never wait for these requests. */
  messages: ServiceClient
  serviceToken: string
  maxOrdersPerBatch: number
  /** Limits the body of a bulk request, in bytes. */
  maxBodyBytes: number
  /** Limits the requests of one merchant. */
  requestsPerMinute: number
  /** Limits the requests of one network address without a token. */
  publicRequestsPerMinute: number
  /** Limits the bytes of the catalogues in memory, with the lists and indexes made from them. */
  catalogueBytes: number
  login: LoginLimits
  webhooks: SendingOptions
}

/**
 * Creates everything that routes need, by the names of their options, and the background workers. The relay and the
 * sender of webhooks run once they are started.
 */
export const createDependencies = (options: OrdersOptions, registry: Registry) => {
  const { pool, logger, notifier, tracer, publicUrl } = options
  watchOutbox(pool, registry)
  const catalogues = createCatalogues(pool, options.catalogueBytes, registry)
  const readSnapshots = createSnapshotReader({ pool, catalogues }, publicUrl)
  const relay = createRelay({ pool, logger, notifier, tracer, readSnapshots, ...countDeliveries(registry) })
  const watch = createChangeWatch(pool, logger)
  const sending = createSending(pool, logger, options.webhooks, registry)
  const gaps = createRateGaps(pool, logger)
  const printer = new Printer()
  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  /** Wakes everything that waits for changes of the tenant's orders. */
  const onChanged = (tenant: string): void => {
    relay.wake(tenant)
    watch.wake()
    sending.sender?.wake(tenant)
  }
  return {
    ...options,
    publicUrl,
    catalogues,
    relay,
    watch,
    sending,
    gaps,
    printer,
    findOrder: createOrderFinder({ pool, catalogues }),
    findCaller: createTokenReader(pool),
    openWholeList: createWholeLists({ pool, catalogues }),
    nextSlice: createSlices(),
    logins: createLogins(pool, options.login),
    numbers: createWaybillNumbers(pool),
    writeBatch: createBatchWriter(pool, tracer),
    findHabits: createFindHabits(pool),
    onChanged,
    onBooked: (tenant: string, orders: number): void => {
      booked.inc(orders)
      onChanged(tenant)
    },
    /** Ends the workers that start on their own. */
    close: () => Promise.all([gaps.close(), printer.close()]),
  }
}

export type Dependencies = ReturnType<typeof createDependencies>
