import type { Test } from 'tap'
import type { OrdersOptions } from '../dependencies.ts'
import { build, type RequestOptions } from './build.ts'
import { batch, order } from './tenant.ts'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

/** The application, with ways to register webhooks, and to book and cancel. */
export const webhooksFixture = async (t: Test, options: Partial<OrdersOptions> = {}) => {
  const app = await build(t, options)
  const call = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
    other: RequestOptions = {},
  ) => {
    const response = await app.app.inject({
      method,
      url: `/api/public/merchant/webhook${path}`,
      headers: { 'x-tenant': other.tenant ?? 'demo', authorization: `Bearer ${other.token ?? app.token}` },
      ...(body && { payload: body }),
    })
    return { status: response.statusCode, body: response.json() }
  }
  /** Registers a receiver, and returns the id. */
  const register = async (
    receiver: WebhookReceiver,
    fields: object = {},
    other: RequestOptions = {},
  ): Promise<string> => {
    const { status, body } = await call('POST', '', { url: receiver.url, ...fields }, other)
    if (status !== 201) throw new Error(JSON.stringify(body))
    receiver.secret = body.data.secret
    return body.data.id
  }
  /** A receiver that is registered. */
  const addReceiver = async (fields: object = {}, other: RequestOptions = {}) => {
    const receiver = await startWebhookReceiver(t)
    return { receiver, id: await register(receiver, fields, other) }
  }
  const book = async (orders: number, other: RequestOptions = {}): Promise<string[]> => {
    const response = await app.bulk(batch(Array.from({ length: orders }, () => order())), other)
    if (response.status !== 200) throw new Error(JSON.stringify(response.body))
    return response.body.data
  }
  const cancel = async (waybill_numbers: string[]): Promise<void> => {
    const { status, body } = await app.request('/order/cancel', { waybill_numbers })
    if (status !== 200) throw new Error(JSON.stringify(body))
  }
  /** Makes everything that is due later due now. */
  const hurry = () =>
    app.rows(`with paused as (update webhook_endpoints set retry_at = null)
      update webhook_deliveries set next_attempt_at = now() where state = 'pending' and next_attempt_at is not null`)
  const endpoint = async (id: string) => (await call('GET', '')).body.data.find((one: { id: string }) => one.id === id)
  const deliveries = async (id: string, query = '') => (await call('GET', `/${id}/deliveries${query}`)).body.data
  return { ...app, call, register, addReceiver, book, cancel, hurry, endpoint, deliveries }
}
