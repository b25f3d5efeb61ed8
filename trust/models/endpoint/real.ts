import { setTimeout as delay } from 'node:timers/promises'
import type { Static } from '@sinclair/typebox'
import type { Teardown } from '../../../dev/test-database.ts'
import { createAgent } from '../../../services/orders/merchant-webhooks/addresses.ts'
import { type EndpointKey, findWaiting } from '../../../services/orders/merchant-webhooks/delivery-queries.ts'
import { drainEndpoint } from '../../../services/orders/merchant-webhooks/drain-endpoint.ts'
import type { WebhookDelivery } from '../../../services/orders/merchant-webhooks/schema.ts'
import { webhookKeyring } from '../../../services/orders/test/build.ts'
import { startWebhookReceiver } from '../../../services/orders/test/webhook-receiver.ts'
import { orderEvent } from '../delivery/model.ts'
import { type StoppedOrders, stoppedOrders } from '../delivery/orders.ts'
import { createProcess, Gate, type Runner } from '../delivery/process.ts'
import { leaseSeconds, reactionTo, type State, type Verb } from './model.ts'

/** Starts orders with two processes that send webhooks, and a merchant's endpoint. */
export const startEndpoint = async (t: Teardown) => {
  const orders = await stoppedOrders(t)
  const { app, base, rows, token } = orders
  const receiver = await startWebhookReceiver(t)
  let arrived: string[] = []
  let id = ''

  const call = async (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => {
    const headers = { 'x-tenant': 'demo', authorization: `Bearer ${token}` }
    const url = `/api/public/merchant/webhook${path}`
    const response = await app.inject({ method, url, headers, ...(body && { payload: body }) })
    if (response.statusCode > 299) throw new Error(`${method} ${path}: ${response.body}`)
    return response.json().data
  }
  const urlOf = (number: number): string => `${receiver.url}&n=${number}`
  /** Creates an endpoint in place of all others. */
  const create = async (state: State): Promise<void> => {
    for (const { id } of await call('GET', '')) await call('DELETE', `/${id}`)
    const made = await call('POST', '', { url: urlOf(0) })
    id = made.id
    receiver.secret = made.secret
    arrived = []
    receiver.react = ({ waybill, body, path }) => {
      arrived.push(`${orderEvent({ waybill, status: body.data.status.key })} to ${/\d+$/.exec(path)}`)
      const { retryAfter, ...reaction } = reactionTo(state, waybill)
      return { ...reaction, headers: retryAfter ? { 'retry-after': `${retryAfter}` } : {} }
    }
  }
  const change = (verb: Verb, url: number) =>
    call('PATCH', `/${id}`, verb === 'moves' ? { url: urlOf(url) } : { state: `${verb.slice(0, -1)}d` })
  /** Replaces the wait of three days. */
  const tire = (now: number) =>
    rows(
      `update webhook_deliveries set attempts = 9, next_attempt_at = to_timestamp($2)
      where endpoint_id = $1 and state = 'pending' and attempts > 0 and next_attempt_at is not null`,
      [id, base / 1000 + now],
    )
  /** Returns the arrivals since the last time, which may be under way. */
  const arrivals = async (expected: number): Promise<string[]> => {
    for (let tries = 0; tries < 200 && arrived.length < expected; tries++) await delay(10)
    return arrived.splice(0)
  }
  const timeOf = (time: string | null): number | undefined =>
    time === null ? undefined : Math.round(Date.parse(time) / 100 - base / 100) / 10
  /** Reads the endpoint as the merchant sees it, with its failures in a row. */
  const look = async () => {
    const [[endpoint], [health], list] = await Promise.all([
      call('GET', ''),
      rows('select failures from webhook_endpoints where endpoint_id = $1', [id]),
      call('GET', `/${id}/deliveries?limit=100`),
    ])
    const { disabled_reason: disabled, failing_since } = endpoint
    const deliveries = (list as Row[]).map(
      ({ waybill_number: waybill, body, state, attempts, code, next_attempt_at }) => ({
        event: orderEvent({ waybill, status: body.data.status.key }),
        ...{ state, attempts, code, dueAt: timeOf(next_attempt_at) },
      }),
    )
    const failingSince = timeOf(failing_since)
    return { endpoint: { disabled, failures: health.failures, failingSince }, deliveries: deliveries.toReversed() }
  }
  const runners = { A: startProcess(t, orders), B: startProcess(t, orders) }
  return { ...orders, receiver, create, change, tire, arrivals, look, runners }
}

type Row = Static<typeof WebhookDelivery> & { body: { data: { status: { key: string } } } }

const startProcess = (t: Teardown, { poolOf }: StoppedOrders): Runner => {
  const gate = new Gate()
  const agent = createAgent(undefined)
  t.teardown(() => agent.destroy())
  const dispatcher = agent.compose(dispatch => (request, handler) => {
    gate.pass('request').then(() => dispatch(request, handler))
    return true
  })
  const { signal: aborted } = new AbortController()
  const sending = {
    ...{ keyring: webhookKeyring, dispatcher, allowsPrivate: true, clock: async () => new Date() },
    ...{ leaseSeconds, onAttempt: () => {}, aborted },
  }
  return createProcess<EndpointKey>(poolOf(), gate, {
    findWaiting,
    drain: (key, options) => drainEndpoint({ ...options, ...sending }, key),
    idOf: ({ endpointId }) => endpointId,
  })
}
