import { identifyPerson } from '@courier/shared/phone-number.ts'
import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import fc from 'fast-check'
import type pg from 'pg'
import t from 'tap'
import { createFixture } from '../../test/webhooks-fixture.ts'
import type { Tx } from '../database/tables.ts'
import { expiresAt, isOpen } from './conversation.ts'
import { listSpellings } from './phone-number.ts'
import { findConversation, type Inbound, lockConversations, recordInbound, releaseHeld } from './queries.ts'

const at = (text: string) => new Date(`2026-11-20T${text}Z`)
const person = { tenant: 'demo', phoneNumberId: '100', recipient: '94770000101' }

t.test('a conversation is open for 24 hours, to the millisecond', t => {
  const written = at('12:00:00.000')
  const cases: [Date, boolean][] = [
    [written, true],
    [new Date('2026-11-21T11:59:59.999Z'), true],
    [new Date('2026-11-21T12:00:00.000Z'), false],
    [new Date('2027-01-01T00:00:00.000Z'), false],
  ]
  for (const [now, open] of cases) t.equal(isOpen(written, now), open, now.toISOString())
  t.equal(isOpen(null, written), false)
  t.same(expiresAt(written), new Date('2026-11-21T12:00:00.000Z'))
  t.equal(expiresAt(null), null)
  t.end()
})

t.test('a number that the API spells in two ways is one person', t => {
  const cases: [string, string[]][] = [
    ['5215512345678', ['525512345678', '5215512345678']],
    ['525512345678', ['525512345678', '5215512345678']],
    ['556198765432', ['5561998765432', '556198765432']],
    ['5561998765432', ['5561998765432', '556198765432']],
    ['556132345678', ['556132345678']],
    ['94770000101', ['94770000101']],
  ]
  for (const [digits, spellings] of cases) {
    t.same(listSpellings(digits), spellings, digits)
    t.equal(identifyPerson(digits), spellings[0])
  }
  t.end()
})

const readState = (pool: pg.Pool) =>
  inTenant(pool, 'demo', async (tx: Tx) =>
    (await findConversation(tx, 'demo', '100', ['94770000101'])).get('94770000101'),
  )

t.test('messages in any order, however often repeated, leave the same conversation', async t => {
  const { pool, rows } = await createFixture(t)
  const day: Inbound[] = [
    { ...person, at: at('08:00:00') },
    { ...person, at: at('09:00:00'), keyword: 'stop' },
    { ...person, at: at('10:00:00'), keyword: 'start' },
    { ...person, at: at('11:00:00') },
  ]
  const days = fc.array(fc.array(fc.constantFrom(...day), { minLength: 1 }), { maxLength: 5 })
  await fc.assert(
    fc.asyncProperty(days, async webhooks => {
      await rows('delete from conversations')
      for (const webhook of [...webhooks, [day[2] as Inbound], day])
        await inAllTenants(pool, (tx: Tx) => recordInbound(tx, webhook))
      const known = await readState(pool)
      return known?.lastInboundAt?.getTime() === at('11:00:00').getTime() && known.optedOutAt === null
    }),
    { numRuns: 50 },
  )
})

t.test('the latest keyword counts, by the time of its message', async t => {
  const { pool } = await createFixture(t)
  const record = (...messages: Inbound[]) => inAllTenants(pool, (tx: Tx) => recordInbound(tx, messages))
  await record({ ...person, at: at('10:00:00'), keyword: 'start' })
  await record({ ...person, at: at('09:00:00'), keyword: 'stop' })
  t.equal((await readState(pool))?.optedOutAt, null)
  await record({ ...person, at: at('11:00:00'), keyword: 'stop' })
  await record({ ...person, at: at('12:00:00') })
  t.same((await readState(pool))?.optedOutAt, at('11:00:00'))
  t.same((await readState(pool))?.lastInboundAt, at('12:00:00'))
  await record({ ...person, at: at('11:00:00'), keyword: 'start' })
  t.same((await readState(pool))?.optedOutAt, at('11:00:00'), 'the opt-out counts if two keywords have the same time')
})

t.test('finds conversations by any spelling, and only those of the given channel and tenant', async t => {
  const { pool } = await createFixture(t)
  const others = [
    { ...person, recipient: '5215512345678' },
    { ...person, phoneNumberId: '101' },
    { tenant: 'rival', phoneNumberId: '200', recipient: '94770000101' },
  ]
  await inAllTenants(pool, (tx: Tx) =>
    recordInbound(
      tx,
      others.map(other => ({ ...other, at: at('10:00:00') })),
    ),
  )
  const found = await inTenant(pool, 'demo', (tx: Tx) =>
    findConversation(tx, 'demo', '100', ['525512345678', '5215512345678', '94770000101']),
  )
  t.same([...found.keys()], ['525512345678', '5215512345678'])
})

