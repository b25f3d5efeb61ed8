import { setTimeout as delay } from 'node:timers/promises'

/** Holds the addresses of a running system, and the tokens of its staff. */
export interface Courier {
  orders: string
  notifier: string
  simulator: string
  ordersStaff: string
  notifierStaff: string
}

export interface ApiResponse {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a response is whatever came over the wire
  body: any
}

/** Sends a request of tenant `demo`. */
export const request = async (
  url: string,
  { token, body, key, signal }: { token?: string; body?: unknown; key?: string; signal?: AbortSignal } = {},
): Promise<ApiResponse> => {
  const response = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      'x-tenant': 'demo',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(signal && { signal }),
  })
  return { status: response.status, body: await response.json() }
}

interface PhoneMessage {
  template: { name: string }
  components: unknown[]
  rendered: { header?: string; body: string }
  status: string
  accepted_at: string
}

/** Returns the messages on a customer's phone, oldest first. */
export const readPhoneMessages = async (simulator: string, digits: string): Promise<PhoneMessage[]> => {
  const { body } = await request(`${simulator}/control/messages?to=${digits}`)
  return body.data.reverse()
}

/** Waits for a value that satisfies `isDone`. After `seconds`, throws an error with the beginning of the last value. */
export const waitUntil = async <Value>(
  what: string,
  poll: () => Promise<Value>,
  isDone: (value: Value) => boolean,
  seconds = 60,
): Promise<Value> => {
  const end = performance.now() + seconds * 1000
  for (;;) {
    const value = await poll()
    if (isDone(value)) return value
    if (performance.now() > end)
      throw new Error(`not within ${seconds} s: ${what}: ${JSON.stringify(value)?.slice(0, 2_000)}`)
    await delay(100)
  }
}
