import { inTenant } from '@courier/shared/postgres/database.ts'
import { sameDigits } from '@courier/shared/test/phones.ts'
import t from 'tap'
import { phoneNumberId, until } from '../../test/fixture.ts'
import { orderEvent } from '../../test/orders-stand-in.ts'
import { build } from '../../test/portal.ts'
import { giveRules } from '../../test/rules-of-demo.ts'
import type { Tx } from '../database/tables.ts'

const wabaId = '102290129340398'
const secrets = { access_token: 'demo-access-token', app_secret: 'an-app-secret', verify_token: 'a-verify-token' }
const { call, deliver, rows, pool, queue } = await build(t, undefined, undefined, { wabaId })
await call('PUT', `/api/channels/${phoneNumberId}`, secrets)
await call('POST', '/api/templates/sync')
await giveRules(pool)
queue.start()

const spellings = [
  '0771234567',
  '\u202a+94 77 123 4567\u202c',
  '077\u00a01234567',
  '0771234567 ext 12',
  '077–1234567 (office)',
  '="0771234567"',
  '0771234567,',
  ...[0x660, 0xff10, 0x9e6, 0x966, 0xbe6, 0xe50, 0xde6].map(zero =>
    '0771234567'.replace(/\d/g, digit => String.fromCodePoint(zero + Number(digit))),
  ),
]
const place = (phone: string) => `/api/conversations/${encodeURIComponent(phone)}`
const send = (to: string) => {
  const parameters = (texts: string[]) => texts.map(text => ({ type: 'text', text }))
  const components = [{ type: 'body', parameters: parameters(['Nimali', 'DM00000001']) }]
  return call('POST', '/api/messages', {
    to,
    template: { name: 'order_delivered', language: { code: 'en_US' }, components },
  })
}

t.test('every spelling is the same recipient of messages, rules, searches and opt-outs', async t => {
  for (const [index, phone] of spellings.entries()) {
    t.equal((await send(phone)).status, 202, phone)
    await deliver(orderEvent(String(index + 1), { waybill_number: `DM${index}`, customer_phone: phone }))
  }
  await until(
    'all messages are stored',
    async () => (await rows('select count(*)::int as n from messages'))[0].n === 2 * spellings.length,
  )
  t.same(await rows('select distinct recipient from messages'), [{ recipient: '94771234567' }])
  for (const phone of spellings) {
    const { body } = await call('GET', `/api/messages?limit=100&to=${encodeURIComponent(phone)}`)
    t.equal(body.data.length, 2 * spellings.length, phone)
  }
  for (const phone of spellings) {
    t.equal((await call('POST', `${place(phone)}/opt-out`, { reason: 'Asked by phone' })).status, 200, phone)
    t.match((await call('GET', place('94771234567'))).body, { data: { opted_out: true } }, phone)
    t.equal((await send('0771234567')).status, 422)
    await call('POST', `${place('+94771234567')}/opt-in`, { reason: 'Asked by phone' })
    t.match((await call('GET', place(phone))).body, { data: { opted_out: false } }, phone)
  }
})

t.test('two numbers in one field are no recipient', async t => {
  for (const phone of ['0771234567 / 0719876543', '0771234567 0719876543', '0771234567/8', '7.7123E+08'])
    t.match((await send(phone)).body, { errors: { to: [/must be a phone number/] } }, phone)
})

t.test(
  'people whose numbers share nine digits are strangers: messages, filters, opt-outs and what they wrote',
  async t => {
    for (const { country, one, other } of sameDigits) {
      await inTenant(pool, 'demo', (tx: Tx) => tx.client.query('update tenants set country = $1', [country]))
      const local = one.formatNational()
      const mine = one.number.slice(1)
      const sends = [await send(local), await send(other.number)]
      t.strictSame(
        sends.map(({ status }) => status),
        [202, 202],
        country,
      )
      const sent = sends.map(({ body }) => body.data?.id)
      for (const [typed, id] of [
        [local, sent[0]],
        [`00${mine}`, sent[0]],
        [one.formatInternational(), sent[0]],
        [other.formatInternational(), sent[1]],
      ] as [string, string][]) {
        const { body } = await call('GET', `/api/messages?limit=100&to=${encodeURIComponent(typed)}`)
        const found = body.data.map((message: { id: string }) => message.id)
        t.strictSame(
          sent.filter(each => found.includes(each)),
          [id],
          `${country} ${typed}`,
        )
      }
      await call('POST', `${place(local)}/opt-out`, { reason: 'Asked by phone' })
      t.match((await call('GET', place(one.number))).body, { data: { opted_out: true } }, country)
      t.match((await call('GET', place(other.number))).body, { data: { opted_out: false } }, country)
    }
  },
)
