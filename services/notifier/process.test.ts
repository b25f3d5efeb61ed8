import { randomBytes } from 'node:crypto'
import { newToken } from '@courier/shared/postgres/tokens.ts'
import t, { type Test } from 'tap'
import { launch } from '../../dev/service-process.ts'
import { startProxy } from '../../dev/tcp-proxy.ts'
import { cloneDatabase } from '../../dev/test-database.ts'
import { waitUntil } from '../../test/courier.ts'

const key = `k1:${randomBytes(32).toString('base64')}`

/** Starts the service with a service token and these settings. */
const launchNotifier = (t: Test, settings: Record<string, string>) =>
  launch(t, 'services/notifier/main.ts', { SERVICE_TOKEN: 'a-service-token-of-tests', ...settings })

t.test('names wrong settings before it listens, and shows no secret', async t => {
  const url = 'postgres://notifier:s3cret@127.0.0.1:1/notifier'
  const wrong: [Record<string, string>, RegExp[]][] = [
    [
      { SERVICE_TOKEN: '' },
      [/NOTIFIER_DATABASE_URL is missing/, /CREDENTIALS_KEYS is missing/, /SERVICE_TOKEN is missing/],
    ],
    [{ NOTIFIER_DATABASE_URL: url, CREDENTIALS_KEYS: 'k1:s3cret' }, [/key/]],
    [
      { NOTIFIER_DATABASE_URL: url, CREDENTIALS_KEYS: key, MESSAGING_API_URL: 'http://graph.example.com' },
      [/MESSAGING_API_URL must be https/],
    ],
    [
      {
        CREDENTIALS_KEYS: 'k1:s3cret,s3cret',
        MESSAGING_API_URL: 'http://u:s3cret@graph.example.com',
        NOTIFIER_PORT: 'http',
      },
      [
        /NOTIFIER_DATABASE_URL is missing/,
        /key 1 of CREDENTIALS_KEYS is not base64/,
        /key 2 of CREDENTIALS_KEYS has no id/,
        /MESSAGING_API_URL must have no user name/,
        /NOTIFIER_PORT must be/,
      ],
    ],
  ]
  for (const [environment, complaints] of wrong) {
    const { ended, output } = launchNotifier(t, environment)
    t.equal(await ended, 1)
    for (const complaint of complaints) t.match(output(), complaint)
    t.notMatch(output(), /s3cret/)
  }
})

t.test('becomes ready, serves its metrics, and exits on SIGTERM', async t => {
  const { url, ownerUrl } = await cloneDatabase(t, 'notifier')
  const { child, ended, listening } = launchNotifier(t, {
    NOTIFIER_DATABASE_URL: url,
    NOTIFIER_MIGRATE_DATABASE_URL: ownerUrl,
    CREDENTIALS_KEYS: key,
    MESSAGING_API_URL: 'http://127.0.0.1:1',
    NOTIFIER_PORT: '0',
  })
  const address = await listening()
  for (const path of ['/health/live', '/health/ready', '/metrics', '/openapi.json', '/docs'])
    t.equal((await fetch(address + path)).status, 200, path)
  const paths = Object.keys(((await (await fetch(`${address}/openapi.json`)).json()) as { paths: object }).paths)
  for (const path of [
    '/api/messages',
    '/api/messages/bulk',
    '/api/channels/{phone_number_id}/register',
    '/webhooks/messaging',
  ])
    t.ok(paths.includes(path), path)
  child.kill('SIGTERM')
  t.equal(await ended, 0)
})

for (const trouble of ['cut', 'black_hole'] as const)
  t.test(
    `without Postgres (${trouble}) the process stays alive but not ready, responds with 503, and recovers on its own`,
    async t => {
      const { url, ownerUrl } = await cloneDatabase(t, 'notifier')
      const address = new URL(url)
      const proxy = await startProxy({ host: address.hostname, port: Number(address.port) })
      t.teardown(proxy.close)
      address.port = String(proxy.port)
      const { child, listening } = launchNotifier(t, {
        NOTIFIER_DATABASE_URL: address.href,
        NOTIFIER_MIGRATE_DATABASE_URL: ownerUrl,
        CREDENTIALS_KEYS: key,
        NOTIFIER_PORT: '0',
      })
      const service = await listening()
      const headers = { 'x-tenant': 'demo', authorization: `Bearer ${newToken().token}` }
      const get = (path: string) => fetch(`${service}${path}`, { headers })
      if (trouble === 'cut') await proxy.cut()
      else proxy.trouble = { kind: trouble }
      for (let n = 0; n < 2; n++) {
        const started = performance.now()
        const { status, headers } = await get('/api/messages')
        t.strictSame([status, headers.get('retry-after')], [503, '1'])
        t.ok(performance.now() - started < (trouble === 'cut' ? 3_000 : 5_500))
      }
      t.equal((await get('/health/ready')).status, 503)
      t.equal((await get('/health/live')).status, 200)
      if (trouble === 'cut') await proxy.restore()
      else proxy.trouble = undefined
      await waitUntil(
        'the process is ready',
        () => get('/health/ready'),
        ({ ok }) => ok,
        5,
      )
      t.equal((await get('/api/messages')).status, 401)
      t.equal(child.exitCode, null)
    },
  )
