import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { CourierEvents, type OrderEvent } from '@courier/shared/contract/order-events.ts'
import { FormatRegistry } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { listen } from '../../../dev/ports.ts'
import type { Teardown } from '../../../dev/test-database.ts'
import { serviceToken } from './build.ts'

if (!FormatRegistry.Has('date-time')) FormatRegistry.Set('date-time', text => !Number.isNaN(Date.parse(text)))

/**
 * Says how the receiver reacts: it acknowledges the request, acknowledges it but loses the response, refuses the tenant
 * as unknown, gives no response, cuts the connection, or responds with a bare status.
 */
export type Reaction = 'acknowledge' | 'lose' | 'unknown' | 'hang' | 'cut' | number

/** Types every event as an event of an order; tests of invoices read the other events. */
interface OrderEvents {
  tenant: string
  events: OrderEvent[]
}

export interface Receiver {
  url: string
  /** Lists the acknowledged requests. */
  readonly posts: OrderEvents[]
  /** Holds the acknowledged events, each once, in the order of first delivery. */
  readonly events: Map<string, OrderEvent>
  /** Counts the requests that arrived. */
  requests: number
  /** Counts the requests that arrived while another request of the same tenant was in progress. */
  overlaps: number
  react: (post: OrderEvents) => Reaction
  /** Sets how long a request takes. */
  milliseconds: number
  readonly close: () => Promise<void>
}

/** Accepts events as the notifier does. Ends with the test. */
export const startReceiver = async (t: Teardown, port = 0): Promise<Receiver> => {
  const busy = new Map<string, number>()
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const receiver: Receiver = {
    url: '',
    posts: [],
    events: new Map(),
    requests: 0,
    overlaps: 0,
    react: () => 'acknowledge',
    milliseconds: 5,
    close: async () => {
      server.closeAllConnections()
      if (server.listening) await new Promise(resolve => server.close(resolve))
    },
  }
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const post = Value.Decode(CourierEvents, await json(request)) as OrderEvents
    const { tenant, events } = post
    receiver.requests++
    const isKnown = request.headers.authorization === `Bearer ${serviceToken}`
    if (!isKnown || request.url !== '/internal/events') return void response.writeHead(401).end()
    const others = busy.get(tenant) ?? 0
    if (others > 0) receiver.overlaps++
    busy.set(tenant, others + 1)
    await delay(receiver.milliseconds)
    busy.set(tenant, (busy.get(tenant) ?? 1) - 1)
    const reaction = receiver.react(post)
    if (reaction === 'hang') return
    if (reaction === 'cut') return void response.destroy()
    if (typeof reaction === 'number') return void response.writeHead(reaction).end('{"message":"No."}')
    const respond = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message: '', ...body }))
    if (reaction === 'unknown') return void respond(404, { code: 'unknown_tenant' })
    const fresh = events.filter(({ id }) => !receiver.events.has(id))
    for (const event of fresh) receiver.events.set(event.id, event)
    receiver.posts.push(post)
    if (reaction === 'lose') return void response.destroy()
    const data = { taken: fresh.length, repeated: events.length - fresh.length, expired: 0 }
    respond(200, { data })
  }
  receiver.url = `http://127.0.0.1:${await listen(server, port)}`
  t.teardown(receiver.close)
  return receiver
}

export const waitUntil = async (what: string, isSo: () => unknown, seconds = 30): Promise<void> => {
  const end = performance.now() + seconds * 1000
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`not within ${seconds} s: ${what}`)
    await delay(20)
  }
}
