import { setTimeout as delay } from 'node:timers/promises'
import {
  createTokenFor as createNotifierToken,
  revokeTokenById as revokeNotifierToken,
} from '../services/notifier/access/token-commands.ts'
import { phoneNumberId } from '../services/notifier/test/stage.ts'
import { createTokenFor, revokeTokenById } from '../services/orders/access/token-commands.ts'
import { type Application, startNotifier, startOrders } from './applications.ts'
import type { Operation } from './document.ts'
import type { TrustOptions } from './promise.ts'

/** How somebody calls. */
export type Caller = Record<string, string>

/** Callers that must be refused at every operation that needs a token, and insiders of elsewhere who see nothing of demo's. */
interface Callers {
  refused: Record<string, Caller>
  elsewhere: Record<string, Caller>
}

export interface Target extends Application {
  readonly callers: Callers
  /** Values that name things of demo's, for the path. */
  readonly names: Readonly<Record<string, string>>
  /** Texts that only demo's rows have. */
  readonly marks: readonly string[]
}

export const bearer = (token: string, tenant = 'demo'): Caller => ({
  authorization: `Bearer ${token}`,
  'x-tenant': tenant,
})

export const ordersTarget = async (t: TrustOptions): Promise<Target> => {
  const orders = await startOrders(t)
  const { pool, token, tokenOf } = orders
  const soon = new Date(Date.now() + 1_000).toISOString()
  const shop = { tenant: 'demo', merchant: 'shop@example.com' }
  const expired = await createTokenFor(pool, { ...shop, expires: soon })
  const revoked = await createTokenFor(pool, shop)
  await revokeTokenById(pool, revoked.id)
  const rivals = await tokenOf('shop@example.com', 'rival')
  const staffOfRival = await createTokenFor(pool, { tenant: 'rival', staff: 'Kamal' })
  const [waybill = ''] = (await orders.bulk(markedBatch)).body.data
  await delay(1_100)
  return {
    ...orders,
    names: { waybill, waybill_number: waybill, tenant: 'demo' },
    marks: [waybill, 'Zebulon Quixote', '77 Xylophone Lane'],
    callers: {
      refused: { ...strangers(token, rivals), expired: bearer(expired.token), revoked: bearer(revoked.token) },
      elsewhere: {
        'another merchant': bearer(await tokenOf('books@example.com')),
        'merchant of another tenant': bearer(rivals, 'rival'),
        'staff of another tenant': bearer(staffOfRival.token, 'rival'),
      },
    },
  }
}

const markedBatch = {
  general_data: { merchant_business_id: '7290', origin_city_id: '1500' },
  order_data: [
    {
      customer_name: 'Zebulon Quixote',
      customer_address: '77 Xylophone Lane',
      customer_phone: '0779998887',
      destination_city_id: 2100,
      cod: 1,
      weight: 1,
    },
  ],
}

/** Refused wherever a token of demo's is asked for. */
const strangers = (own: string, rivals: string): Record<string, Caller> => ({
  'no token': { 'x-tenant': 'demo' },
  'a bad token': bearer(`courier_${'x'.repeat(43)}`),
  'half a token': bearer(own.slice(0, -1)),
  'another scheme': { authorization: `Basic ${own}`, 'x-tenant': 'demo' },
  'no tenant': { authorization: `Bearer ${own}` },
  'an unknown tenant': bearer(own, 'nowhere'),
  'all tenants': bearer(own, '*'),
  'the name of another tenant': bearer(own, 'rival'),
  'a token of another tenant': bearer(rivals),
})

export const notifierTarget = async (t: TrustOptions, merchants: string): Promise<Target> => {
  const notifier = await startNotifier(t)
  const { pool, call, tokenFor, operations } = notifier
  const staff = { tenant: 'demo', staff: 'Nimal' }
  const expired = await createNotifierToken(pool, { ...staff, expires: new Date(Date.now() + 1_000).toISOString() })
  const revoked = await createNotifierToken(pool, staff)
  await revokeNotifierToken(pool, revoked.id)
  const rivals = await createNotifierToken(pool, { tenant: 'rival', staff: 'Kamal' })
  const example = operations.find(({ id }) => id === 'POST /api/messages')?.example as object
  const send_at = new Date(Date.now() + 86_400_000).toISOString()
  const { data } = (await call('POST', '/api/messages', { ...example, waybill_number: 'DM00000777', send_at })).body
  await delay(1_100)
  const own = tokenFor(operations[0] as Operation)
  return {
    ...notifier,
    names: { id: data.id, phone_number_id: phoneNumberId, phone: '94770000101' },
    marks: [data.id, 'DM00000777', phoneNumberId],
    callers: {
      refused: {
        ...strangers(own, rivals.token),
        expired: bearer(expired.token),
        revoked: bearer(revoked.token),
        'a merchant of orders': bearer(merchants),
      },
      elsewhere: { 'staff of another tenant': bearer(rivals.token, 'rival') },
    },
  }
}
