import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { applyTariffs } from './capabilities/costs/apply.ts'
import { storeSecret } from './core/channels/secrets.ts'
import type { Tx } from './core/database/tables.ts'
import { phoneNumberId, until } from './test/fixture.ts'
import { build } from './test/portal.ts'
import { recordDay } from './test/recorded-day.ts'

const wabaId = '102290129340398'
const tariff = (country: string, from: string, price: string) => ({ category: 'utility', country, from, price })

const built = await build(t, undefined, undefined, { wabaId })
const { app, baseUrl, call, control, keyring, pool, queue, rows } = built
await inTenant(pool, 'demo', async (tx: Tx) => {
  await storeSecret(tx, keyring, { tenant: 'demo', phoneNumberId, kind: 'app_secret' }, 'demo-app-secret')
  await tx.client.query(`update tenants set currency = 'USD', time_zone = 'Asia/Colombo'`)
  await applyTariffs(tx, 'demo', [
    ...[
      tariff('LK', '2026-01-01', '0.0165'),
      tariff('LK', '2026-10-01', '0.0072'),
      tariff('*', '2026-01-01', '0.0311'),
    ],
  ])
})
const url = await app.listen({ host: '127.0.0.1', port: 0 })
control.behave({ webhook_url: `${url}/webhooks/messaging` })
await call('POST', '/api/templates/sync')
queue.start()

/** Sums exact decimals of at most four digits. */
const sum = (amounts: readonly string[]): number =>
  amounts.reduce((total, amount) => total + Math.round(Number(amount) * 10_000), 0)
const lastMonth = new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 10)
const bill = async () => (await call('GET', `/api/costs?from=${lastMonth}`)).body.total
const priced = async (): Promise<number> => (await rows('select count(*)::int from message_prices'))[0].count
const untilPriced = (count: number) => until(`${count} are priced`, async () => (await priced()) === count, 60)

/** Gives every ninth person a number abroad. */
const spell = (phone: string): string => (Number(phone) % 9 === 0 ? `+447700900${phone.slice(-3)}` : phone)

let forecast = 0

t.test('the forecast of a recorded day’s messages equals what they cost once they are delivered', async t => {
  const scans = recordDay().map(scan => ({ ...scan, phone: spell(scan.phone) }))
  const people = [...new Set(scans.map(({ phone }) => phone))]
  for (const phone of people.filter((_, index) => index % 4 === 0))
    control.inbound({ from: phone.slice(1), text: 'Where is it?' })
  const open = 'select from conversations where last_inbound_at is not null'
  await until('the windows are open', async () => (await rows(open)).length === people.length / 4)
  const messages = scans.map(({ waybill, phone, status }) => ({
    to: phone,
    template: {
      name: 'order_delivered',
      language: { code: 'en_US' },
      components: [{ type: 'body', parameters: [status, waybill].map(text => ({ type: 'text', text })) }],
    },
  }))
  const { data } = (await call('POST', '/api/messages/preflight', { messages })).body
  forecast = sum(data.map(({ price }: { price: { amount: string } }) => price.amount))
  type Seen = { window: { open: boolean }; price: { is_free: boolean } }
  t.ok(
    data.some(({ window, price }: Seen) => window.open && !price.is_free),
    'an open window makes nothing free',
  )
  t.same(await priced(), 0)
  t.equal((await call('POST', '/api/messages/bulk', { messages })).status, 202)
  await untilPriced(messages.length)
  const { amount, paid, free, unknown } = await bill()
  t.same(
    { amount: sum([amount]), paid, free, unknown },
    { amount: forecast, paid: messages.length, free: 0, unknown: 0 },
  )
})

t.test('replies past the free ones of the month cost what the conversation says before each', async t => {
  const person = '94772000001'
  control.inbound({ from: person, text: 'Hello' })
  const thread = async () => (await call('GET', `/api/conversations/${person}/messages`)).body
  await until('it is heard', async () => (await thread()).conversation.open)
  await spendFree(997, person)
  const before = await priced()
  const forecasts: string[] = []
  for (let reply = 1; reply <= 6; reply++) {
    const { price, free_left } = (await thread()).reply
    t.equal(free_left, Math.max(0, 4 - reply))
    forecasts.push(price.amount)
    t.equal((await call('POST', `/api/conversations/${person}/reply`, { text: `Reply ${reply}` })).status, 202)
    await untilPriced(before + reply)
  }
  t.same(forecasts, ['0', '0', '0', '0.0072', '0.0072', '0.0072'])
  t.equal(sum([(await bill()).amount]), forecast + sum(forecasts))
})

/** Sends that many replies, straight to the API, and stores their prices as webhooks report them. */
const spendFree = async (count: number, to: string): Promise<void> => {
  const headers = { authorization: 'Bearer demo-access-token', 'content-type': 'application/json' }
  const body = JSON.stringify({ messaging_product: 'whatsapp', to, type: 'text', text: { body: 'Hello' } })
  const send = () => fetch(`${baseUrl}/v17.0/${phoneNumberId}/messages`, { method: 'POST', headers, body })
  for (let sent = 0; sent < count; sent++) if (!(await send()).ok) throw new Error('refused')
  await rows(
    `insert into message_prices (tenant_id, message_id, provider_message_id, priced_at, category, is_free, country,
       template, phone_number_id)
     select 'demo', 'earlier ' || n, 'earlier ' || n, now(), 'service', true, 'LK', '', $1
     from generate_series(1, $2::integer) n`,
    [phoneNumberId, count],
  )
}
