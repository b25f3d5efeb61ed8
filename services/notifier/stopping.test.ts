import t from 'tap'
import { findFreePort, toAddress } from '../../dev/ports.ts'
import { ServiceProcess } from '../../dev/service-process.ts'
import { createTokenFor } from './core/access/token-commands.ts'
import { createFixture, messageTo, phoneNumberId, until } from './test/fixture.ts'

t.test('a stop while the API hangs stores messages as unknown and exits cleanly', async t => {
  const { url, ownerUrl, keys, baseUrl, pool, rows, accept, control } = await createFixture(t, { isRunning: false })
  const { token } = await createTokenFor(pool, { tenant: 'demo', staff: 'Ruwan' })
  const port = await findFreePort()
  const notifier = new ServiceProcess('services/notifier/main.ts', toAddress('127.0.0.1', port), {
    NOTIFIER_DATABASE_URL: url,
    NOTIFIER_MIGRATE_DATABASE_URL: ownerUrl,
    NOTIFIER_PORT: String(port),
    CREDENTIALS_KEYS: keys,
    MESSAGING_API_URL: baseUrl,
    MESSAGING_CONNECTIONS: '4',
    SERVICE_TOKEN: 'a-service-token-of-tests',
  })
  t.teardown(() => notifier.stop())
  notifier.start()
  await notifier.ready()
  control.outage('hang')
  t.teardown(() => control.outage(null))
  await accept(...Array.from({ length: 10 }, (_, n) => messageTo(`07700001${10 + n}`)))
  const count = async (status: string) => (await rows('select from messages where status = $1', [status])).length
  // A message is `sending` before a byte is written: a stop in between queues it again.
  const listHanging = () => control.calls().filter(({ trouble }) => trouble === 'outage hang')
  await until('four requests were written', async () => listHanging().length === 4)
  // The read of the messaging limit may be one of the four.
  const written = listHanging().filter(({ path }) => path.endsWith('/messages')).length
  t.ok(written >= 3)
  // The response to the check hangs too; afterwards its handler writes to the database.
  const checking = fetch(`${notifier.url}/api/channels/${phoneNumberId}/check`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'x-tenant': 'demo' },
  }).catch(() => undefined)
  const begun = performance.now()
  t.equal(await notifier.stop('SIGTERM'), 0)
  const seconds = (performance.now() - begun) / 1000
  t.ok(seconds < 8, `${seconds} s`)
  t.comment(`${seconds.toFixed(1)} s`)
  t.ok((await checking)?.ok, 'a request in progress gets its response')
  t.equal(await count('unknown'), written)
  t.equal(await count('queued'), 10 - written)
  t.notMatch(notifier.lines.join('\n'), /after calling end|_failed/)
})
