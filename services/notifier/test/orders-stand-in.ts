import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import type { ActionOutcome, CustomerAction, CustomerActions } from '@courier/shared/contract/customer-actions.ts'
import { exampleSnapshot, type OrderEvent, type OrderSnapshot } from '@courier/shared/contract/order-events.ts'
import type { StaffTokens } from '@courier/shared/contract/staff-tokens.ts'
import { spellWaybill } from '@courier/shared/contract/waybills.ts'
import { pino } from 'pino'
import { listen } from '../../../dev/ports.ts'
import type { Teardown } from '../../../dev/test-database.ts'
import { createOrdersClient } from '../core/orders-client/http-client.ts'
import type { TrackingEvent } from '../core/orders-client/orders-client.ts'
import { serviceToken } from './portal.ts'

const { time_zone: _, ...withoutTimeZone } = exampleSnapshot

/** Builds an order as orders returns it. Tests set the time zone of their tenant themselves. */
export const orderFacts = (more: Partial<OrderSnapshot> = {}): OrderSnapshot => ({
  ...withoutTimeZone,
  order_no: null,
  weight: 1.5,
  description: null,
  status_key: 'key_1',
  status_name: 'DRAFT',
  ...more,
})

/** Builds an order of an orders service without PUBLIC_URL. */
export const withoutPage = (waybill_number: string) =>
  ({ waybill_number, tracking_url: undefined }) as unknown as Partial<OrderSnapshot>

export const orderEvent = (
  id: string,
  order: Partial<OrderSnapshot> = {},
  type: OrderEvent['type'] = 'order.created',
): OrderEvent => ({ id, type, happened_at: new Date().toISOString(), order: orderFacts(order) })

const tracking: TrackingEvent[] = [
  {
    status_key: 'key_2',
    status_name: 'CONFIRMED',
    at: '2026-02-19T19:06:23.000Z',
    staff_name: 'Ruwan',
    note: null,
    by: 'staff',
  },
  { status_key: 'key_1', status_name: 'DRAFT', at: '2026-02-19T18:00:00.000Z', staff_name: null, note: null },
]

/** Stands in for orders over real HTTP: serves the given orders and records the waybills requested. */
export const standIn = async (t: Teardown, ...orders: Partial<OrderSnapshot>[]) => {
  const known = new Map(orders.map(order => orderFacts(order)).map(order => [order.waybill_number, order]))
  const state = { tenant: 'demo', asked: [] as string[], atOnce: 0, mostAtOnce: 0, isBroken: false }
  /** Holds the customers' actions as received. */
  const acted: CustomerAction[] = []
  const decide = {
    outcomeOf: (_action: CustomerAction): ActionOutcome => 'done',
    loses: false,
    statusOf: (_actions: readonly CustomerAction[]) => 200,
  }
  const server = createServer(async (request, response) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    if (request.url === '/internal/staff-tokens') {
      const { tokens } = (await json(request)) as StaffTokens
      return send(200, { now: new Date().toISOString(), data: tokens.map(() => null) })
    }
    if (request.method === 'POST') {
      const { actions } = (await json(request)) as CustomerActions
      acted.push(...actions)
      if (decide.loses) return response.destroy()
      const data = actions.map(action => ({
        id: action.id,
        outcome: decide.outcomeOf(action),
        detail: decide.outcomeOf(action) === 'refused' ? 'Not any more.' : null,
        order: known.get(action.waybill_number) ?? null,
      }))
      return send(state.isBroken ? 500 : decide.statusOf(actions), { data })
    }
    const [, , , tenant, waybill] = (request.url ?? '').split('/').map(decodeURIComponent)
    const isAllowed = request.headers.authorization === `Bearer ${serviceToken}` && tenant === state.tenant
    state.asked.push(waybill ?? '')
    state.mostAtOnce = Math.max(state.mostAtOnce, ++state.atOnce)
    await new Promise(resolve => setTimeout(resolve, 5))
    state.atOnce--
    const order = spellWaybill(waybill ?? '').flatMap(spelling => known.get(spelling) ?? [])[0]
    const status = state.isBroken ? 500 : !isAllowed ? 401 : order ? 200 : 404
    send(status, status === 200 ? { data: { edits: [], ...order, timeline: tracking } } : { message: 'No.' })
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  const client = createOrdersClient({ url, serviceToken, logger: pino({ level: 'silent' }) })
  t.teardown(async () => {
    await client.close()
    server.close()
  })
  return { client, known, state, url, acted, decide }
}
