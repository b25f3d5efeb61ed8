import { createPool, inTenant } from '@courier/shared/postgres/database.ts'
import { createServiceClient, type ServiceClient } from '@courier/shared/service-client.ts'
import type { Static } from '@sinclair/typebox'
import type pg from 'pg'
import { onServer } from '../../../dev/databases.ts'
import { moveStopwatch } from '../../../dev/shift-clock.ts'
import type { Teardown } from '../../../dev/test-database.ts'
import { createAgent } from '../../../services/orders/capabilities/feed/addresses.ts'
import {
  type EndpointKey,
  findWaiting as findWaitingEndpoints,
} from '../../../services/orders/capabilities/feed/delivery-queries.ts'
import { drainEndpoint } from '../../../services/orders/capabilities/feed/drain-endpoint.ts'
import type { WebhookDelivery } from '../../../services/orders/capabilities/feed/webhook-schema.ts'
import { findEvents, requeue } from '../../../services/orders/capabilities/restoring/queries.ts'
import { createCatalogues } from '../../../services/orders/core/catalogue/catalogue.ts'
import type { Tx } from '../../../services/orders/core/database/tables.ts'
import { drainTenant } from '../../../services/orders/core/relay/drain-tenant.ts'
import { findWaiting } from '../../../services/orders/core/relay/queries.ts'
import { createSnapshotReader } from '../../../services/orders/core/tracking/order-snapshot.ts'
import { serviceToken, webhookKeyring } from '../../../services/orders/test/build.ts'
import { ordersFixture } from '../../../services/orders/test/orders-fixture.ts'
import { startReceiver } from '../../../services/orders/test/receiver.ts'
import { batch, order } from '../../../services/orders/test/tenant.ts'
import { startWebhookReceiver } from '../../../services/orders/test/webhook-receiver.ts'
import { expectSame } from '../history.ts'
import type { Endpoint, Verb } from './endpoint.ts'
import { formatEvent, leaseSeconds, type Order } from './model.ts'
import { notifierMoods, type Outbox } from './outbox.ts'
import { Runner } from './process.ts'

const tenant = 'demo'

const openPool = (t: Teardown, url: string): pg.Pool => {
  const pool = createPool({ url, name: 'model', connections: 5 })
  t.teardown(() => pool.end())
  return pool
}

/**
 * Replaces now() of the service's role with a clock that stands still: the server's clock is the computer's. Defaults
 * of columns keep the real clock. Must run before the service connects. Returns a function that sets the clock.
 */
const stopClock = async (url: string) => {
  const { username: role, pathname } = new URL(url)
  const superuserUrl = new URL(pathname, process.env.TEST_POSTGRES_URL).href
  const run = (text: string, values: unknown[] = []) => onServer(superuserUrl, client => client.query(text, values))
  await run(`
    create schema clock;
    create table clock.clock (time timestamptz not null);
    insert into clock.clock values ('epoch');
    create function clock.now() returns timestamptz language sql stable as 'select time from clock.clock';
    create function clock.clock_timestamp() returns timestamptz language sql volatile as 'select time from clock.clock';
    grant usage on schema clock to ${role};
    grant select on clock.clock to ${role};
    alter role ${role} in database ${pathname.slice(1)} set search_path = clock, pg_catalog, public`)
  return (milliseconds: number) => run('update clock.clock set time = to_timestamp($1)', [milliseconds / 1000])
}

