import { inTenant } from '@courier/shared/postgres/database.ts'
import t from 'tap'
import { createSimulator } from '../../../../simulator/app.ts'
import { messageTo, until } from '../../test/fixture.ts'
import { buildQueue } from '../../test/queue.ts'
import { tenantFixture } from '../../test/tenant-fixture.ts'
import { storeSecret } from '../channels/secrets.ts'
import type { Tx } from '../database/tables.ts'

type Fixture = Awaited<ReturnType<typeof tenantFixture>>

const readRow = async ({ rows }: Fixture, id: string | undefined) =>
  (
    await rows(`select *, extract(epoch from due_at - status_at)::float as wait from messages where message_id = $1`, [
      id,
    ])
  )[0]

/** Waits until `what` is true of the row of the message; returns the row. */
const waitForRow = async (
  fixture: Fixture,
  id: string | undefined,
  what: (row: Record<string, unknown>) => boolean,
) => {
  await until(`${id} is as expected`, async () => what(await readRow(fixture, id))).catch(async err => {
    throw new Error(JSON.stringify(await readRow(fixture, id)), { cause: err })
  })
  return readRow(fixture, id)
}
const is = (status: string) => (row: Record<string, unknown>) => row.status === status
const failedOnce = (row: Record<string, unknown>) => row.status === 'queued' && row.attempts === 1

const makeDue = ({ rows, queue }: Fixture) =>
  rows(`update messages set due_at = now() where status = 'queued'`).then(() => queue.wake())

t.test('retries 131016 on schedule and counts the attempts; in the end the API accepts the message once', async t => {
  const fixture = await tenantFixture(t)
  fixture.control.script({ times: 3, trouble: { kind: 'error', code: 131016 } })
  const [id] = await fixture.accept(messageTo('0770000101'))
  for (const [index, least] of [5, 30, 120].entries()) {
    const row = await waitForRow(fixture, id, ({ status, attempts }) => status === 'queued' && attempts === index + 1)
    t.match(row, { error_code: 131016, error_meaning: 'A part of the API is down for a moment.' })
    t.ok(row.wait >= least - 0.2 && row.wait <= least * 1.2 + 0.2, `${row.wait} s`)
    await makeDue(fixture)
  }
  t.match(await waitForRow(fixture, id, is('accepted')), { attempts: 3, error_code: null, error_meaning: null })
  t.equal(fixture.control.messages().length, 1)
})

t.test('retries 131016 seven times, and the eighth failure is final', async t => {
  const fixture = await tenantFixture(t)
  fixture.control.script({ times: 2, trouble: { kind: 'error', code: 131016 } })
  const [id] = await fixture.accept(messageTo('0770000101'))
  await waitForRow(fixture, id, failedOnce)
  await fixture.rows('update messages set attempts = 7')
  await makeDue(fixture)
  t.match(await waitForRow(fixture, id, is('failed')), { error_code: 131016, attempts: 8 })
})

t.test('never retries before the time that the API names', async t => {
  const fixture = await tenantFixture(t)
  fixture.control.script({ times: 1, trouble: { kind: 'error', code: 2, retry_after_seconds: 90 } })
  const [id] = await fixture.accept(messageTo('0770000101'))
  const { wait } = await waitForRow(fixture, id, failedOnce)
  t.ok(wait > 89 && wait < 92, `${wait} s`)
})

t.test('131026 fails at once, with its code and meaning', async t => {
  const fixture = await tenantFixture(t)
  fixture.control.script({ trouble: { kind: 'error', code: 131026 } })
  const [id] = await fixture.accept(messageTo('0770000101'))
  const row = await waitForRow(fixture, id, is('failed'))
  t.match(row, { error_code: 131026, error_meaning: /cannot be reached/ })
  t.equal(fixture.control.calls().length, 2, 'register and one send')
})

