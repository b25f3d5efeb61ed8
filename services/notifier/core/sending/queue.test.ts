import t from 'tap'
import { createFixture, messageTo, until } from '../../test/fixture.ts'

t.test('a queued message reaches the API once and is accepted', async t => {
  const { accept, rows, control } = await createFixture(t)
  const [id] = await accept(messageTo('0770000101'))
  await until('accepted', async () => (await rows(`select 1 from messages where status = 'accepted'`)).length)
  const [message] = await rows('select * from messages')
  t.match(message, { message_id: id, recipient: '94770000101', attempts: 0, provider_message_id: /^wamid\./ })
  t.match(await rows('select status from message_events order by event_id'), [
    { status: 'queued' },
    { status: 'accepted' },
  ])
  t.equal((await control.messages({})).length, 1)
})

t.test('a thousand messages are all accepted, each once', async t => {
  const { accept, rows, control } = await createFixture(t)
  await accept(...Array.from({ length: 1000 }, (_, index) => messageTo(`+9477${String(1000000 + index)}`)))
  await until(
    'accepted',
    async () => (await rows(`select count(*)::int from messages where status = 'accepted'`))[0].count === 1000,
  )
  t.equal((await control.messages({ limit: 5000 })).length, 1000)
})
