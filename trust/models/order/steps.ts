import fc from 'fast-check'
import { batch, order as parcel } from '../../../services/orders/test/tenant.ts'
import { type CreateModel, expectSame, pick, type Step, stepWith, times } from '../history.ts'
import {
  book,
  buttons,
  edit,
  mayEdit,
  mayMove,
  moves,
  moveTo,
  nextStatus,
  type Order,
  press,
  readStatus,
  type State,
} from './model.ts'
import { startOrders } from './real.ts'

const number = fc.nat(1_000)
/** Chooses one order, or at times two. */
const some = fc.oneof({ weight: 4, arbitrary: fc.tuple(number) }, { weight: 1, arbitrary: fc.tuple(number, number) })
/** Chooses mostly a status to which a legal move leads. */
const target = fc.record({ legal: number, any: fc.option(fc.constantFrom(...moves.keys()), { freq: 4 }) })

export const order: CreateModel = async t => {
  const real = await startOrders(t)
  const { asMerchant, asStaff, act } = real
  const counts = { given: 0, histories: 0, actions: 0 }
  const listOrders = ({ orders }: State): Order[] => orders

  /** Chooses the waybill to give. `ahead` chooses a free number that the service would soon assign. */
  const choose = ({ tenant, orders }: State, waybill: string, which: number): string | undefined => {
    if (waybill === 'none' || (waybill !== 'own' && orders.length === 0)) return undefined
    if (waybill === 'taken') return pick(orders, which).waybill
    if (tenant === 'manual') return `MW${String(++counts.given).padStart(6, '0')}`
    if (waybill === 'own') return `DM9${String(++counts.given).padStart(7, '0')}`
    const last = orders.map(order => order.waybill).filter(text => text < 'DM9')
    return last.length ? `DM${String(Number(last.toSorted().at(-1)?.slice(2)) + 2).padStart(8, '0')}` : undefined
  }
  const booking = fc.record({
    count: fc.constantFrom(1, 1, 1, 3),
    initial: fc.constantFrom('key_1', 'key_2'),
    waybill: fc.constantFrom('none', 'none', 'own', 'ahead', 'taken'),
    which: number,
  })
  const books = booking.map(({ count, initial, waybill, which }) => ({
    text: () => `the merchant books ${count} as ${initial}, the first with ${waybill} waybill`,
    run: async (state: State) => {
      const { orders, order_no } = state
      const first = choose(state, waybill, which)
      const parcels = Array.from({ length: count }, (_, index) =>
        parcel({ order_no, initial_status_key: initial, ...(index === 0 && first && { waybill_number: first }) }),
      )
      const { status, body } = await asMerchant(state, 'POST', '/order/bulk', batch(parcels))
      const isTaken = orders.some(order => order.waybill === first)
      const lacks = state.tenant === 'manual' && (first === undefined || count > 1)
      // An order of another history may have taken the number.
      const isGone = waybill === 'ahead' && status === 422 && /already been taken/.test(JSON.stringify(body.errors))
      expectSame(`status (${JSON.stringify(body)})`, status, isTaken || lacks || isGone ? 422 : 200)
      if (status !== 200) return status
      if (first) expectSame('the waybill given', body.data[0], first)
      for (const waybill of body.data as string[]) {
        expectSame('is a new waybill', orders.find(order => order.waybill === waybill)?.waybill, undefined)
        book(state, waybill, initial)
      }
      return body.data.join(', ')
    },
  }))

  /** Moves orders together or not at all. */
  const createMoves = (
    by: 'merchant' | 'staff',
    which: readonly number[],
    verb: string,
    chooseGoal: (first: Order) => string,
  ): Step<State> => {
    const chosen = ({ orders }: State): Order[] => [...new Set(which.map(index => pick(orders, index)))]
    const goal = (state: State): string => chooseGoal(chosen(state)[0] as Order)
    return {
      isPossible: state => listOrders(state).length > 0,
      text: state => {
        const names = chosen(state).map(({ waybill }) => waybill)
        return `${by} ${verb}s ${names.join(' and ')}${by === 'staff' ? ` to ${goal(state)}` : ''}`
      },
      run: async state => {
        const [orders, to] = [chosen(state), goal(state)]
        const waybill_numbers = orders.map(({ waybill }) => waybill)
        // A partial delivery must say what was paid.
        const paid = orders.map(({ waybill, cod }) => [waybill, { amount: cod }])
        const collected = to === 'key_14' ? { collected: Object.fromEntries(paid) } : {}
        const { status } =
          by === 'staff'
            ? await asStaff(state, 'POST', '/order/status', { waybill_numbers, status_key: to, ...collected })
            : await asMerchant(state, 'POST', `/order/${verb}`, { waybill_numbers })
        const isLegal = orders.every(order => mayMove(by, order, to))
        expectSame('status', status, isLegal ? 200 : 422)
        if (isLegal) for (const order of orders) moveTo(state, order, to, by)
        return status
      },
    }
  }
  const staffMoves = fc
    .record({ which: some, to: target })
    .map(({ which, to: { legal, any } }) =>
      createMoves('staff', which, 'move', order => any ?? nextStatus(readStatus(order), legal) ?? 'key_6'),
    )
  const merchantMoves = fc
    .record({ which: some, verb: fc.constantFrom('confirm', 'cancel') })
    .map(({ which, verb }) => createMoves('merchant', which, verb, () => (verb === 'confirm' ? 'key_2' : 'key_3')))

  const edits = fc
    .record({
      which: number,
      by: fc.constantFrom('merchant', 'staff'),
      cod: fc.option(fc.nat(3), { nil: undefined }),
      street: fc.option(fc.nat(3), { nil: undefined }),
    })
    .filter(({ cod, street }) => cod !== undefined || street !== undefined)
    .map(({ which, by, cod, street }) => {
      const fields = {
        ...(cod !== undefined && { cod }),
        ...(street !== undefined && { customer_address: `${street} Lake Road` }),
      }
      return stepWith(
        listOrders,
        ({ waybill }) => `${by} changes ${waybill}: ${JSON.stringify(fields)}`,
        async (state, order) => {
          const path = `/order/${order.waybill}`
          const { status } =
            by === 'merchant'
              ? await asMerchant(state, 'PATCH', path, fields)
              : await asStaff(state, 'PATCH', path, { ...fields, reason: 'asked by phone' })
          const isOpen = mayEdit(by, order, fields)
          expectSame('status', status, isOpen ? 200 : 422)
          if (isOpen) edit(state, order, fields, by)
          return status
        },
      )(which)
    })

  const presses = fc.record({ which: number, action: fc.constantFrom(...buttons) }).map(({ which, action }) =>
    stepWith(
      listOrders,
      ({ waybill }) => `customer presses ${action} of ${waybill}`,
      async (state, order) => {
        const id = `msg_${++counts.actions} 0`
        const address = `${counts.actions} Sea Street`
        const pressed = { id, waybill_number: order.waybill, action, happened_at: new Date().toISOString() }
        const body = { ...pressed, ...(action === 'change_address' && { address }) }
        const outcome = await act(state, body)
        expectSame('outcome', outcome, press(state, order, action, address))
        state.actions.push({ id, body, outcome })
        return outcome
      },
    )(which),
  )
  const pressesAgain = number.map(
    stepWith(
      ({ actions }: State) => actions,
      ({ id }) => `the press ${id} is delivered again`,
      async (state, { body, outcome }) => {
        expectSame('outcome', await act(state, body), outcome)
        return outcome
      },
    ),
  )

  return {
    settings: fc.constantFrom('demo', 'manual'),
    begin: async tenant => {
      const order_no = `H${++counts.histories}`
      const caller = real.callers.get(tenant)
      if (!caller) throw new Error(`there is no tenant ${tenant}`)
      const state: State = { ...caller, order_no, orders: [], actions: [], cursor: '', changes: [], touched: [] }
      state.cursor = (await asMerchant(state, 'GET', '/order/changes?cursor=now')).body.next_cursor
      return state
    },
    steps: [books, ...times(3, staffMoves), ...times(2, merchantMoves), edits, presses, pressesAgain],
    check: real.check,
  }
}
