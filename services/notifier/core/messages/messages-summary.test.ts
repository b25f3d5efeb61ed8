import { setTimeout as delay } from 'node:timers/promises'
import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { phoneNumberId } from '../../test/fixture.ts'
import { build } from '../../test/portal.ts'
import type { Tx } from '../database/tables.ts'
import { idsFrom } from './insert.ts'
import { createMessageSummary } from './summary.ts'

const { call, pool, rows } = await build(t)

const setTimeZone = (zone: string | null) =>
  inTenant(pool, 'demo', (tx: Tx) => tx.client.query('update tenants set time_zone = $1', [zone]))

const midnight = `(now() at time zone 'Asia/Colombo')::date::timestamp at time zone 'Asia/Colombo'`
const day = 86_400_000
let made = 0
const addMessage = async (status: string, age = 0): Promise<string> => {
  const id = `${idsFrom(new Date(Date.now() - age))}${String(++made).padStart(16, '0')}`
  await rows(
    `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
      values ('demo', $1, $2, $3, '{"text": "Hello"}', $4, now(), now() + interval '1 day')`,
    [id, phoneNumberId, `9477${made}`, status],
  )
  return id
}
const addSend = (id: string, at: string) =>
  rows(
    `insert into message_events (tenant_id, message_id, status, happened_at) values ('demo', $1, 'accepted', ${at})`,
    [id],
  )

t.test('counts waiting messages, recent failures and today’s sends, minute by minute', async t => {
  for (const status of ['queued', 'queued', 'held', 'unknown', 'failed', 'failed', 'failed']) await addMessage(status)
  for (const status of ['unknown', 'failed', 'delivered']) await addMessage(status, 1.1 * day)
  const id = await addMessage('read')
  await addSend(id, `${midnight} - interval '1 ms'`)
  await addSend(id, midnight)
  await addSend(id, `${midnight} + interval '59 s'`)
  await addSend(id, `${midnight} + interval '60 s'`)
  await rows(`update channels set state = 'paused'`)
  await setTimeZone('Asia/Colombo')
  const { status, body } = await call('GET', '/api/messages/summary')
  t.equal(status, 200)
  const { minutes, date, ...counts } = body.data
  const none = { unread_conversations: 0, silent_channels: [] }
  t.strictSame(counts, {
    ...none,
    ...{ time_zone: 'Asia/Colombo', queued: 2, held: 1, unknown: 1, failed: 3, paused_channels: 1 },
  })
  const [{ today, start }] = await rows(
    `select ${midnight} as start, (now() at time zone 'Asia/Colombo')::date::text as today`,
  )
  t.equal(date, today)
  t.strictSame(minutes, [
    { at: start.toISOString(), sent: 2 },
    { at: new Date(start.getTime() + 60_000).toISOString(), sent: 1 },
  ])
})

t.test('a later summary counts the last minutes again, and keeps earlier ones', async t => {
  const find = createMessageSummary(pool, 1)
  await setTimeZone('Asia/Colombo')
  const { minutes } = await find('demo')
  t.strictSame(
    minutes.map(({ sent }) => sent),
    [2, 1],
  )
  const id = await addMessage('sent')
  const sendsAfter = async (...at: number[]) => {
    for (const minute of at) await addSend(id, `${midnight} + interval '${minute} min'`)
    await delay(10)
    return (await find('demo')).minutes.map(({ sent }) => sent)
  }
  t.strictSame(await sendsAfter(2, 3), [2, 1, 1, 1])
  t.strictSame(await sendsAfter(0, 3), [2, 1, 1, 2])
})

t.test('caches a summary for some seconds; a tenant without a time zone has the days of UTC', async t => {
  await addMessage('held')
  await setTimeZone(null)
  t.equal((await call('GET', '/api/messages/summary')).body.data.held, 1)
  const { held, time_zone } = await createMessageSummary(pool)('demo')
  t.strictSame([held, time_zone], [2, 'UTC'])
})
