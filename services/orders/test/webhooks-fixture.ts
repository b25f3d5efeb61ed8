import type { Test } from 'tap'
import { build, type RequestOptions } from './build.ts'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

/** Builds the application, with helpers that register webhooks, book and cancel. */
export const webhooksFixture = async (t: Test, options: Parameters<typeof build>[1] = {}) => {
  const app = await build(t, options)
  const call = (method: Parameters<typeof app.send>[0], path: string, body?: object, other: RequestOptions = {}) =>
    app.send(method, `/api/public/merchant/webhook${path}`, body, other)
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
  /** Starts a receiver and registers it. */
  const addReceiver = async (fields: object = {}, other: RequestOptions = {}) => {
    const receiver = await startWebhookReceiver(t)
    return { receiver, id: await register(receiver, fields, other) }
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
  return { ...app, call, register, addReceiver, cancel, hurry, endpoint, deliveries }
}
