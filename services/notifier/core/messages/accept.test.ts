import { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { fingerprint } from '@courier/shared/postgres/idempotency.ts'
import t from 'tap'
import { addTenant, messageTo } from '../../test/fixture.ts'
import { tenantFixture } from '../../test/tenant-fixture.ts'
import { recordInbound, releaseHeld } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { acceptMessages } from './accept.ts'
import { cancelMessage, resendMessage } from './change.ts'
import type { MessageRequest } from './schema.ts'

type Fixture = Awaited<ReturnType<typeof tenantFixture>>

const quiet = { isRunning: false }
const keyOf = (key: string, body: string) => ({
  scope: 'staff messages',
  key,
  fingerprint: fingerprint(Buffer.from(body)),
})
const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString()

const submit = ({ pool, tenant }: Fixture, requests: MessageRequest[], key?: ReturnType<typeof keyOf>) =>
  acceptMessages(
    pool,
    tenant,
    {
      messages: requests,
      errors: new ErrorList(),
      toPath: index => (requests.length > 1 ? `messages.${index}.` : ''),
    },
    { key },
  )

const validationErrors = async (fixture: Fixture, ...requests: MessageRequest[]) => {
  const result = await submit(fixture, requests)
  return result.kind === 'refused' ? result.errors.errors : result.kind
}

const write = ({ pool, tenant, phoneNumberId }: Fixture, hoursAgo: number, keyword?: 'stop') =>
  inTenant(pool, tenant, (tx: Tx) => {
    const at = new Date(Date.now() - hoursAgo * 3_600_000)
    return recordInbound(tx, [{ tenant, phoneNumberId, recipient: '94770000101', at, keyword }])
  })

/** Adds a second number to the tenant. */
const addSecond = async ({ rows, tenant, phoneNumberId }: Fixture): Promise<string> => {
  const number = `${phoneNumberId}2`
  await rows(
    `insert into channels (tenant_id, phone_number_id, name, plan, is_default, verify_token_hash, proven_at, rate)
    values ($1, $2, 'Second', 'paid', false, '', now(), 80)`,
    [tenant, number],
  )
  return number
}

t.test('accepts a phone number in any usual spelling and stores it as digits', async t => {
  const fixture = await tenantFixture(t, quiet)
  const spellings = ['0770000101', '+94 77 000 0101', '94770000101', '0094770000101', '+1 (631) 555-1234']
  await fixture.accept(...spellings.map(to => messageTo(to)))
  const rows = await fixture.rows('select recipient from messages order by message_id')
  const lanka = '94770000101'
  t.same(rows.map(row => row.recipient).sort(), ['16315551234', lanka, lanka, lanka, lanka])
})

t.test('an invalid phone number is refused, and nothing is queued', async t => {
  const fixture = await tenantFixture(t, quiet)
  for (const to of ['12345', 'abc', '', '+999123456789'])
    t.match(await validationErrors(fixture, messageTo(to)), { to: [/phone number/] }, to)
  t.same(await fixture.rows('select 1 from messages'), [])
})

t.test('a bulk request queues all or none, and every error has its path', async t => {
  const fixture = await tenantFixture(t, quiet)
  const bad = [messageTo('0770000101'), messageTo('1'), messageTo('0770000102', { channel: '1', send_at: inHours(-1) })]
  const errors = await validationErrors(fixture, ...bad)
  t.same(Object.keys(errors).sort(), ['messages.1.to', 'messages.2.channel', 'messages.2.send_at'])
  t.same(await fixture.rows('select 1 from messages'), [])
})

t.test('a message without a channel uses the default one, or the only one; otherwise it is refused', async t => {
  const fixture = await tenantFixture(t, quiet)
  const chosen = async () => validationErrors(fixture, messageTo('0770000101'))
  await fixture.rows('update channels set is_default = false')
  t.equal(await chosen(), 'accepted', 'the only channel sends')
  const second = await addSecond(fixture)
  t.match(await chosen(), { channel: [/no default/] })
  await fixture.rows(`update channels set is_default = true where phone_number_id = $1`, [second])
  t.equal(await chosen(), 'accepted')
  t.match(await fixture.rows('select phone_number_id from messages order by created_at'), [
    { phone_number_id: fixture.phoneNumberId },
    { phone_number_id: second },
  ])
  const theirs = `${fixture.phoneNumberId}3`
  await addTenant(fixture.pool, `rival-of-${fixture.tenant}`, theirs, {})
  t.match(
    await validationErrors(fixture, messageTo('0770000101', { channel: theirs })),
    { channel: [/invalid/] },
    'a channel of another tenant is refused',
  )
})

t.test(
  'on the free plan closed conversations refuse, open ones accept, and held messages leave when the customer writes',
  async t => {
    const fixture = await tenantFixture(t, { ...quiet, plan: 'free' })
    t.match(await validationErrors(fixture, messageTo('0770000101')), { to: [/No conversation/] })
    const held = await submit(fixture, [messageTo('0770000101', { hold_until_open: true })])
    t.match(held, { kind: 'accepted', messages: [{ status: 'held' }] })
    await write(fixture, 1)
    const { pool, tenant, phoneNumberId } = fixture
    await inTenant(pool, tenant, (tx: Tx) => releaseHeld(tx, [{ tenant, phoneNumberId, recipient: '94770000101' }]))
    t.match(await fixture.rows('select status, due_at <= now() as due from messages'), [
      { status: 'queued', due: true },
    ])
    t.equal(await validationErrors(fixture, messageTo('0770000101')), 'accepted')
    await fixture.rows(`update conversations set last_inbound_at = now() - interval '25 hours'`)
    t.match(await validationErrors(fixture, messageTo('0770000101')), { to: [/The last one was open until/] })
  },
)

t.test('sends nothing to a person who opted out', async t => {
  const fixture = await tenantFixture(t, quiet)
  await write(fixture, 1, 'stop')
  t.match(await validationErrors(fixture, messageTo('0770000101')), { to: [/asked for no more/] })
  t.match(await validationErrors(fixture, messageTo('0770000101', { hold_until_open: true })), {
    to: [/asked for no more/],
  })
  t.equal(await validationErrors(fixture, messageTo('0770000102')), 'accepted')
})

t.test('send_at is five minutes to 35 days from now; the message is due then and expires a day later', async t => {
  const fixture = await tenantFixture(t, quiet)
  for (const hours of [-1, 0, 4.9 / 60, 35 * 24 + 0.1])
    t.match(await validationErrors(fixture, messageTo('0770000101', { send_at: inHours(hours) })), {
      send_at: [/5 minutes to 35 days/],
    })
  t.match(await validationErrors(fixture, messageTo('0770000101', { send_at: '2026-99-99T00:00:00Z' })), {
    send_at: [/5 minutes/],
  })
  await fixture.accept(
    messageTo('0770000101', { send_at: inHours(5.1 / 60) }),
    messageTo('0770000101', { send_at: inHours(35 * 24 - 0.1) }),
  )
  const [row] = await fixture.rows(
    `select bool_and(due_at = send_at and expires_at = send_at + interval '24 hours') as so from messages`,
  )
  t.equal(row.so, true)
})

t.test('a key queues once: a repetition returns the same messages, and another body is refused', async t => {
  const fixture = await tenantFixture(t, quiet)
  const first = await submit(fixture, [messageTo('0770000101')], keyOf('k', 'a'))
  t.match(first, { kind: 'accepted', replayed: false })
  const again = await submit(fixture, [messageTo('0770000101')], keyOf('k', 'a'))
  t.match(again, { kind: 'accepted', replayed: true, messages: first.kind === 'accepted' ? first.messages : [] })
  t.same(await submit(fixture, [messageTo('0770000102')], keyOf('k', 'b')), { kind: 'other_body' })
  t.match(await submit(fixture, [messageTo('1')], keyOf('other', 'c')), { kind: 'refused' })
  t.match(
    await submit(fixture, [messageTo('0770000101')], keyOf('other', 'd')),
    { kind: 'accepted' },
    'a refused request stores no key',
  )
  t.equal((await fixture.rows('select 1 from messages')).length, 2)
})

t.test('many concurrent requests with one key queue one message', async t => {
  const fixture = await tenantFixture(t, quiet)
  const calls = Array.from({ length: 20 }, () => submit(fixture, [messageTo('0770000101')], keyOf('k', 'a')))
  const kinds = (await Promise.all(calls)).map(result =>
    result.kind === 'accepted' ? `replayed ${result.replayed}` : result.kind,
  )
  t.equal(kinds.filter(kind => kind === 'replayed false').length, 1)
  t.same(
    kinds.filter(kind => !['replayed false', 'replayed true', 'running'].includes(kind)),
    [],
  )
  t.equal((await fixture.rows('select 1 from messages')).length, 1)
})

t.test('bulk requests to the same people from two numbers, in opposite orders, do not deadlock', async t => {
  const fixture = await tenantFixture(t, quiet)
  const second = await addSecond(fixture)
  const to = (channel: string) => Array.from({ length: 50 }, (_, n) => messageTo(`07700001${n + 10}`, { channel }))
  const there = [...to(second), ...to(fixture.phoneNumberId)]
  const results = await Promise.all(
    Array.from({ length: 16 }, (_, n) => submit(fixture, n % 2 ? there : there.toReversed())),
  )
  t.same([...new Set(results.map(({ kind }) => kind))], ['accepted'])
})

t.test('cancels only a message whose sending has not begun', async t => {
  const fixture = await tenantFixture(t, quiet)
  const cancel = (id = '') => inTenant(fixture.pool, fixture.tenant, (tx: Tx) => cancelMessage(tx, fixture.tenant, id))
  for (const status of ['queued', 'held', 'sending', 'accepted', 'failed', 'unknown', 'expired']) {
    const [id] = await fixture.accept(messageTo('0770000101'))
    await fixture.rows('update messages set status = $2 where message_id = $1', [id, status])
    t.equal(await cancel(id), ['queued', 'held'].includes(status) ? 'cancelled' : status)
  }
  t.equal(await cancel('nobody'), undefined)
})

t.test('resends only a failed or unknown message, and counts its attempts anew', async t => {
  const fixture = await tenantFixture(t, quiet)
  for (const status of ['failed', 'unknown', 'sending', 'accepted', 'delivered', 'cancelled', 'expired']) {
    const [id] = await fixture.accept(messageTo('0770000101'))
    await fixture.rows('update messages set status = $2, attempts = 8, error_code = 1 where message_id = $1', [
      id,
      status,
    ])
    const resend = () => inTenant(fixture.pool, fixture.tenant, (tx: Tx) => resendMessage(tx, fixture.tenant, `${id}`))
    if (status === 'unknown') t.equal(await resend(), 'unknown', 'not resent while its webhook may come')
    await fixture.rows(`update messages set due_at = 'infinity' where message_id = $1 and status = 'unknown'`, [id])
    const now = await resend()
    const isAgain = ['failed', 'unknown'].includes(status)
    t.equal(now, isAgain ? 'queued' : status)
    t.match(await fixture.rows('select attempts from messages where message_id = $1', [id]), [
      { attempts: isAgain ? 0 : 8 },
    ])
  }
})