t.test('132001 holds the template: no other message with it is sent until the hold ends', async t => {
  const fixture = await tenantFixture(t, { wabaId: '102290129340398', window: 1 })
  fixture.control.script({ times: 1, trouble: { kind: 'error', code: 132001 } })
  await fixture.rows(
    `insert into templates (tenant_id, waba_id, name, language, status, parameter_format, components)
    values ($1, '102290129340398', 'order_created', 'en_US', 'APPROVED', 'POSITIONAL',
      '[{"type":"HEADER","format":"TEXT","text":"{{1}}"},{"type":"BODY","text":"{{1}} {{2}} {{3}}"}]')`,
    [fixture.tenant],
  )
  const ids = await fixture.accept(...Array.from({ length: 10 }, (_, n) => messageTo(`077100000${n}`)))
  const failed = `select message_id from messages where status = 'failed' and error_code = 132001`
  await until('one failed', async () => (await fixture.rows(failed)).length)
  await until(
    'the others wait',
    async () => (await fixture.rows(`select from messages where due_at > now() + interval '50 s'`)).length === 9,
  )
  t.equal(fixture.control.calls().length, 2, 'register and one send')
  await fixture.rows('update templates set held_at = null')
  await makeDue(fixture)
  await until(
    'the others are accepted',
    async () => (await fixture.rows(`select from messages where status = 'accepted'`)).length === 9,
  )
  t.equal(ids.length, 10)
  t.same(await fixture.rows('select distinct attempts from messages where status = $1', ['accepted']), [
    { attempts: 0 },
  ])
})

t.test('190 pauses the number; its messages stay queued without an attempt and are sent when it resumes', async t => {
  const fixture = await tenantFixture(t, { window: 4 })
  fixture.control.script({ times: null, trouble: { kind: 'error', code: 190 } })
  await fixture.accept(...Array.from({ length: 50 }, (_, n) => messageTo(`07710000${n + 10}`)))
  const paused = `select paused_code from channels where state = 'paused'`
  await until('paused', async () => (await fixture.rows(paused)).length)
  await until(
    'nothing is in flight',
    async () => (await fixture.rows(`select from messages where status = 'queued' and attempts = 0`)).length === 50,
  )
  t.match(await fixture.rows(paused), [{ paused_code: 190 }])
  const calls = fixture.control.calls().length
  t.ok(calls <= 5, `${calls} requests: register and those in flight`)
  fixture.control.clearScripts()
  await fixture.rows(`update channels set state = 'active', paused_code = null`)
  await until(
    'all are accepted',
    async () => (await fixture.rows(`select from messages where status = 'accepted'`)).length === 50,
  )
  t.equal(fixture.control.messages().length, 50)
})

t.test('every process uses a new token at once: a refusal of the old one pauses nothing', async t => {
  const fixture = await tenantFixture(t)
  const other = buildQueue(fixture.pool, fixture.keyring, fixture.baseUrl, {})
  t.teardown(() => other.api.close())
  const { tenant, phoneNumberId } = fixture
  await other.tokens.find(tenant, phoneNumberId)
  fixture.control.putToken({ access_token: 'new-token' })
  fixture.control.putToken({ access_token: 'demo-access-token', revoked: true })
  const ref = { tenant, phoneNumberId, kind: 'access_token' } as const
  await inTenant(fixture.pool, tenant, (tx: Tx) => storeSecret(tx, fixture.keyring, ref, 'new-token'))
  await fixture.queue.stop()
  const queue = other.createQueue()
  queue.start()
  t.teardown(() => queue.stop())
  const [id] = await fixture.accept(messageTo('0771000001'))
  await waitForRow(fixture, id, is('accepted'))
  t.match(await fixture.rows('select state, attempts from channels join messages using (tenant_id)'), [
    { state: 'active', attempts: 0 },
  ])
})

t.test('three denials in a row without a known code pause the number, but fewer do not', async t => {
  const fixture = await tenantFixture(t, { window: 1 })
  fixture.control.script({ times: 2, trouble: { kind: 'error', code: 77_777, http_status: 403 } })
  const [first, second] = await fixture.accept(messageTo('0771000001'), messageTo('0771000002'))
  await waitForRow(fixture, first, failedOnce)
  await waitForRow(fixture, second, failedOnce)
  fixture.control.script({ times: 1, trouble: { kind: 'error', code: 131026 } })
  const [third] = await fixture.accept(messageTo('0771000003'))
  await waitForRow(fixture, third, is('failed'))
  fixture.control.script({ times: 2, trouble: { kind: 'error', code: 77_777, http_status: 403 } })
  await fixture.accept(messageTo('0771000004'), messageTo('0771000005'))
  await until(
    'both are denied',
    async () => (await fixture.rows('select from messages where attempts = 1 and error_code = 77777')).length === 4,
  )
  t.match(await fixture.rows('select state from channels'), [{ state: 'active' }])
  fixture.control.script({ times: 1, trouble: { kind: 'error', code: 77_777, http_status: 403 } })
  await fixture.accept(messageTo('0771000006'))
  await until('paused', async () => (await fixture.rows(`select from channels where state = 'paused'`)).length)
})

