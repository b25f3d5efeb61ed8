import { loadCapabilities } from '@courier/shared/capabilities.ts'
import { findLeftOutProblem } from '@courier/shared/postgres/held-rows.ts'
import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import t from 'tap'
import { launch } from '../../dev/service-process.ts'
import { capabilities } from './capabilities.ts'
import type { Capability } from './capability.ts'
import { commands } from './test/command-line.ts'
import { messageTo } from './test/fixture.ts'
import { build } from './test/portal.ts'
import { change, createFixture, envelope, inbound } from './test/webhooks-fixture.ts'

const buildWith = async (t: Parameters<typeof build>[0], chosen: string) =>
  build(t, undefined, undefined, {}, { capabilities: await loadCapabilities(capabilities, chosen) })

t.test('what is left out has no route and no operation, but its commands; the core works without', async t => {
  const { app, call } = await buildWith(t, 'none')
  const paths = Object.keys((await app.inject('/openapi.json')).json().paths)
  t.same(
    paths.filter(path => /preflight|timeline|doctor|subscribe|reply|\/read$/.test(path)),
    [],
  )
  for (const path of ['timeline/DM1', 'conversations', 'channels/106540352242922/doctor'])
    t.equal((await call('GET', `/api/${path}`)).status, 404, path)
  t.equal((await call('POST', '/api/messages', messageTo('0770000101'))).status, 202)
  const { payload: metrics } = await app.inject('/metrics')
  t.match(metrics, /^messages_queued 1$/m)
  t.notMatch(metrics, /budget|portfolio|customer_actions|_problems/)
  const { notifier } = await commands(t, { NOTIFIER_CAPABILITIES: 'none' })
  t.match((await notifier('--help')).stdout, /doctor[\s\S]*restored/)
  t.match(await notifier('doctor', '--tenant', 'demo'), { status: 1, stderr: /tenant demo has no channels/ })
})

t.test('a setting names what is there; a wrong name stops the service and lists the right ones', async t => {
  const { app, call } = await buildWith(t, 'timeline, doctor, costs')
  const { tags } = (await app.inject('/openapi.json')).json()
  t.ok(tags.some(({ name }: { name: string }) => name === 'timeline'))
  t.equal((await call('GET', '/api/timeline/DM1')).status, 503, 'orders is unavailable')
  t.equal((await call('GET', '/api/conversations')).status, 404)
  const { ended, stderr } = launch(t, 'services/notifier/main.ts', { NOTIFIER_CAPABILITIES: 'inbox,costs,doctors' })
  t.equal(await ended, 1)
  t.match(stderr(), /NOTIFIER_CAPABILITIES must be all, none, or some of inbox, preflight, .*; not "doctors"/)
})

t.test('a capability adds routes for staff, workers and housekeeping', async t => {
  const worker = { start: () => {}, stop: async () => {} }
  const own: Capability = {
    housekeeping: [deleteWhere('conversations', "recipient = '94770000101'")],
    start: ({ pool }) => ({
      routes: {
        staff: async staff => {
          staff.get('/api/own', { schema: { operationId: 'listMessages' } }, async ({ staff: { name } }) => ({
            name,
            isShared: pool !== undefined,
          }))
        },
      },
      workers: [worker],
    }),
  }
  const built = await build(t, undefined, undefined, {}, { capabilities: new Map([['own', own]]) })
  t.match(await built.call('GET', '/api/own'), { status: 200, body: { name: 'Ruwan', isShared: true } })
  t.equal((await built.call('GET', '/api/own', undefined, { authorization: 'Bearer none' })).status, 401)
  t.ok(built.workers.includes(worker))
  await built.rows(`insert into conversations (tenant_id, phone_number_id, recipient, last_inbound_at)
    select tenant_id, phone_number_id, '94770000101', now() from channels`)
  await built.housekeeping.clean()
  t.same(await built.rows('select from conversations'), [])
})

t.test('the counts of webhooks include what capabilities do with them', async t => {
  const counts: Record<string, number> = {}
  const { call } = await createFixture(t, {
    onFact: (kind, count) => {
      counts[kind] = (counts[kind] ?? 0) + count
    },
  })
  const presses = { pressed: 0, press_unreadable: 0, press_expired: 0, press_repeated: 0, addresses: 0 }
  t.equal((await call(envelope({ messages: [inbound()] }))).statusCode, 200)
  t.match(counts, { inbound: 1, notices: 0, ...presses })
  t.equal((await call({ entry: [change({ event: 'ACCOUNT_DELETED' }, 'account_update')] })).statusCode, 200)
  t.match(counts, { inbound: 1, notices: 1, ...presses })
})

/** Makes rows that need a capability, for the tenant demo. */
const promises: Record<string, string> = {
  costs: `insert into tariffs values ('demo', 'utility', '*', '2026-01-01', 0.5)`,
  'per-person': `insert into rules (tenant_id, position, event, template, language, header, body, holds_until_open,
    supersedes, within_minutes) values ('demo', 0, 'key_12', 'x', 'en', '{}', '{}', false, '{}', 20)`,
  'customer-actions': `insert into customer_actions (tenant_id, action_id, message_id, phone_number_id, recipient,
    waybill_number, action, inbound_id, happened_at)
    values ('demo', 'm 0', 'm', '1', '94770000101', 'DM1', 'call_me', 'i', now())`,
  'account-limits': `with waiting as (
      insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
      select tenant_id, 'msg_1', phone_number_id, '94770000101', '{"text": "x"}', 'queued', now(), now() from channels
      returning tenant_id, message_id)
    insert into portfolio_waiting (portfolio_id, tenant_id, message_id, is_marketing, created_at)
    select '77', tenant_id, message_id, false, now() from waiting`,
}

t.test('the service does not start without a capability that has promised something, and says what to do', async t => {
  t.same(
    Object.keys(capabilities)
      .filter(name => capabilities[name]?.holds)
      .sort(),
    Object.keys(promises).sort(),
  )
  const { pool, rows } = await build(t)
  const findProblem = async (setting: string) =>
    findLeftOutProblem(pool, 'NOTIFIER_CAPABILITIES', capabilities, await loadCapabilities(capabilities, setting))
  t.equal(await findProblem('none'), undefined)
  for (const [name, sql] of Object.entries(promises)) {
    await rows(sql)
    t.match(await findProblem('none'), new RegExp(`must name (.* must name )?${name}, because .* before you leave it`))
    t.equal(await findProblem(Object.keys(promises).join(',')), undefined)
  }
})
