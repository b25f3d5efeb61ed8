import { createServer } from 'node:http'
import type { Test } from 'tap'
import { listen } from '../../dev/ports.ts'
import { demoNumber } from '../accounts/accounts.ts'
import { createSimulator, type SimulatorOptions } from '../app.ts'

export const accessToken = 'demo-access-token'
export const appSecret = 'demo-app-secret'
export const numberId = demoNumber.phone_number_id
export const accountId = demoNumber.waba_id

interface ApiResponse {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a response is whatever came over the wire
  body: any
}

export interface CallOptions {
  method?: string
  body?: unknown
  token?: string | null
  headers?: Record<string, string>
}

/** Describes a webhook as received. */
interface Post {
  raw: Buffer
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: a webhook is whatever came over the wire
  body: any
}

/** Starts a server that keeps the webhooks it gets, and responds with the statuses in `responses`, then with 200. */
export const receiveWebhooks = async (t: Test) => {
  const posts: Post[] = []
  const responses: number[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', chunk => chunks.push(chunk))
    request.on('end', () => {
      const raw = Buffer.concat(chunks)
      if (request.method === 'POST') posts.push({ raw, headers: request.headers, body: JSON.parse(raw.toString()) })
      const query = new URL(request.url ?? '', 'http://callback').searchParams
      const isKnown = query.get('hub.verify_token') === 'verify-me'
      response.statusCode = request.method === 'POST' ? (responses.shift() ?? 200) : isKnown ? 200 : 403
      response.end(query.get('hub.challenge') ?? '')
    })
  })
  t.teardown(() => server.close())
  const changes = () =>
    posts.flatMap(({ body }) => body.entry.flatMap((entry: { changes: unknown[] }) => entry.changes))
  return {
    url: `http://127.0.0.1:${await listen(server)}/webhooks`,
    posts,
    responses,
    changes,
    statuses: () => changes().flatMap(({ value }) => value.statuses ?? []),
  }
}

/** Starts a simulator on a port of its own, without delays, and without webhooks unless given an address. */
export const build = async (t: Test, { behaviour, ...options }: SimulatorOptions = {}) => {
  const { app, control } = await createSimulator({
    behaviour: { webhook_url: null, delay_factor: 0, throughput_per_second: 0, ...behaviour },
    ...options,
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => app.close())

  const call = async (
    path: string,
    { method, body, token = accessToken, headers }: CallOptions = {},
  ): Promise<ApiResponse> => {
    const authorized = token === null ? headers : { authorization: `Bearer ${token}`, ...headers }
    const payload = typeof body === 'string' ? body : JSON.stringify(body)
    const written = { body: payload, headers: { 'content-type': 'application/json', ...authorized } }
    const init = body === undefined ? { method: 'GET', headers: { ...authorized } } : { method: 'POST', ...written }
    const response = await fetch(`${url}${path}`, { ...init, ...(method && { method }) })
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
  const send = (body: unknown = message(), options: CallOptions = {}) =>
    call(`/v17.0/${numberId}/messages`, { body, ...options })
  /** Waits until no webhook and, except for the `planned` ones, no status is pending. */
  const awaitIdle = async ({ planned = 0 } = {}): Promise<void> => {
    const countLeft = () => {
      const { planned: all, webhooks } = control.summary()
      return all - planned + webhooks.waiting + webhooks.under_way + webhooks.to_retry
    }
    while (countLeft() > 0) await new Promise(resolve => setTimeout(resolve, 5))
  }
  return { app, control, url, call, send, awaitIdle }
}

export const texts = (...values: string[]) => values.map(text => ({ type: 'text', text }))

/** Builds a send of order_delivered, with changes on top. */
export const message = (changes: Record<string, unknown> = {}) => ({
  messaging_product: 'whatsapp',
  to: '94771234567',
  type: 'template',
  template: {
    name: 'order_delivered',
    language: { code: 'en_US' },
    components: [{ type: 'body', parameters: texts('Nimali', 'DM00000001') }],
  },
  ...changes,
})

/** Builds a send of any template. */
export const templateMessage = (name: string, components: unknown[] = [], code = 'en_US') =>
  message({ template: { name, language: { code }, components } })

/** Picks the parts of a response that a test checks: its status, and the code and details of an error. */
export const pick = ({ status, body }: ApiResponse) => [status, body.error?.code, body.error?.error_data?.details]
