import type { Edge } from '@courier/shared/edge/server.ts'
import { guardHistory } from '@courier/shared/postgres/history.ts'
import type { ServiceClient } from '@courier/shared/service-client.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { createSlices } from '@courier/shared/work-slices.ts'
import type pg from 'pg'
import type { Logger } from 'pino'
import { Counter, type Registry } from 'prom-client'
import { type CheckLogin, createLogins, type LoginLimits } from './core/access/login.ts'
import type { Merchant } from './core/access/merchant.ts'
import { createTokenReader, type OnDeactivated } from './core/access/tokens.ts'
import { createBatchWriter } from './core/booking/batch-writer.ts'
import type { BookingPoint } from './core/booking/booking-point.ts'
import { createFindHabits } from './core/booking/history.ts'
import { createWaybillNumbers } from './core/booking/waybill-numbers.ts'
import { createCatalogues } from './core/catalogue/catalogue.ts'
import type { MissingRate } from './core/catalogue/price-parcels.ts'
import type { AddedFilters } from './core/lists/order-filter.ts'
import { createWholeLists } from './core/lists/whole-list.ts'
import type { CashPoint, MovePoint } from './core/moves/move-points.ts'
import { countDeliveries, createRelay, watchOutbox } from './core/relay/relay.ts'
import type { Facets } from './core/tracking/facets.ts'
import { createSnapshotReader, type SnapshotPoint } from './core/tracking/order-snapshot.ts'
import { createOrderFinder } from './core/tracking/read-orders.ts'

export interface CoreOptions extends Edge {
  pool: pg.Pool
  /** Says that a promoted standby has every acknowledged write. */
  hasSynchronousStandby?: boolean
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
  /** Seals secrets of capabilities. undefined: WEBHOOK_KEYS is not set. */
  keyring: Keyring | undefined
  /** Sends invitations. undefined: they are shown to be copied. */
  smtpUrl?: string | undefined
  /** Is the sender of invitations. */
  mailFrom?: string | undefined
  /** Holds SIGN_IN_PROVIDERS, which is valid. */
  signInProviders?: string | undefined
  /** Allows webhooks to http addresses and private networks. */
  allowsPrivate: boolean
}

/** Holds what capabilities add to the core: see capability.ts. */
export interface Points {
  readonly facets: Facets
  readonly movePoints: readonly MovePoint[]
  readonly bookingPoints: readonly BookingPoint[]
  readonly filters: AddedFilters
  readonly inMessages: readonly SnapshotPoint[]
  /** undefined: no capability books what recipients pay. */
  readonly cash: CashPoint | undefined
  readonly checkLogin: CheckLogin
  readonly onDeactivated: OnDeactivated
  readonly onChanged: (tenant: string) => void
  readonly onRefused: (merchant: Pick<Merchant, 'tenant' | 'merchantId'>, missing: readonly MissingRate[]) => void
}

/** Creates what routes of the core need, by the names of their options. The relay runs once it is started. */
export const createCore = (options: CoreOptions, registry: Registry, points: Points) => {
  const { pool, logger, notifier, tracer, publicUrl } = options
  watchOutbox(pool, registry)
  const catalogues = createCatalogues(pool, options.catalogueBytes, registry)
  const store = { pool, catalogues, facets: points.facets }
  const readSnapshots = createSnapshotReader(store, publicUrl, points.inMessages)
  const relay = createRelay({ pool, logger, notifier, tracer, readSnapshots, ...countDeliveries(registry) })
  const booked = new Counter({ name: 'orders_booked_total', help: 'Orders created.', registers: [registry] })
  const numbers = createWaybillNumbers(pool)
  const onRestored = () => {
    numbers.forget()
    catalogues.forget()
  }
  const history = guardHistory(pool, { logger, isSynchronous: options.hasSynchronousStandby ?? false, onRestored })
  /** Wakes everything that waits for changes of the tenant's orders. */
  const onChanged = (tenant: string): void => {
    relay.wake(tenant)
    points.onChanged(tenant)
  }
  return {
    ...options,
    ...points,
    publicUrl,
    registry,
    catalogues,
    relay,
    findOrder: createOrderFinder(store),
    findCaller: createTokenReader(pool),
    openWholeList: createWholeLists(store),
    nextSlice: createSlices(),
    logins: createLogins(pool, options.login, points.checkLogin),
    numbers,
    history,
    writeBatch: createBatchWriter(pool, tracer),
    findHabits: createFindHabits(pool),
    onChanged,
    onBooked: (tenant: string, orders: number): void => {
      booked.inc(orders)
      onChanged(tenant)
    },
  }
}

export type Core = ReturnType<typeof createCore>
