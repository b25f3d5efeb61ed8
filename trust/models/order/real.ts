import type { Teardown } from '../../../dev/test-database.ts'
import { serviceToken } from '../../../services/orders/test/build.ts'
import { ordersFixture } from '../../../services/orders/test/orders-fixture.ts'
import { tenantFile } from '../../../services/orders/test/tenant.ts'
import { expectSame } from '../history.ts'
import { isFinal, moves, type Order, readStatus, type State } from './model.ts'

/** Starts orders with two tenants; returns the requests of their merchants, staff and customers. */
export const startOrders = async (t: Teardown) => {
  const { apply, request, createToken, staffOf } = await ordersFixture(t)
  await apply(tenantFile({ id: 'manual', waybills: { mode: 'manual', format: 'MW######' } }))
  const callers = new Map<string, { tenant: string; token: string; staffToken: string }>()
  for (const tenant of ['demo', 'manual']) {
    const token = await createToken('shop@example.com', tenant)
    callers.set(tenant, { tenant, token, staffToken: await staffOf('Kamal Perera', tenant) })
  }
  const asMerchant = ({ token, tenant }: State, method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown) =>
    request(method, `/api/public/merchant${path}`, body, { token, tenant })
  const asStaff = ({ staffToken, tenant }: State, method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown) =>
    request(method, `/api/staff${path}`, body, { token: staffToken, tenant })
  const act = async ({ tenant }: State, body: object): Promise<string> => {
    const actions = { tenant, actions: [body] }
    const response = await request('POST', '/internal/customer-actions', actions, { token: serviceToken, tenant })
    return response.body.data[0].outcome
  }
  /** Compares the order, as merchant, staff and recipient see it, with the model. */
  const checkOrder = async (state: State, order: Order): Promise<void> => {
    const { waybill, cod, customer_address, edits } = order
    const recipient = { token: '', tenant: state.tenant }
    const [merchantView, staffView, publicView, statusView] = await Promise.all([
      asMerchant(state, 'GET', `/order/${waybill}`),
      asStaff(state, 'GET', `/order/${waybill}`),
      request('POST', '/api/public/order/tracking-info', { waybill_number: waybill }, recipient),
      asMerchant(state, 'GET', `/order/${waybill}/status`),
    ])
    const timeline = order.statuses.toReversed()
    const status = readStatus(order)
    for (const { data } of [merchantView.body, staffView.body]) {
      const seen = { status: data.status.key, timeline: listKeys(data.timeline), cod: data.cod }
      const changed = { customer_address: data.customer_address, edits: data.edits.length }
      expectSame(waybill, { ...seen, ...changed }, { status, timeline, cod, customer_address, edits })
    }
    const { requests, moves: itsMoves } = staffView.body.data
    const requested = requests.map((row: { request: string }) => row.request)
    expectSame(`requests of ${waybill}`, requested, order.requests)
    const next = itsMoves.map((move: { status_key: string }) => move.status_key)
    expectSame(`moves of ${waybill}`, next, isFinal(status) ? [] : moves.get(status))
    expectSame(`${waybill} for its recipient`, listKeys(publicView.body.data.timeline), timeline)
    expectSame(`status of ${waybill}`, statusView.body.data.status.key, status)
  }

  const check = async (state: State): Promise<void> => {
    const query = `?order_no=${state.order_no}&noPagination`
    const [feed, list, staffList] = await Promise.all([
      asMerchant(state, 'GET', `/order/changes?limit=500&cursor=${state.cursor}`),
      asMerchant(state, 'GET', `/order${query}`),
      asStaff(state, 'GET', `/order${query}`),
    ])
    expectSame('feed', feed.body.data.map(formatChange).toSorted(), state.changes.toSorted())
    const rows = state.orders.map(order => `${order.waybill} ${readStatus(order)} ${order.cod}`).toSorted()
    for (const { body } of [list, staffList]) expectSame('list', body.data.map(formatRow).toSorted(), rows)
    for (const order of state.touched) await checkOrder(state, order)
    Object.assign(state, { changes: [], touched: [], cursor: feed.body.next_cursor })
  }

  return { callers, asMerchant, asStaff, act, check }
}

interface Row {
  waybill_number: string
  status: { key: string }
  cod: number
}
const listKeys = (timeline: readonly Pick<Row, 'status'>[]): string[] => timeline.map(({ status }) => status.key)
const formatRow = ({ waybill_number, status, cod }: Row): string => `${waybill_number} ${status.key} ${cod}`
const formatChange = ({ type, waybill_number, status, by }: Row & { type: string; by: string }): string =>
  `${type} ${waybill_number} ${status.key} ${by}`
