import t from 'tap'
import { addTenant, messageTo, phoneNumberId, until } from '../../test/fixture.ts'
import { openRoom } from './defer-for-room.ts'
import { leaveDayByDay, phone, prepareLimit } from './test/portfolio-fixture.ts'

const limit = 25

t.test('messages above the limit of the portfolio wait for room, the oldest first, and none fails', t =>
  leaveDayByDay(t, limit, 4 * limit),
)

t.test('staff see when a message leaves; a person reached before, and an open window, take no room', async t => {
  const { accept, acceptTo, rows, settled, start } = await prepareLimit(t)
  await acceptTo(0, limit)
  start()
  await settled(limit)
  await rows(
    `insert into conversations (tenant_id, phone_number_id, recipient, last_inbound_at)
    values ('demo', $1, '94771000900', now())`,
    [phoneNumberId],
  )
  const [late] = await accept(messageTo(phone(901)))
  await accept(messageTo(phone(0)), messageTo(phone(900)))
  await settled(limit + 2)
  const [waiting] = await rows(
    `select status, send_at > now() + interval '23 hours' and send_at < now() + interval '25 hours' as is_tomorrow,
      expires_at > send_at as lasts from messages where message_id = $1`,
    [late],
  )
  t.same(waiting, { status: 'queued', is_tomorrow: true, lasts: true })
  const events = await rows('select detail from message_events where message_id = $1 and detail is not null', [late])
  t.match(events, [
    { detail: /^waits: the portfolio's messaging limit is reached; leaves about 20\d\d-\d\d-\d\d \d\d:\d\d$/ },
  ])
})

t.test('utility messages leave before marketing messages that wait longer', async t => {
  const { acceptTo, rows, passDay, settled, start } = await prepareLimit(t)
  await acceptTo(0, limit)
  const offers = await acceptTo(100, limit)
  const others = await acceptTo(200, limit)
  const due = (ids: string[], at: string) =>
    rows('update messages set due_at = now() + $2::interval where message_id = any($1)', [ids, at])
  await due([...offers, ...others], '1 hour')
  await rows(`insert into templates (tenant_id, waba_id, name, language, status, category, parameter_format, components)
    values ('demo', '102290129340398', 'offer', 'en_US', 'APPROVED', 'MARKETING', 'POSITIONAL', '[]')`)
  await rows(`update messages set template = jsonb_set(template, '{name}', '"offer"') where message_id = any($1)`, [
    offers,
  ])
  start()
  await settled(limit)
  for (const ids of [offers, others]) {
    await due(ids, '0')
    await settled(limit)
  }
  await passDay()
  await settled(2 * limit)
  const statuses = (ids: string[]) => rows('select distinct status from messages where message_id = any($1)', [ids])
  t.same(await statuses(others), [{ status: 'accepted' }])
  t.same(await statuses(offers), [{ status: 'queued' }])
})

t.test('numbers of two tenants share the limit of their portfolio', async t => {
  const { acceptTo, rows, pool, isIdle, failed, start } = await prepareLimit(t)
  await addTenant(pool, 'other', '200', { wabaId: '300' })
  await rows(`update channels set portfolio_id = (select portfolio_id from portfolios) where tenant_id = 'other'`)
  await acceptTo(0, limit)
  await rows(`insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at,
      expires_at, holds_until_open, is_exempt)
    select 'other', message_id, '200', '9477200' || row_number() over (), template, 'queued', now(),
      now() + interval '1 day', false, false from messages`)
  start()
  await until('all that may leave have left', isIdle)
  t.same(await rows('select count(*)::integer from portfolio_waiting'), [{ count: limit }])
  t.same(await rows('select used from portfolios'), [{ used: limit }])
  t.equal(failed(), 0)
})

t.test('a superseded message leaves the line and takes no room; a higher limit lets the line leave', async t => {
  const { acceptTo, rows, pool, control, settled, start } = await prepareLimit(t)
  await acceptTo(0, limit + 3)
  start()
  await settled(limit)
  const [{ message_id: first }] = await rows(`select message_id from messages where status = 'queued' order by 1`)
  await rows(`update messages set status = 'cancelled', superseded_by = 'edited' where message_id = $1`, [first])
  await rows('update portfolios set max_people = max_people + 1')
  control.behave({ portfolio_limit: 0 })
  await openRoom(pool)
  await settled(limit + 1)
  await rows('update portfolios set max_people = null')
  await openRoom(pool)
  await settled(limit + 2)
  t.same(await rows(`select from messages where status = 'cancelled'`), [{}])
})

t.test('while the limit is not known, the platform fails what is above it', async t => {
  const { acceptTo, rows, isIdle, failed, start } = await prepareLimit(t)
  await rows('delete from portfolios')
  await acceptTo(0, limit + 5)
  start()
  await until('all have left', isIdle)
  t.equal(failed(), 5)
})
