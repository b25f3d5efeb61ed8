import { createPool } from '@courier/shared/postgres/database.ts'
import { createServiceClient } from '@courier/shared/service-client.ts'
import { pino } from 'pino'
import type { Test } from 'tap'
import type { OrdersOptions } from '../app.ts'
import { createCatalogues } from '../core/catalogue/catalogue.ts'
import type { DeliveryLoop } from '../core/log/delivery-loop.ts'
import { createRelay, type RelayOptions } from '../core/relay/relay.ts'
import { createSnapshotReader } from '../core/tracking/order-snapshot.ts'
import { build, serviceToken } from './build.ts'
import { startReceiver } from './receiver.ts'
import { tenantFile } from './tenant.ts'

/** Creates a client with short deadlines. The end of the test closes it. */
export const createClient = (t: Test, baseUrl: string) => {
  const client = createServiceClient({ baseUrl, serviceToken, callMilliseconds: 1_000, openMilliseconds: 300 })
  t.teardown(() => client.close())
  return client
}

/**
 * Starts the application with a relay that is not running, a receiver for it, and functions that fill and read the log.
 */
export const startRelayFixture = async (t: Test, options: Partial<OrdersOptions> = {}) => {
  const receiver = await startReceiver(t)
  const app = await build(t, { notifier: createClient(t, receiver.url), ...options })
  const { rows, createToken, apply, database } = app

  /** Adds a tenant. Returns the options that book for it. */
  const addTenant = async (id: string) => {
    await apply(tenantFile({ id, waybills: { mode: 'auto', format: `${id.toUpperCase()}-######` } }))
    return { tenant: id, token: await createToken('shop@example.com', id) }
  }
  /** Moves orders as the request of staff does, with one entry of the log. */
  const move = async (waybills: string[], statusKey: string, note: string | null = null): Promise<void> => {
    await rows('update orders set status_key = $2 where waybill_number = any($1)', [waybills, statusKey])
    await rows(
      `insert into log (tenant_id, type, waybill_numbers, status_keys, note)
        values ('demo', 'order.status_changed', $1, $2, $3)`,
      [waybills, waybills.map(() => statusKey), note],
    )
  }
  /** Adds moves of the orders of each large entry, `times` entries each. */
  const repeatEntries = (times: number) =>
    rows(
      `insert into log (tenant_id, type, waybill_numbers, status_keys)
        select tenant_id, 'order.status_changed', waybill_numbers, status_keys from log, generate_series(1, $1)
        where cardinality(waybill_numbers) > 1`,
      [times],
    )
  const countWaiting = async (): Promise<number> => (await rows('select count(*)::int from outbox'))[0].count
  /** Creates a relay as another process would. The end of the test stops it. */
  const addRelay = (more: Partial<RelayOptions> = {}): DeliveryLoop<string> => {
    const pool = createPool({ url: database.url, name: 'relay', connections: 4 })
    const notifier = createClient(t, receiver.url)
    const readSnapshots = createSnapshotReader({ pool, catalogues: createCatalogues(pool, 2 ** 20) }, undefined)
    const relay = createRelay({ pool, logger: pino({ level: 'silent' }), notifier, readSnapshots, ...more })
    t.teardown(async () => {
      await relay.stop()
      await pool.end()
    })
    return relay
  }
  return { ...app, receiver, addTenant, move, repeatEntries, countWaiting, addRelay }
}
