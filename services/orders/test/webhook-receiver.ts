import { createServer, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { listen } from '../../../dev/ports.ts'
import type { Teardown } from '../../../dev/test-database.ts'

/** Describes a message as it arrived. */
interface Received {
  readonly id: string
  readonly at: number
  readonly type: string
  readonly waybill: string
  // biome-ignore lint/suspicious/noExplicitAny: a message is whatever came over the wire
  readonly body: any
  /** Holds the body as it arrived. */
  readonly payload: string
  readonly headers: IncomingHttpHeaders
  readonly path: string
}

export interface Reaction {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
  /** Sets how long the request takes; Infinity: no response comes. */
  readonly milliseconds?: number
  /** true: the connection ends without a response. */
  readonly isLost?: boolean
}

/**
 * Starts a merchant's server, which keeps every message and verifies it with standardwebhooks. The server closes when
 * the test ends.
 */
export const startWebhookReceiver = async (t: Teardown) => {
  const server = createServer(async (request, response) => {
    const at = performance.now()
    const payload = await text(request).catch(() => undefined)
    // The sender was killed, or its connection cut, while it sent the body.
    if (payload === undefined) return
    const { headers } = request
    receiver.running++
    receiver.most = Math.max(receiver.most, receiver.running)
    try {
      new Webhook(receiver.secret).verify(payload, headers as Record<string, string>)
    } catch {
      receiver.forged++
    }
    const body = JSON.parse(payload)
    const message = {
      id: String(headers['webhook-id']),
      at,
      type: body.type,
      waybill: body.data.waybill_number ?? '',
      body,
      payload,
      headers,
      path: request.url ?? '',
    }
    receiver.requests.push(message)
    const { status = 204, milliseconds = 0, ...reaction } = receiver.react(message)
    response.once('close', () => receiver.running--)
    if (milliseconds === Number.POSITIVE_INFINITY) return
    if (milliseconds > 0) await delay(milliseconds)
    if (status < 300) receiver.accepted.push(message)
    if (reaction.isLost) return void response.destroy()
    response.writeHead(status, reaction.headers).end(reaction.body)
  })
  const receiver = {
    url: '',
    secret: '',
    /** Lists all messages; `accepted` lists the messages that the server accepted. */
    requests: [] as Received[],
    accepted: [] as Received[],
    /** Counts the requests with a wrong signature. */
    forged: 0,
    running: 0,
    /** Holds the highest number of requests that ran at once. */
    most: 0,
    react: (_: Received): Reaction => ({}),
  }
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  receiver.url = `http://127.0.0.1:${await listen(server)}/hook?key=path-secret`
  return receiver
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>

/** Lists the status keys of accepted messages by waybill, in their order, each event once. */
export const historiesOf = (accepted: readonly Received[]): Record<string, string> => {
  const once = [...new Map(accepted.map(message => [message.id, message])).values()]
  const byWaybill = Map.groupBy(once, ({ waybill }) => waybill)
  return Object.fromEntries(
    [...byWaybill].map(([waybill, of]) => [waybill, of.map(({ body }) => body.data.status.key).join(' ')]),
  )
}
