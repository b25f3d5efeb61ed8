import {
  exampleSnapshot,
  type InvoiceEvent,
  type OrderEvent,
  type OrderSnapshot,
} from '@courier/shared/contract/order-events.ts'
import t from 'tap'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { ruleOf as rule } from '../../test/rules-of-demo.ts'
import type { Rule } from './queries.ts'
import { fires, makeMessage, toTemplate } from './rules.ts'

const eventOf = (status_key: string, type = 'order.created'): OrderEvent => ({
  ...{ id: 'a', type, happened_at: '2026-02-19T19:06:23.000Z', order: { ...exampleSnapshot, status_key } },
})

t.test('a rule fires on its event, or when an order reaches its status', async t => {
  const created = eventOf('key_2')
  const moved = eventOf('key_13', 'order.status_changed')
  const firing = (event: string) => [created, moved].map(each => fires(rule({ event }), each))
  t.same(firing('order.created'), [true, false])
  t.same(firing('order.status_changed'), [false, true])
  t.same(firing('key_2'), [true, false])
  t.same(firing('key_13'), [false, true])
  t.same(firing('key_1'), [false, false])
})

t.test("a decision about a customer's request fires only rules for exactly that decision", async t => {
  const decided = eventOf('key_12', 'call_me.accepted')
  const fired = ['call_me.accepted', 'call_me.declined', 'order.status_changed', 'key_12', 'call_me']
  t.same(
    fired.filter(event => fires(rule({ event }), decided)),
    ['call_me.accepted'],
  )
})

const colombo = { between: ['08:00', '20:00'] as const, timeZone: 'Asia/Colombo' }
const messageFor = (more: Partial<Rule> = {}, order: Partial<OrderSnapshot> = {}, phoneNumberId?: string) =>
  makeMessage(rule(more), orderEvent('a', { ...exampleSnapshot, ...order }), colombo, phoneNumberId)

t.test('the template of a rule has its header, its body and its other parts, in this order', async t => {
  const button = {
    ...{ type: 'button' as const, sub_type: 'url' as const, index: '0' },
    parameters: [{ type: 'text' as const, text: '{{waybill_number}}' }],
  }
  t.strictSame(toTemplate(rule({ header: ['A'], body: ['B', '{{cod}}'], components: [button] })), {
    name: 'order_delivered',
    language: { code: 'en_US' },
    components: [
      { type: 'header', parameters: [{ type: 'text', text: 'A' }] },
      {
        type: 'body',
        parameters: [
          { type: 'text', text: 'B' },
          { type: 'text', text: '{{cod}}' },
        ],
      },
      button,
    ],
  })
  t.strictSame(toTemplate(rule({ body: [] })).components, [])
})

t.test('a message has the order’s values, its customer and the settings of its rule', async t => {
  t.strictSame(messageFor(), {
    to: '0770000101',
    template: {
      name: 'order_delivered',
      language: { code: 'en_US' },
      components: [{ type: 'body', parameters: [{ type: 'text', text: 'Nimali Perera' }] }],
    },
    channel: null,
    waybill_number: 'DM00000001',
    hold_until_open: false,
    isUnderWay: true,
    missing: undefined,
    source: {
      content: toTemplate(rule()),
      event: { status_key: 'key_2', status_name: 'CONFIRMED', note: null },
      isToCustomer: true,
    },
    hours: colombo,
  })
  t.match(messageFor({ holds_until_open: true }, { is_final: true }), { hold_until_open: true, isUnderWay: false })
})

t.test('a rule with a text makes a message without a template', async t => {
  t.strictSame(messageFor({ text: 'Dear {{customer_name}},\nthank you', template: '' }).template, {
    text: 'Dear Nimali Perera,\nthank you',
  })
})

t.test('the number is the rule’s own, else the button’s, else the default one', async t => {
  t.equal(messageFor({ phone_number_id: '1' }, {}, '2').channel, '1')
  t.equal(messageFor({}, {}, '2').channel, '2')
  t.equal(messageFor().channel, null)
})

t.test('a tracking_url that orders does not send is missing, in templates and texts', async t => {
  const noPage = { tracking_url: undefined } as unknown as Partial<OrderSnapshot>
  for (const more of [{ body: ['{{customer_name}}', '{{tracking_url}}'] }, { text: 'See {{tracking_url}}' }]) {
    const unfilled = messageFor(more, noPage)
    t.match(JSON.stringify(unfilled.template), /\{\{tracking_url\}\}/, 'the field stays unfilled')
    t.match(unfilled.missing, /no \{\{tracking_url\}\}/)
    t.equal(messageFor(more).missing, undefined)
  }
})

t.test('hours are the rule’s own, else the tenant’s, which do not apply to replies', async t => {
  const night: [string, string] = ['20:00', '02:00']
  t.strictSame(messageFor({ send_between: night }).hours, { ...colombo, between: night })
  for (const event of ['cancel.done', 'cancel.refused', 'change_address.asked', 'call_me.requested']) {
    t.equal(messageFor({ event }).hours, undefined, event)
    t.strictSame(messageFor({ event, send_between: night }).hours, { ...colombo, between: night })
  }
  for (const event of ['call_me.accepted', 'order.created', 'done'])
    t.strictSame(messageFor({ event }).hours, colombo, event)
  t.equal(makeMessage(rule(), eventOf('key_2'), { ...colombo, between: null }).hours, undefined)
})

t.test('a rule on a paid invoice writes to the merchant, if the merchant has a phone', t => {
  const paid = (merchant_phone: string | null): InvoiceEvent => ({
    ...{ id: 'a', type: 'invoice.deposited', happened_at: '2026-02-19T19:06:23.000Z' },
    invoice: {
      ...{ merchant_name: 'Lanka Shoes', merchant_phone, invoice_no: 'CFX-1', invoice_ref_no: 'MI-1' },
      ...{ total: '550.00', currency: 'LKR', paid_on: '2026-02-19' },
    },
  })
  const deposited = rule({ event: 'invoice.deposited', header: [], body: ['{{invoice_no}}', '{{total}}'] })
  t.equal(fires(deposited, paid('0112345678')), true)
  t.equal(fires(deposited, paid(null)), false)
  t.equal(fires(rule({ event: 'order.created' }), paid('0112345678')), false)
  t.equal(fires(rule({ event: 'order.created' }), paid(null)), false)
  const message = makeMessage(deposited, paid('0112345678'), colombo)
  t.match(message, { to: '0112345678', hours: colombo })
  const [body] = (message as { template: { components: { parameters: object[] }[] } }).template.components
  t.strictSame(body?.parameters, [
    { type: 'text', text: 'CFX-1' },
    { type: 'text', text: '550.00' },
  ])
  t.notOk('waybill_number' in message)
  t.equal(makeMessage(deposited, paid(null), colombo).to, '', 'nobody gets it')
  const sent: InvoiceEvent = {
    ...{ ...paid('0112345678'), type: 'invoice.submitted' },
    invoice: { ...paid('0112345678').invoice, object_until: '2026-02-20 14:30' },
  }
  const submitted = rule({ event: 'invoice.submitted', header: [], body: ['{{total}} {{object_until}}'] })
  t.strictSame(
    [fires(submitted, sent), fires(deposited, sent), fires(submitted, paid('0112345678'))],
    [true, false, false],
  )
  t.match(JSON.stringify(makeMessage(submitted, sent, colombo)), '550.00 2026-02-20 14:30')
  t.end()
})
