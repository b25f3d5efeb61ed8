import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { serviceToken } from '../../services/orders/test/build.ts'
import { ordersFixture } from '../../services/orders/test/orders-fixture.ts'
import { batch, order as parcel, tenantFile } from '../../services/orders/test/tenant.ts'
import { type CreateModel, expectSame, pick, type Step } from './history.ts'

interface Order {
  waybill: string
  /** The first one first. */
  statuses: string[]
  cod: number
  address: string
  edits: number
  requests: string[]
}

interface State {
  tenant: string
  token: string
  staffToken: string
  /** The merchant's own number of all orders of this history. */
  order_no: string
  orders: Order[]
  /** What a customer did, to repeat it. */
  actions: { id: string; body: object; outcome: string }[]
  /** Of the feed of changes, and what it is to bring after this step. */
  cursor: string
  changes: string[]
  touched: Order[]
}

/** What docs/contract.md#statuses says. */
const contract = readFileSync(new URL('../../docs/contract.md', import.meta.url), 'utf8')
export const moves = new Map(
  [...contract.matchAll(/^\| (key_\d+) \|.*\| (.*) \|$/gm)].map(([, key = '', to = '']) => [key, to.split(', ')]),
)
export const isFinal = (status: string): boolean => moves.get(status)?.[0] === '–'
/** Whether a merchant, or a customer by a button, may move an order. */
const mayMerchant = (from: string, to: string): boolean =>
  to === 'key_2' ? from === 'key_1' : from === 'key_1' || from === 'key_2'
/** docs/editing.md. */
const isBeforePickup = (status: string): boolean => ['key_1', 'key_2', 'key_4', 'key_5'].includes(status)
const isOver = (status: string): boolean => /^key_(3|7|13|14|18|19|20|21)$/.test(status)

const statusOf = (order: Order): string => order.statuses.at(-1) ?? ''

const number = fc.nat(1_000)
/** Mostly one order. */
const some = fc.oneof({ weight: 4, arbitrary: fc.tuple(number) }, { weight: 1, arbitrary: fc.tuple(number, number) })
const keys = fc.constantFrom(...moves.keys())
/** Mostly where a legal move leads. */
const target = fc.record({ legal: number, any: fc.option(keys, { freq: 4 }) })
const targetOf = (order: Order, { legal, any }: { legal: number; any: string | null }): string => {
  const next = moves.get(statusOf(order)) ?? []
  return any ?? (isFinal(statusOf(order)) ? 'key_6' : pick(next, legal))
}

const change = (state: State, order: Order, type: string, by: string): void => {
  state.changes.push(`${type} ${order.waybill} ${statusOf(order)} ${by}`)
  if (!state.touched.includes(order)) state.touched.push(order)
}
const moveTo = (state: State, order: Order, to: string, by: string): void => {
  order.statuses.push(to)
  change(state, order, 'order.status_changed', by)
}