/** Starts orders with clocks that move only on a step's command. The test sets Math.random(). */
export const startOrders = async (t: Teardown) => {
  const { random } = Math
  const { timeout } = AbortSignal
  t.teardown(() => {
    Math.random = random
    AbortSignal.timeout = timeout
  })
  let setClock: Awaited<ReturnType<typeof stopClock>> | undefined
  const fixture = await ordersFixture(t, {
    poolOf: async url => {
      setClock = await stopClock(url)
      return openPool(t, url)
    },
  })
  const base = Date.now()
  let now = 0
  const moveOn = moveStopwatch(t.teardown)
  AbortSignal.timeout = () => new AbortController().signal
  /** Moves the clocks on. Returns the seconds since the first history. */
  const pass = async (seconds: number): Promise<number> => {
    now = Math.round((now + seconds) * 10) / 10
    await moveOn(seconds * 1000)
    await setClock?.(base + now * 1000)
    return now
  }
  const book = async (orders: number): Promise<Order[]> => {
    // Books without COD: a partial delivery would have to state what was collected.
    const response = await fixture.bulk(batch(Array.from({ length: orders }, () => order({ cod: 0 }))))
    expectSame('status of the booking', response.status, 200)
    return response.body.data.map((waybill: string) => ({ waybill, status: 'key_1' }))
  }
  return { ...fixture, base, pass, book, newPool: () => openPool(t, fixture.database.url) }
}

type Orders = Awaited<ReturnType<typeof startOrders>>

/** Starts a notifier, and two processes that deliver the outbox to it. */
export const startNotifier = async (t: Teardown, { pool, newPool }: Orders) => {
  const receiver = Object.assign(await startReceiver(t), { milliseconds: 0 })
  const arrived: string[] = []
  const change = <Result>(run: (tx: Tx) => Promise<Result>): Promise<Result> => inTenant(pool, tenant, run)

  const startProcess = (): Runner<string> => {
    const client = createServiceClient({ baseUrl: receiver.url, serviceToken, failuresToOpen: 1e9 })
    t.teardown(client.close)
    const post: ServiceClient['post'] = async (...words) => {
      await runner.pass('request')
      return client.post(...words)
    }
    const ownPool = newPool()
    // Reading the catalogue is not a step of the model.
    const readSnapshots = createSnapshotReader(
      { pool: ownPool, catalogues: createCatalogues(pool, 2 ** 20) },
      undefined,
    )
    const sending = { readSnapshots, notifier: { ...client, post }, leaseSeconds: leaseSeconds.notifier }
    const runner = new Runner<string>(ownPool, {
      findWaiting,
      drain: (tenant, options) => drainTenant({ ...options, ...sending }, tenant),
      identify: tenant => tenant,
    })
    return runner
  }
  return {
    runners: { A: startProcess(), B: startProcess() },
    arrived,
    reactAs: (outbox: Outbox): void => {
      receiver.react = ({ events }) => {
        const orders = events.map(({ order }) => ({ waybill: order.waybill_number, status: order.status_key }))
        arrived.push(orders.map(formatEvent).join(', '))
        return notifierMoods[outbox.mood] ?? 'hang'
      }
    },
    /** Queues an order's events again, as `restored` does after a restore of the notifier's database. Returns them. */
    queueAgain: (waybill: string): Promise<string[]> =>
      change(async tx => {
        const events = (await findEvents(tx, tenant, new Date(0))).filter(event => event.waybill_number === waybill)
        await requeue(tx, tenant, events)
        return events.map(event => formatEvent({ waybill, status: event.status_key }))
      }),
    /** Reads the events of each row that waits. */
    look: async (): Promise<string[][]> => {
      const waitingSql =
        'select waybill_numbers as waybills, status_keys as statuses from log where not is_relayed order by entry_id'
      const { rows } = await change(tx => tx.client.query(waitingSql))
      return rows.map(({ waybills, statuses }) =>
        waybills.map((waybill: string, index: number) => formatEvent({ waybill, status: statuses[index] })),
      )
    },
    empty: (table: 'log' | 'outbox_leases') =>
      change(tx => tx.client.query(`delete from ${table} where tenant_id = $1`, [tenant])),
  }
}

type Row = Static<typeof WebhookDelivery> & { body: { data: { status: { key: string } } } }

