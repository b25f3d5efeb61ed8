import { join } from 'node:path'
import t from 'tap'
import { launch } from '../../dev/service-process.ts'
import { root } from '../../dev/settings.ts'

t.test('refuses to start in production, with one line that says why', async t => {
  const { ended, output } = launch(t, 'simulator/main.ts', { NODE_ENV: 'production', SIMULATOR_PORT: '0' })
  t.equal(await ended, 1)
  t.match(
    output(),
    /^The simulator only pretends to deliver messages, so it does not run with NODE_ENV=production\..*\n$/,
  )
})

t.test('names every wrong setting at once', async t => {
  const { ended, output } = launch(t, 'simulator/main.ts', {
    SIMULATOR_PORT: 'x',
    WEBHOOK_URL: 'ftp://a',
    SIMULATOR_DELAY_FACTOR: '-1',
    DEMO_ACCESS_TOKEN: 'two words',
  })
  t.equal(await ended, 1)
  for (const name of ['SIMULATOR_PORT', 'WEBHOOK_URL', 'SIMULATOR_DELAY_FACTOR']) t.match(output(), `${name} must `)
  t.match(output(), 'DEMO_ACCESS_TOKEN must ')
  t.notMatch(output(), 'two words')
})

t.test('reads its settings and stops on SIGTERM, although responses hang', async t => {
  const { child, ended, listening, output } = launch(t, 'simulator/main.ts', {
    SIMULATOR_PORT: '0',
    LOG_LEVEL: 'info',
    WEBHOOK_URL: 'none',
    DEMO_ACCESS_TOKEN: 'of-the-test',
    SIMULATOR_DELAY_FACTOR: '0.25',
    SIMULATOR_THROUGHPUT_PER_SECOND: '0',
    SIMULATOR_ANSWER_LATENCY_MS: '5',
  })
  const url = await listening()
  const response = await fetch(`${url}/debug_token?input_token=of-the-test`, {
    headers: { authorization: 'Bearer of-the-test' },
  })
  t.equal(response.headers.get('facebook-api-version'), 'v21.0')
  t.match(await response.json(), { data: { is_valid: true } })
  t.match(await (await fetch(`${url}/control`)).json(), {
    behaviour: {
      webhook_url: null,
      delay_factor: 0.25,
      throughput_per_second: 0,
      answer_latency_ms: 5,
    },
  })
  const headers = { 'content-type': 'application/json' }
  await fetch(`${url}/control/outage`, { method: 'PUT', headers, body: '{"mode":"hang"}' })
  const hanging = fetch(`${url}/debug_token`).catch(() => 'cut')
  await new Promise(resolve => setTimeout(resolve, 50))
  const stoppedAt = performance.now()
  child.kill('SIGTERM')
  t.equal(await ended, 0)
  t.ok(performance.now() - stoppedAt < 5000)
  t.equal(await hanging, 'cut')
  t.notMatch(output(), 'of-the-test')
})

t.test('a closed simulator keeps no process alive', async t => {
  const startedAt = performance.now()
  const { ended, output } = launch(t, 'simulator/test/close-and-end.ts', {})
  t.equal(await ended, 0, output())
  t.ok(performance.now() - startedAt < 8000)
})

t.test('the numbers of tenants work as their notifier files say', async t => {
  const { listening } = launch(t, 'simulator/main.ts', {
    SIMULATOR_PORT: '0',
    WEBHOOK_URL: 'none',
    SIMULATOR_ACCOUNTS: join(root, 'examples/lanka-notifier.json'),
  })
  const url = await listening()
  const ask = (path: string, token: string) =>
    fetch(`${url}/v17.0/${path}`, { headers: { authorization: `Bearer ${token}` } })
  const number = await ask('206540352242922', 'lanka-access-token')
  t.match(await number.json(), { verified_name: 'Lanka Express' })
  const templates = await ask('202290129340398/message_templates', 'lanka-access-token')
  t.match(await templates.json(), { data: [{ name: 'order_created' }] })
  t.equal((await ask('106540352242922', 'lanka-access-token')).status, 400, "the token may not use the demo's number")
})

t.test('names a file that lists no channels', async t => {
  const path = join(root, 'examples/batch.json')
  const { ended, output } = launch(t, 'simulator/main.ts', { SIMULATOR_PORT: '0', SIMULATOR_ACCOUNTS: path })
  t.equal(await ended, 1)
  t.match(output(), `${path}, from SIMULATOR_ACCOUNTS: /channels Expected required property`)
})
