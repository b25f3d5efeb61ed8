import fc from 'fast-check'
import { ordersFixture } from '../../services/orders/test/orders-fixture.ts'
import { batch, order as parcel } from '../../services/orders/test/tenant.ts'
import { type CreateModel, expectSame, type Step, stepsOf } from './history.ts'

const merchants = ['shop', 'books'] as const
type Merchant = (typeof merchants)[number]
/** A booking with an order of its own amount, or a batch with an error. */
const bodies = ['A', 'B', 'C', 'wrong'] as const
type Body = (typeof bodies)[number]

interface State {
  history: string
  /** Bookings with a key, by merchant, request and key. */
  keys: Map<string, { body: Body; waybills: string[] }>
  /** The bodies booked, one entry for each booking. */
  booked: string[]
}

interface Booking {
  merchant: Merchant
  request: string
  key: string
  body: Body
}

const booking = fc.record({
  merchant: fc.constantFrom(...merchants),
  request: fc.constantFrom('bulk', 'bulk', 'single'),
  key: fc.constantFrom('K1', 'K2'),
  body: fc.constantFrom(...bodies),
})
const slotOf = ({ merchant, request, key }: Booking): string => `${merchant} ${request} ${key}`
const nameOf = ({ merchant, request, key, body }: Booking): string =>
  `${merchant} books ${body} by ${request} with ${key}`

export const idempotency: CreateModel = async t => {
  const { token, booksToken, staffGet, request, rows } = await ordersFixture(t)
  const callers = { shop: { token, business: 7290 }, books: { token: booksToken, business: 7300 } }
  let histories = 0

  const send = async ({ history }: State, { merchant, request: path, key, body }: Booking) => {
    const cod = body === 'wrong' ? -1 : bodies.indexOf(body)
    const orders = [parcel({ order_no: history, cod, description: `${merchant} ${body}` })]
    const headers = { 'idempotency-key': `${history} ${key}` }
    const { token, business } = callers[merchant]
    const content = batch(orders, { merchant_business_id: business })
    return request('POST', `/api/public/merchant/order/${path}`, content, { token, headers })
  }
  const isReplayed = (headers: Record<string, unknown>): boolean => headers['idempotency-replayed'] === 'true'

  const books = stepsOf(booking, nameOf, async (state: State, wanted) => {
    const known = state.keys.get(slotOf(wanted))
    const { status, headers, body } = await send(state, wanted)
    const isRefused = known ? known.body !== wanted.body : wanted.body === 'wrong'
    expectSame('status', status, isRefused ? 422 : 200)
    expectSame('replayed', isReplayed(headers), known !== undefined && !isRefused)
    // The service checks the shape of a body before its key.
    const isReused = isRefused && wanted.body !== 'wrong'
    if (isReused) expectSame('code', body.code, 'idempotency_key_reused')
    if (isRefused) return status
    if (known) expectSame('waybills', body.data, known.waybills)
    else remember(state, wanted, body.data)
    return `${body.data}${known ? ' again' : ''}`
  })

  const remember = (state: State, wanted: Booking, waybills: string[]): void => {
    state.keys.set(slotOf(wanted), { body: wanted.body, waybills })
    state.booked.push(`${wanted.merchant} ${wanted.body}`)
  }

  /** Several concurrent requests with one key; one of them may have another body. */
  const twins = fc
    .record({ first: booking, count: fc.integer({ min: 2, max: 4 }), other: fc.constantFrom(...bodies, 'same') })
    .map(({ first, count, other }): Step<State> => {
      const last = { ...first, body: other === 'same' ? first.body : other }
      const all = [...Array.from({ length: count }, () => first), last]
      return {
        text: () => `${count} at once: ${nameOf(first)}; beside them ${nameOf(last)}`,
        run: async state => {
          const known = state.keys.get(slotOf(first))
          const responses = await Promise.all(all.map(wanted => send(state, wanted)))
          const statuses = responses.map(({ status }) => status)
          const firsts = responses.filter(({ status, headers }) => status === 200 && !isReplayed(headers))
          const isBookable = !known && all.some(({ body }) => body !== 'wrong')
          expectSame(`booked (${statuses})`, firsts.length, isBookable ? 1 : 0)
          const winner = firsts[0] && responses.indexOf(firsts[0])
          if (winner !== undefined) remember(state, all[winner] as Booking, responses[winner]?.body.data)
          const now = state.keys.get(slotOf(first))
          for (const [index, { status, body }] of responses.entries()) {
            // 409: the other request is running.
            if (status === 409 && !known) continue
            expectSame(`status of ${index}`, status, now?.body === all[index]?.body ? 200 : 422)
            if (status === 200) expectSame('waybills', body.data, now?.waybills)
          }
          return statuses.join(', ')
        },
      }
    })

  const slotAt = ({ keys }: State, slot: number): string => [...keys.keys()][slot % keys.size] as string
  const expires = stepsOf(
    fc.record({ slot: fc.nat(10), interval: fc.constantFrom('24 hours 1 second', '23 hours 58 minutes') }),
    ({ slot, interval }, state: State) => `${slotAt(state, slot)} is ${interval} old`,
    async (state, { slot, interval }) => {
      const name = slotAt(state, slot)
      const [merchant, request, key] = name.split(' ') as [Merchant, string, string]
      const aged = await rows(
        `update idempotency_keys set created_at = now() - $1::interval
         where idempotency_key = $2 and scope = (select 'merchant ' || merchant_id || ' order/' || $3 from merchants
           where tenant_id = 'demo' and email = $4) returning 1`,
        [interval, `${state.history} ${key}`, request, `${merchant}@example.com`],
      )
      expectSame('keys of that name', aged.length, 1)
      if (interval.startsWith('24')) state.keys.delete(name)
      return 'so it is'
    },
    ({ keys }) => keys.size > 0,
  )

  return {
    settings: fc.constant('two merchants'),
    begin: async () => ({ history: `H${++histories}`, keys: new Map(), booked: [] }),
    steps: [books, books, books, twins, expires],
    check: async ({ history, booked }) => {
      const { body } = await staffGet(`/order?order_no=${history}&noPagination`)
      const stored = body.data.map((row: { description: string }) => row.description)
      expectSame('orders', stored.toSorted(), booked.toSorted())
    },
  }
}