t.test('131056 delays only messages to that recipient', async t => {
  const fixture = await tenantFixture(t, { recipientPauseSeconds: 0.01 })
  fixture.control.script({ times: 1, recipient: '94770000101', trouble: { kind: 'error', code: 131056 } })
  const [id] = await fixture.accept(messageTo('0770000101'))
  const [other] = await fixture.accept(messageTo('0770000102'))
  await waitForRow(fixture, other, is('accepted'))
  const { wait } = await waitForRow(fixture, id, ({ attempts }) => attempts === 1)
  t.ok(wait > 0.5 && wait < 1.5, `${wait} s`)
  await waitForRow(fixture, id, is('accepted'))
})

t.test('a lost response leaves the message unknown, and the notifier does not resend it', async t => {
  const fixture = await tenantFixture(t)
  fixture.control.script({ recipient: '94770000101', trouble: { kind: 'lost' } })
  fixture.control.script({ recipient: '94770000102', trouble: { kind: 'lost', accepted: false } })
  const [id, unaccepted] = await fixture.accept(messageTo('0770000101'), messageTo('0770000102'))
  const row = await waitForRow(fixture, id, is('unknown'))
  t.ok(row.wait > 595 && row.wait < 605)
  t.equal(row.attempts, 0)
  await waitForRow(fixture, unaccepted, is('unknown'))
  await fixture.rows(`update messages set due_at = now()`)
  await until(
    'given up',
    async () => (await fixture.rows(`select from messages where due_at = 'infinity'`)).length === 2,
  )
  t.equal(fixture.control.calls().length, 3, 'register and two sends')
  t.same(await fixture.rows('select distinct status from messages'), [{ status: 'unknown' }])
})

t.test('a gateway’s HTML error page leaves the message unknown, and an empty 500 is retried', async t => {
  const fixture = await tenantFixture(t)
  fixture.control.script({ recipient: '94770000104', trouble: { kind: 'html' } })
  fixture.control.script({ recipient: '94770000105', trouble: { kind: 'empty' } })
  fixture.control.script({ recipient: '94770000106', trouble: { kind: 'html', accepted: true } })
  const [page, empty, accepted] = await fixture.accept(
    ...['0770000104', '0770000105', '0770000106'].map(to => messageTo(to)),
  )
  await waitForRow(fixture, page, is('unknown'))
  await waitForRow(fixture, accepted, is('unknown'))
  const { wait } = await waitForRow(fixture, empty, failedOnce)
  t.ok(wait >= 4.8 && wait <= 6.2, `${wait} s`)
})

t.test('a message to an unreachable API is retried, and arrives once', async t => {
  const fixture = await tenantFixture(t, { isRunning: false })
  const { port } = new URL(fixture.baseUrl)
  await fixture.simulator.close()
  const [id] = await fixture.accept(messageTo('0770000101'))
  fixture.queue.start()
  t.match(await waitForRow(fixture, id, failedOnce), { error_code: null, status: 'queued' })
  const { app, control } = await createSimulator({ behaviour: { webhook_url: null } })
  control.putNumber(fixture.phoneNumberId)
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: Number(port) })
  await makeDue(fixture)
  await waitForRow(fixture, id, is('accepted'))
  t.equal(control.messages().length, 1)
})

for (const mode of ['unavailable', 'reset', 'hang'] as const)
  t.test(`an outage (${mode}) loses nothing and sends nothing twice`, async t => {
    const fixture = await tenantFixture(t, { sendSeconds: 1 })
    fixture.control.outage(mode)
    await fixture.accept(...Array.from({ length: 20 }, (_, n) => messageTo(`07710000${n + 10}`)))
    await until(
      'all were tried',
      async () => (await fixture.rows(`select from messages where attempts > 0 or status = 'unknown'`)).length === 20,
    )
    fixture.control.outage(null)
    await makeDue(fixture)
    await until(
      'all are settled',
      async () => (await fixture.rows(`select from messages where status in ('accepted', 'unknown')`)).length === 20,
    )
    const counts = Map.groupBy(fixture.control.messages(), message => message.biz_opaque_callback_data)
    t.notOk([...counts.values()].some(copies => copies.length > 1))
    const accepted = await fixture.rows(`select message_id from messages where status = 'accepted'`)
    t.notOk(accepted.some(row => !counts.has(row.message_id)))
    t.equal(accepted.length, mode === 'unavailable' ? 20 : 0, 'no message whose request got no response is resent')
  })
