import type { Edge } from '@courier/shared/edge/server.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import { createSlices } from '@courier/shared/slices.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { createLogins, type LoginLimits } from './access/login.ts'
import { createTokenReader } from './access/tokens.ts'
import { createBatchWriter } from './booking/batch-writer.ts'
import { createFindHabits } from './booking/habits.ts'
import { createWaybillNumbers } from './booking/waybill-numbers.ts'
import { createCatalogues } from './catalogue/catalogue.ts'
import { createWholeLists } from './lists/whole-list.ts'
import type { SendingOptions } from './merchant-webhooks/sender.ts'
import { createOrderFinder } from './tracking/read-orders.ts'
import { createWorkers } from './workers.ts'

export interface OrdersOptions extends Edge {
  pool: pg.Pool
  logger: Logger
  /** The service that receives the order events. */
  notifier: ServiceClient
  /** Reads messages at the notifier. Events do not wait for it. */
  messages: ServiceClient
  serviceToken: string
  maxOrdersPerBatch: number
  /** The largest body of a bulk request. */
  maxBodyBytes: number
  /** The limit of one merchant. */
  requestsPerMinute: number
  /** The limit of one network address without a token. */
  publicRequestsPerMinute: number
  /** The size of the catalogues in memory, with the lists and indexes made of them. */
  catalogueBytes: number
  login: LoginLimits
  webhooks: SendingOptions
}

/** Creates everything that routes ask for, by the names of their options. */
export const createDependencies = (options: OrdersOptions, registry: Registry) => {
  const { pool, tracer } = options
  const catalogues = createCatalogues(pool, options.catalogueBytes, registry)
  const workers = createWorkers({ ...options, catalogues }, registry)
  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  return {
    ...options,
    ...workers,
    publicUrl: options.publicUrl,
    catalogues,
    findOrder: createOrderFinder(pool, catalogues),
    findCaller: createTokenReader(pool),
    openWholeList: createWholeLists(pool, catalogues),
    nextSlice: createSlices(),
    logins: createLogins(pool, options.login),
    dependencies: {
      pool,
      catalogues,
      numbers: createWaybillNumbers(pool),
      writeBatch: createBatchWriter(pool, tracer),
      findHabits: createFindHabits(pool),
    },
    onBooked: (tenant: string, orders: number): void => {
      booked.inc(orders)
      workers.onChanged(tenant)
    },
  }
}

export type Dependencies = ReturnType<typeof createDependencies>