t.test('queues held messages once, due now or at their own time, with a timeline event', async t => {
  const { pool, addMessages, messageOf, timelineOf } = await createFixture(t)
  const later = new Date(Date.now() + 3_600_000)
  await addMessages([
    { id: 'a', status: 'held' },
    { id: 'b', status: 'held', sendAt: later },
    { id: 'c', status: 'held', recipient: '94770000999' },
    { id: 'd', status: 'held', phoneNumberId: '101' },
    { id: 'e', status: 'cancelled' },
    { id: 'f', status: 'held', tenant: 'rival', phoneNumberId: '200' },
  ])
  const release = () =>
    inTenant(pool, 'demo', (tx: Tx) =>
      releaseHeld(tx, [{ tenant: 'demo', phoneNumberId: '100', recipient: '94770000101' }]),
    )
  const counts = await Promise.all([release(), release(), release()])
  t.same(counts.sort(), [0, 0, 2])
  t.match(await messageOf('a'), { status: 'queued' })
  t.ok((await messageOf('a')).due_at <= new Date())
  t.match(await messageOf('b'), { status: 'queued', due_at: later })
  t.same(await timelineOf('a'), ['queued'])
  for (const [id, status] of [
    ['c', 'held'],
    ['d', 'held'],
    ['e', 'cancelled'],
    ['f', 'held'],
  ] as const)
    t.equal((await messageOf(id)).status, status, id)
})

t.test('a message that is held while the customer writes is released', async t => {
  const { pool, addMessages, messageOf } = await createFixture(t)
  const { promise: isLocked, resolve: signalLocked } = Promise.withResolvers<void>()
  const { promise: mayCommit, resolve: letCommit } = Promise.withResolvers<void>()
  const accepting = inTenant(pool, 'demo', async (tx: Tx) => {
    const known = await lockConversations(tx, 'demo', '100', ['94770000101', '94770000101'])
    signalLocked()
    await mayCommit
    if (!known.get('94770000101')?.lastInboundAt) await addMessages([{ id: 'late', status: 'held' }])
  })
  await isLocked
  const writing = inAllTenants(pool, async (tx: Tx) => {
    await recordInbound(tx, [{ ...person, at: new Date() }])
    return releaseHeld(tx, [{ tenant: 'demo', phoneNumberId: '100', recipient: '94770000101' }])
  })
  letCommit()
  await accepting
  t.equal(await writing, 1)
  t.equal((await messageOf('late')).status, 'queued')
})

t.test('staff see whether a conversation is open, however the number is spelt', async t => {
  const { pool, get } = await createFixture(t)
  const last = new Date(Date.now() - 3_600_000)
  await inAllTenants(pool, (tx: Tx) => recordInbound(tx, [{ ...person, at: last }]))
  for (const phone of ['94770000101', '+94770000101', '0770000101', '077 000 0101', '+94 (77) 000-0101']) {
    const response = await get(`/api/conversations/${encodeURIComponent(phone)}`)
    t.equal(response.statusCode, 200, phone)
    t.same(response.json().data, {
      open: true,
      last_inbound_at: last.toISOString(),
      expires_at: expiresAt(last)?.toISOString(),
      opted_out: false,
      marketing_opted_out: false,
      opt_outs: [],
    })
  }
})

t.test('a number that never wrote has no open conversation', async t => {
  const { get } = await createFixture(t)
  const closed = { open: false, last_inbound_at: null, expires_at: null }
  const nothing = { ...closed, opted_out: false, marketing_opted_out: false, opt_outs: [] }
  t.same((await get('/api/conversations/0770000999')).json(), { data: nothing })
  t.same((await get('/api/conversations/0770000999?channel=101')).json(), { data: nothing })
})

t.test('hides a conversation of another number or tenant, and shows that a person opted out', async t => {
  const { pool, get } = await createFixture(t)
  const stop = { phoneNumberId: '101', at: new Date(Date.now() - 90_000_000), keyword: 'stop' } as const
  await inAllTenants(pool, (tx: Tx) => recordInbound(tx, [{ ...person, ...stop }]))
  t.match((await get('/api/conversations/94770000101')).json().data, { open: false, last_inbound_at: null })
  t.match((await get('/api/conversations/94770000101', 'rival')).json().data, { open: false, last_inbound_at: null })
  const other = (await get('/api/conversations/94770000101?channel=101')).json().data
  t.match(other, { open: false, last_inbound_at: String, expires_at: String, opted_out: true })
})

t.test('refuses an invalid phone number, and a channel that is not the tenant’s', async t => {
  const { get } = await createFixture(t)
  const response = await get('/api/conversations/nobody?channel=200')
  t.equal(response.statusCode, 422)
  t.same(response.json().errors, {
    channel: ['The selected channel is invalid.'],
    phone: ['The phone field must be a phone number, such as +94770000101.'],
  })
})