/** Starts a merchant's endpoint, and two processes that send webhooks to it. */
export const startEndpoint = async (t: Teardown, { request, base, rows, newPool }: Orders) => {
  const receiver = await startWebhookReceiver(t)
  const arrived: string[] = []
  let id = ''
  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const response = await request(method, `/api/public/merchant/webhook${path}`, body)
    if (response.status > 299) throw new Error(`${method} ${path}: ${JSON.stringify(response.body)}`)
    return response.body.data
  }
  const buildUrl = (number: number): string => `${receiver.url}&n=${number}`
  const toTime = (time: string | null): number | undefined =>
    time === null ? undefined : Math.round(Date.parse(time) / 100 - base / 100) / 10

  /** Starts a process that sends each request once the previous response is stored, so that results have one order. */
  const startProcess = (): Runner<EndpointKey> => {
    const agent = createAgent(undefined)
    t.teardown(() => agent.destroy())
    let earlier = Promise.resolve()
    let stored = (): void => {}
    const dispatcher = agent.compose(dispatch => (request, handler) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const turn = earlier.then(() => runner.pass('request'))
      earlier = promise
      turn.then(() => {
        stored = resolve
        dispatch(request, handler)
      })
      return true
    })
    const sending = {
      keyring: webhookKeyring,
      dispatcher,
      allowsPrivate: true,
      clock: async () => new Date(),
      leaseSeconds: leaseSeconds.endpoint,
      aborted: new AbortController().signal,
      onAttempt: () => runner.afterNextTransaction(stored),
    }
    const runner = new Runner<EndpointKey>(newPool(), {
      findWaiting: findWaitingEndpoints,
      drain: (key, options) => drainEndpoint({ ...options, ...sending }, key),
      identify: ({ endpointId }) => endpointId,
    })
    return runner
  }
  return {
    receiver,
    runners: { A: startProcess(), B: startProcess() },
    arrived,
    /** Creates an endpoint in place of all others. */
    create: async (endpoint: Endpoint): Promise<void> => {
      for (const { id } of await call('GET', '')) await call('DELETE', `/${id}`)
      const made = await call('POST', '', { url: buildUrl(0) })
      id = made.id
      receiver.secret = made.secret
      arrived.length = 0
      receiver.react = ({ waybill, body, path }) => {
        arrived.push(`${formatEvent({ waybill, status: body.data.status.key })} to ${/\d+$/.exec(path)}`)
        const { retryAfter, ...reaction } = endpoint.chooseReaction(waybill)
        return { ...reaction, headers: retryAfter ? { 'retry-after': `${retryAfter}` } : {} }
      }
    },
    change: (verb: Verb, url: number) =>
      call('PATCH', `/${id}`, verb === 'moves' ? { url: buildUrl(url) } : { state: `${verb.slice(0, -1)}d` }),
    /** Replaces the wait of three days. */
    tire: (now: number) =>
      rows(
        `update webhook_deliveries set attempts = 9, next_attempt_at = to_timestamp($2)
        where endpoint_id = $1 and state = 'pending' and attempts > 0 and next_attempt_at is not null`,
        [id, base / 1000 + now],
      ),
    /** Reads the endpoint as the merchant sees it, with its failures in a row. */
    look: async () => {
      const [[{ disabled_reason: disabled, failing_since }], [{ failures }], list] = await Promise.all([
        call('GET', ''),
        rows('select failures from webhook_endpoints where endpoint_id = $1', [id]),
        call('GET', `/${id}/deliveries?limit=100`),
      ])
      const deliveries = (list as Row[]).map(({ waybill_number, body, state, attempts, code, next_attempt_at }) => {
        const event = formatEvent({ waybill: waybill_number ?? '', status: body.data.status.key })
        return { event, state, attempts, code, dueAt: toTime(next_attempt_at) }
      })
      const endpoint = { disabled, failures, failingSince: toTime(failing_since) }
      return { endpoint, deliveries: deliveries.toReversed() }
    },
  }
}
