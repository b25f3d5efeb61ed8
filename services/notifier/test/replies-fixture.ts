import { inTenant } from '@courier/shared/postgres/database.ts'
import type { Test } from 'tap'
import { storeSecret } from '../core/channels/secrets.ts'
import type { Tx } from '../core/database/tables.ts'
import type { OrdersClient } from '../core/orders-client/orders-client.ts'
import { until } from './fixture.ts'
import { orderEvent, standIn } from './orders-stand-in.ts'
import { build, buildTenant } from './portal.ts'
import { giveRules } from './rules-of-demo.ts'

export const waybill = 'DM00000001'
export const customer = '94770000101'

const actions = ['confirm_order', 'cancel_order', 'change_address', 'call_me']
/** Names the indexes of the buttons of delivery_options. */
export const [confirm, cancel, changeAddress, callMe] = [0, 1, 2, 3]

export const rules = [
  {
    on: 'order.created',
    template: 'delivery_options',
    language: 'en_US',
    body: ['{{customer_name}}', '{{waybill_number}}'],
    buttons: actions.map((action, index) => ({ index, action })),
  },
  { on: 'confirm_order.done', text: 'Thank you {{customer_name}}.\nSee you tomorrow.' },
  { on: 'cancel_order.refused', text: 'It is {{status_name}} already.' },
  { on: 'change_address.asked', text: 'Where to?' },
  { on: 'change_address.done', text: 'The new address is noted.' },
  { on: 'change_address.refused', text: 'The address stays.' },
  { on: 'call_me.requested', text: 'We will call.' },
  { on: 'call_me.declined', text: 'We cannot call: {{note}}' },
]

const orderNumbers = [{ waybill_number: waybill }, { waybill_number: 'DM2' }]

/** Starts the whole notifier between a stand-in for orders and the simulator, whose webhooks reach it over HTTP. */
export const prepare = async (t: Test) => {
  const orders = await standIn(t, ...orderNumbers)
  return { ...(await prepareWith(t, orders.client)), orders }
}

/** Starts the whole notifier as `prepare` does, with the given client of orders. */
export const prepareWith = async (t: Test, orders: OrdersClient) => {
  const log: string[] = []
  return { ...(await startReplies(await build(t, undefined, orders, { log }))), log }
}

/** Starts the notifier as `prepare` does, for a tenant and a number of its own in the database of this process. */
export const prepareTenant = async (t: Test) => {
  const orders = await standIn(t, ...orderNumbers)
  const log: string[] = []
  const built = await buildTenant(t, { log }, { orders: orders.client })
  orders.state.tenant = built.tenant
  return { ...(await startReplies(built)), orders, log }
}

const startReplies = async (built: Awaited<ReturnType<typeof build>>) => {
  const { pool, keyring, app, control, rows, deliver, tenant, phoneNumberId } = built
  await inTenant(pool, tenant, (tx: Tx) =>
    storeSecret(tx, keyring, { tenant, phoneNumberId, kind: 'app_secret' }, 'demo-app-secret'),
  )
  await giveRules(pool, rules, tenant)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  control.behave({ webhook_url: `${url}/webhooks/messaging` })
  built.queue.start()
  built.actions?.start()
  /** Sends the message with the buttons about an order; returns the API's id for the message. */
  const offer = async (waybill_number = waybill): Promise<string> => {
    const offers = () => control.messages().filter(({ template }) => template !== null)
    const before = offers().length
    await deliver(orderEvent(`${waybill_number} 1`, { waybill_number }))
    await until('the message has arrived', async () => offers().length > before)
    return offers()[0]?.id ?? ''
  }
  const texts = (): string[] =>
    control
      .messages()
      .filter(({ template, rendered }) => template === null && rendered.buttons.length === 0)
      .map(({ rendered }) => rendered.body)
      .toReversed()
  /** Returns the API's id of the message that asks for confirmation of the address. */
  const question = async (about: string): Promise<string> => {
    const find = () =>
      control
        .messages()
        .find(({ template, rendered }) => !template && rendered.buttons.length > 0 && rendered.body.includes(about))
    await until(`a question about ${about}`, async () => find())
    return find()?.id ?? ''
  }
  const giveAddress = async (text: string, about = text.trim()) => {
    control.inbound({ from: customer, text })
    control.press({ message_id: await question(about), index: 0 })
  }
  const stored = () => rows('select * from customer_actions order by position')
  const settled = async (count: number) => {
    await until(`${count} actions are settled`, async () => {
      const outcomes = (await stored()).map(({ outcome }) => outcome)
      return outcomes.length === count && !outcomes.includes(null)
    })
    return stored()
  }
  const texted = (count: number) => until(`${count} texts`, async () => texts().length === count)
  const heard = () =>
    until('webhooks are delivered', async () => {
      const { waiting, under_way, to_retry } = control.summary().webhooks
      return waiting + under_way + to_retry === 0
    })
  const counted = async (name: string): Promise<number> => {
    const lines = (await app.inject({ url: '/metrics' })).payload.split('\n')
    return Number(lines.find(line => line.startsWith(`${name} `))?.split(' ')[1] ?? 0)
  }
  return { ...built, url, offer, texts, question, giveAddress, stored, settled, texted, heard, counted }
}