export const order: CreateModel = async t => {
  const { apply, request, tokenOf, staffOf } = await ordersFixture(t)
  const manual = tenantFile({ id: 'manual', waybills: { mode: 'manual', format: 'MW######' } })
  await apply(manual)
  const callers = new Map<string, { tenant: string; token: string; staffToken: string }>()
  for (const tenant of ['demo', 'manual'])
    callers.set(tenant, {
      tenant,
      token: await tokenOf('shop@example.com', tenant),
      staffToken: await staffOf('Kamal Perera', tenant),
    })
  const merchantPath = '/api/public/merchant'
  const asMerchant = ({ token, tenant }: State, method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown) =>
    request(method, `${merchantPath}${path}`, body, { token, tenant })
  const asStaff = ({ staffToken, tenant }: State, method: 'GET' | 'POST' | 'PATCH', path: string, body?: unknown) =>
    request(method, `/api/staff${path}`, body, { token: staffToken, tenant })
  let given = 0
  let histories = 0
  let actions = 0

  const hasOrders = ({ orders }: State): boolean => orders.length > 0

  /** `ahead`: a free number that the service would soon give by itself. */
  const books = fc
    .record({
      count: fc.constantFrom(1, 1, 1, 3),
      initial: fc.constantFrom('key_1', 'key_2'),
      waybill: fc.constantFrom('none', 'none', 'own', 'ahead', 'taken'),
      which: number,
    })
    .map(({ count, initial, waybill, which }): Step<State> => {
      const choose = ({ tenant, orders }: State): string | undefined => {
        if (waybill === 'none' || (waybill !== 'own' && orders.length === 0)) return undefined
        if (waybill === 'taken') return pick(orders, which).waybill
        if (tenant === 'manual') return `MW${String(++given).padStart(6, '0')}`
        if (waybill === 'own') return `DM9${String(++given).padStart(7, '0')}`
        const last = orders.map(order => order.waybill).filter(text => text < 'DM9')
        return last.length ? `DM${String(Number(last.toSorted().at(-1)?.slice(2)) + 2).padStart(8, '0')}` : undefined
      }
      return {
        text: () => `merchant books ${count} as ${initial}, the first with ${waybill} waybill`,
        run: async state => {
          const first = choose(state)
          const parcels = Array.from({ length: count }, (_, index) => {
            const fields = { order_no: state.order_no, initial_status_key: initial }
            return parcel({ ...fields, ...(index === 0 && first && { waybill_number: first }) })
          })
          const { status, body } = await asMerchant(state, 'POST', '/order/bulk', batch(parcels))
          const isTaken = state.orders.some(order => order.waybill === first)
          const lacks = state.tenant === 'manual' && (first === undefined || count > 1)
          // A number that another history took.
          const isGone = waybill === 'ahead' && status === 422 && /already been taken/.test(JSON.stringify(body.errors))
          expectSame(`status (${JSON.stringify(body)})`, status, isTaken || lacks || isGone ? 422 : 200)
          if (status !== 200) return status
          if (first) expectSame('the waybill given', body.data[0], first)
          for (const waybill of body.data as string[]) {
            const made: Order = {
              waybill,
              statuses: [initial],
              cod: 4500,
              address: '12 Temple Road, Galle',
              edits: 0,
              requests: [],
            }
            expectSame('is a new waybill', state.orders.find(order => order.waybill === waybill)?.waybill, undefined)
            state.orders.push(made)
            change(state, made, 'order.created', 'merchant')
          }
          return body.data.join(', ')
        },
      }
    })

  const staffMoves = fc.record({ which: some, to: target }).map(({ which, to }): Step<State> => {
    const chosen = ({ orders }: State): Order[] => [...new Set(which.map(index => pick(orders, index)))]
    const goal = (state: State): string => targetOf(chosen(state)[0] as Order, to)
    return {
      isPossible: hasOrders,
      text: state => `staff moves ${namesOf(chosen(state))} to ${goal(state)}`,
      run: async state => {
        const [orders, status_key] = [chosen(state), goal(state)]
        const body = { waybill_numbers: orders.map(order => order.waybill), status_key }
        const { status } = await asStaff(state, 'POST', '/order/status', body)
        const isLegal = orders.every(order => moves.get(statusOf(order))?.includes(status_key))
        expectSame('status', status, isLegal ? 200 : 422)
        if (isLegal) for (const order of orders) moveTo(state, order, status_key, 'staff')
        return status
      },
    }
  })

  const merchantMoves = fc
    .record({
      which: some,
      verb: fc.constantFrom('confirm', 'cancel'),
    })
    .map(({ which, verb }): Step<State> => {
      const chosen = ({ orders }: State): Order[] => [...new Set(which.map(index => pick(orders, index)))]
      const to = verb === 'confirm' ? 'key_2' : 'key_3'
      return {
        isPossible: hasOrders,
        text: state => `merchant ${verb}s ${namesOf(chosen(state))}`,
        run: async state => {
          const orders = chosen(state)
          const body = { waybill_numbers: orders.map(order => order.waybill) }
          const { status } = await asMerchant(state, 'POST', `/order/${verb}`, body)
          const isLegal = orders.every(order => mayMerchant(statusOf(order), to))
          expectSame('status', status, isLegal ? 200 : 422)
          if (isLegal) for (const order of orders) moveTo(state, order, to, 'merchant')
          return status
        },
      }
    })

  const edits = fc
    .record({
      which: number,
      by: fc.constantFrom('merchant', 'staff'),
      cod: fc.option(fc.nat(3)),
      street: fc.option(fc.nat(3)),
    })
    .filter(({ cod, street }) => cod !== null || street !== null)
    .map(({ which, by, cod, street }): Step<State> => {
      const fields = {
        ...(cod !== null && { cod }),
        ...(street !== null && { customer_address: `${street} Lake Road` }),
      }
      return {
        isPossible: hasOrders,
        text: ({ orders }) => `${by} changes ${pick(orders, which).waybill}: ${JSON.stringify(fields)}`,
        run: async state => {
          const order = pick(state.orders, which)
          const path = `/order/${order.waybill}`
          const { status } =
            by === 'merchant'
              ? await asMerchant(state, 'PATCH', path, fields)
              : await asStaff(state, 'PATCH', path, { ...fields, reason: 'asked by phone' })
          const now = statusOf(order)
          const isOpen = isBeforePickup(now) || (by === 'staff' && cod === null && !isOver(now))
          expectSame('status', status, isOpen ? 200 : 422)
          const isSame =
            (cod ?? order.cod) === order.cod && (fields.customer_address ?? order.address) === order.address
          if (!isOpen || isSame) return status
          Object.assign(order, { cod: cod ?? order.cod, address: fields.customer_address ?? order.address })
          order.edits++
          change(state, order, 'order.edited', by)
          return status
        },
      }
    })

  const act = async (state: State, body: object): Promise<string> => {
    const options = { token: serviceToken, tenant: state.tenant }
    const response = await request(
      'POST',
      '/internal/customer-actions',
      { tenant: state.tenant, actions: [body] },
      options,
    )
    return response.body.data[0].outcome
  }
  const presses = fc
    .record({ which: number, action: fc.constantFrom('confirm_order', 'cancel_order', 'change_address', 'call_me') })
    .map(
      ({ which, action }): Step<State> => ({
        isPossible: hasOrders,
        text: ({ orders }) => `customer presses ${action} of ${pick(orders, which).waybill}`,
        run: async state => {
          const order = pick(state.orders, which)
          const id = `msg_${++actions} 0`
          const address = `${actions} Sea Street`
          const body = {
            id,
            waybill_number: order.waybill,
            action,
            happened_at: new Date().toISOString(),
            ...(action === 'change_address' && { address }),
          }
          const outcome = await act(state, body)
          const now = statusOf(order)
          const to = action === 'confirm_order' ? 'key_2' : 'key_3'
          const expected = {
            confirm_order: mayMerchant(now, to),
            cancel_order: mayMerchant(now, to),
            change_address: isBeforePickup(now),
            call_me: !isFinal(now),
          }
          const isDone = expected[action as keyof typeof expected]
          expectSame('outcome', outcome, isDone ? (action === 'call_me' ? 'requested' : 'done') : 'refused')
          state.actions.push({ id, body, outcome })
          if (!isDone) return outcome
          if (action === 'call_me') {
            if (!order.requests.includes('call_me')) order.requests.push('call_me')
            state.touched.push(order)
          } else if (action === 'change_address') {
            order.address = address
            order.edits++
            change(state, order, 'order.edited', 'customer')
          } else moveTo(state, order, to, 'customer')
          return outcome
        },
      }),
    )
  const pressesAgain = number.map(
    (which): Step<State> => ({
      isPossible: ({ actions }) => actions.length > 0,
      text: ({ actions }) => `the press ${pick(actions, which).id} is delivered again`,
      run: async state => {
        const { body, outcome } = pick(state.actions, which)
        expectSame('outcome', await act(state, body), outcome)
        return outcome
      },
    }),
  )

  /** The order as merchant, staff and recipient see it. */
  const look = async (state: State, order: Order): Promise<void> => {
    const { waybill } = order
    const recipient = { token: '', tenant: state.tenant }
    const [own, staffs, open, short] = await Promise.all([
      asMerchant(state, 'GET', `/order/${waybill}`),
      asStaff(state, 'GET', `/order/${waybill}`),
      request('POST', '/api/public/order/tracking-info', { waybill_number: waybill }, recipient),
      asMerchant(state, 'GET', `/order/${waybill}/status`),
    ])
    const newestFirst = order.statuses.toReversed()
    const { cod, address, edits } = order
    for (const { body } of [own, staffs]) {
      const { status, timeline, cod: itsCod, customer_address, edits: itsEdits } = body.data
      const seen = {
        status: status.key,
        timeline: keysOf(timeline),
        cod: itsCod,
        address: customer_address,
        edits: itsEdits.length,
      }
      expectSame(waybill, seen, { status: newestFirst[0], timeline: newestFirst, cod, address, edits })
    }
    expectSame(
      `requests of ${waybill}`,
      staffs.body.data.requests.map((row: { request: string }) => row.request),
      order.requests,
    )
    const next = isFinal(statusOf(order)) ? [] : moves.get(statusOf(order))
    expectSame(
      `moves of ${waybill}`,
      staffs.body.data.moves.map((move: { status_key: string }) => move.status_key),
      next,
    )
    expectSame(`${waybill} for its recipient`, keysOf(open.body.data.timeline), newestFirst)
    expectSame(`status of ${waybill}`, short.body.data.status.key, newestFirst[0])
  }

  const check = async (state: State): Promise<void> => {
    const query = `?order_no=${state.order_no}&noPagination`
    const [feed, list, staffList] = await Promise.all([
      asMerchant(state, 'GET', `/order/changes?limit=500&cursor=${state.cursor}`),
      asMerchant(state, 'GET', `/order${query}`),
      asStaff(state, 'GET', `/order${query}`),
    ])
    const changes = feed.body.data.map(
      (row: { type: string; waybill_number: string; status: { key: string }; by: string }) =>
        `${row.type} ${row.waybill_number} ${row.status.key} ${row.by}`,
    )
    expectSame('feed', changes.toSorted(), state.changes.toSorted())
    const rows = state.orders.map(order => `${order.waybill} ${statusOf(order)} ${order.cod}`).toSorted()
    for (const { body } of [list, staffList]) expectSame('list', body.data.map(rowOf).toSorted(), rows)
    for (const order of state.touched) await look(state, order)
    Object.assign(state, { changes: [], touched: [], cursor: feed.body.next_cursor })
  }

  return {
    settings: fc.constantFrom('demo', 'manual'),
    begin: async tenant => {
      const order_no = `H${++histories}`
      const state = {
        ...callers.get(tenant),
        order_no,
        orders: [],
        actions: [],
        changes: [],
        touched: [],
      } as unknown as State
      state.cursor = (await asMerchant(state, 'GET', '/order/changes?cursor=now')).body.next_cursor
      return state
    },
    steps: [books, staffMoves, staffMoves, staffMoves, merchantMoves, merchantMoves, edits, presses, pressesAgain],
    check,
  }
}

const namesOf = (orders: readonly Order[]): string => orders.map(order => order.waybill).join(' and ')
const keysOf = (timeline: readonly { status: { key: string } }[]): string[] => timeline.map(({ status }) => status.key)
const rowOf = (row: { waybill_number: string; status: { key: string }; cod: number }): string =>
  `${row.waybill_number} ${row.status.key} ${row.cod}`
