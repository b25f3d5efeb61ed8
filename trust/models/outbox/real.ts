import { inTenant } from '@courier/shared/postgres/database.ts'
import { createServiceClient, type ServiceClient } from '@courier/shared/service-client.ts'
import type { Teardown } from '../../../dev/test-database.ts'
import { createCatalogues } from '../../../services/orders/catalogue/catalogue.ts'
import type { Tx } from '../../../services/orders/database/tables.ts'
import { drainTenant } from '../../../services/orders/relay/drain-tenant.ts'
import { findWaiting } from '../../../services/orders/relay/queries.ts'
import { findEvents, requeue } from '../../../services/orders/restoring/queries.ts'
import { serviceToken } from '../../../services/orders/test/build.ts'
import { type Receiver, startReceiver } from '../../../services/orders/test/receiver.ts'
import { createSnapshotReader } from '../../../services/orders/tracking/order-snapshot.ts'
import { orderEvent } from '../delivery/model.ts'
import { type StoppedOrders, stoppedOrders } from '../delivery/orders.ts'
import { createProcess, Gate, type Runner } from '../delivery/process.ts'
import { leaseSeconds, moods, type State } from './model.ts'

const tenant = 'demo'

/** Starts orders with two processes that deliver its outbox, and a notifier. */
export const startOutbox = async (t: Teardown) => {
  const orders = await stoppedOrders(t)
  const receiver = Object.assign(await startReceiver(t), { milliseconds: 0 })
  const arrived: string[] = []
  const change = <Result>(run: (tx: Tx) => Promise<Result>): Promise<Result> => inTenant(orders.pool, tenant, run)

  const reactAs = (state: State): void => {
    receiver.react = ({ events }) => {
      arrived.push(
        events.map(({ order }) => orderEvent({ waybill: order.waybill_number, status: order.status_key })).join(', '),
      )
      return moods[state.mood] ?? 'hang'
    }
  }
  /** Returns the requests since the last time. */
  const arrivals = (): string[] => arrived.splice(0)
  /** Does as `restored` does after a restore of the notifier's database; returns the order's events. */
  const queueAgain = (waybill: string): Promise<string[]> =>
    change(async tx => {
      const events = (await findEvents(tx, tenant, new Date(0))).filter(event => event.waybill === waybill)
      await requeue(tx, tenant, events)
      return events.map(({ statusKey: status }) => orderEvent({ waybill, status }))
    })
  /** Reads the events of each row. */
  const readRows = async (): Promise<string[][]> => {
    const query =
      'select waybill_numbers as waybills, status_keys as statuses from log where not is_relayed order by entry_id'
    const { rows } = await change(tx => tx.client.query(query))
    return rows.map(({ waybills, statuses }) =>
      waybills.map((waybill: string, index: number) => orderEvent({ waybill, status: statuses[index] })),
    )
  }
  const empty = (table: 'log' | 'outbox_leases') =>
    change(tx => tx.client.query(`delete from ${table} where tenant_id = $1`, [tenant]))
  const runners = { A: startProcess(t, orders, receiver), B: startProcess(t, orders, receiver) }
  return { ...orders, reactAs, arrivals, queueAgain, readRows, empty, runners }
}

const startProcess = (t: Teardown, { poolOf, pool: orders }: StoppedOrders, { url: baseUrl }: Receiver): Runner => {
  const gate = new Gate()
  const client = createServiceClient({ baseUrl, serviceToken, failuresToOpen: 1e9 })
  t.teardown(client.close)
  const post: ServiceClient['post'] = async (...words) => {
    await gate.pass('request')
    return client.post(...words)
  }
  const pool = poolOf()
  // Reading the catalogue is no step of the model.
  const readSnapshots = createSnapshotReader(pool, createCatalogues(orders, 2 ** 20), undefined)
  const sending = { readSnapshots, notifier: { ...client, post }, leaseSeconds }
  return createProcess<string>(pool, gate, {
    findWaiting,
    drain: (tenant, options) => drainTenant({ ...options, ...sending }, tenant),
    idOf: tenant => tenant,
  })
}
