import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import t, { type Test } from 'tap'

const folder = join(import.meta.dirname, '..')

/** A program of the simulator in a process of its own, ended with the test. */
const start = (t: Test, file: string, environment: Record<string, string>) => {
  const { NODE_ENV: _, ...inherited } = process.env
  const child = spawn(process.execPath, [join(folder, file)], { env: { ...inherited, ...environment } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (output += chunk))
  t.teardown(() => child.kill('SIGKILL'))
  return { child, ended: once(child, 'exit').then(([code]) => code as number | null), output: () => output }
}

t.test('it refuses to start in production, in a sentence', async t => {
  const { ended, output } = start(t, 'main.ts', { NODE_ENV: 'production', SIMULATOR_PORT: '0' })
  t.equal(await ended, 1)
  t.match(
    output(),
    /^The simulator only pretends to deliver messages, so it does not run with NODE_ENV=production\..*\n$/,
  )
})

t.test('it names every wrong setting at once', async t => {
  const { ended, output } = start(t, 'main.ts', {
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

t.test('it reads its settings and stops on SIGTERM, although responses hang', async t => {
  const { child, ended, output } = start(t, 'main.ts', {
    SIMULATOR_PORT: '0',
    LOG_LEVEL: 'info',
    WEBHOOK_URL: 'none',
    DEMO_ACCESS_TOKEN: 'of-the-test',
    SIMULATOR_DELAY_FACTOR: '0.25',
    SIMULATOR_THROUGHPUT_PER_SECOND: '0',
    SIMULATOR_ANSWER_LATENCY_MS: '5',
  })
  let url: string | undefined
  while (!url && child.exitCode === null) {
    await new Promise(resolve => setTimeout(resolve, 20))
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(output())?.[0]
  }
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
  t.ok(performance.now() - stoppedAt < 2000)
  t.equal(await hanging, 'cut')
  t.notMatch(output(), 'of-the-test')
})

t.test('a closed simulator keeps no process alive', async t => {
  const startedAt = performance.now()
  const { ended, output } = start(t, 'test/close-and-end.ts', {})
  t.equal(await ended, 0, output())
  t.ok(performance.now() - startedAt < 8000)
})
