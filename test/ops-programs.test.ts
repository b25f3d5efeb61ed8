// Runs the programs that read the files of ops/, if this machine has them.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findCompose } from '../dev/compose.ts'
import { findFreePort } from '../dev/ports.ts'
import { root } from '../dev/settings.ts'
import { waitUntil } from './courier.ts'
import { startStack } from './stack.ts'

const run = (program: string, words: readonly string[], environment: NodeJS.ProcessEnv = {}) =>
  spawnSync(program, words, { cwd: root, encoding: 'utf8', env: { ...process.env, ...environment } })

const succeed = (t: Test, program: string, ...words: string[]): string => {
  const { status, stdout, stderr } = run(program, words)
  t.equal(status, 0, `${program} ${words.join(' ')}\n${status === 0 ? '' : stdout + stderr}`)
  return stdout
}

const compose = findCompose()

/** Returns the value of the option `skip`: the reason if the program is missing, or else false. */
const skipWithout = (program: string, ...words: string[]): string | false =>
  run(program, words).status === 0 ? false : `${program} is not installed`

t.test(
  'Prometheus reads its settings, and the alerts fire when they should',
  {
    skip: skipWithout('promtool', '--version'),
  },
  async t => {
    succeed(t, 'promtool', 'check', 'config', 'ops/prometheus/prometheus.yml')
    succeed(t, 'promtool', 'check', 'rules', 'ops/prometheus/alerts.yml')
    succeed(t, 'promtool', 'test', 'rules', 'ops/prometheus/alerts.test.yml')
  },
)

t.test('Caddy accepts its files and their format', { skip: skipWithout('caddy', 'version') }, async t => {
  for (const file of ['ops/caddy/Caddyfile', 'ops/caddy/compose.Caddyfile']) {
    succeed(t, 'caddy', 'validate', '--adapter', 'caddyfile', '--config', file)
    t.equal(run('caddy', ['fmt', file]).stdout, readFileSync(join(root, file), 'utf8'))
  }
})

t.test('Caddy serves both services, and nothing internal', { skip: skipWithout('caddy', 'version') }, async t => {
  const { orders, notifier } = await startStack(t)
  const [first, second, admin] = [await findFreePort(), await findFreePort(), await findFreePort()]
  // The second process of each service refuses connections, as while it restarts.
  const closed = `127.0.0.1:${await findFreePort()}`
  const text = readFileSync(join(root, 'ops/caddy/Caddyfile'), 'utf8')
    .replace('127.0.0.1:3010 127.0.0.1:3011', `${new URL(orders.url).host} ${closed}`)
    .replace('127.0.0.1:3020 127.0.0.1:3021', `${new URL(notifier.url).host} ${closed}`)
  const folder = t.testdir({ Caddyfile: text })
  const sites = { ORDERS_SITE: `http://127.0.0.1:${first}`, NOTIFIER_SITE: `http://127.0.0.1:${second}` }
  const homes = { XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder, CADDY_ADMIN: `127.0.0.1:${admin}` }
  const words = ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')]
  const child = spawn('caddy', words, { env: { ...process.env, ...sites, ...homes }, stdio: 'ignore' })
  t.teardown(async () => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  for (const site of Object.values(sites)) {
    const read = (path: string) => fetch(site + path).then(({ status }) => status)
    await waitUntil(
      site,
      () => read('/health/ready').catch(() => 0),
      status => status === 200,
    )
    for (let count = 0; count < 20; count++) t.equal(await read('/health/live'), 200, site)
    for (const path of ['/metrics', '/internal/orders/demo/DM00000001']) t.equal(await read(path), 404, path)
  }
})

t.test('systemd reads the units', { skip: skipWithout('systemd-analyze', '--version') }, async t => {
  const units = ['courier-orders@.service', 'courier-notifier@.service']
  // systemd checks that the program that a unit starts exists.
  const ofThisFolder = units.map(unit =>
    readFileSync(join(root, 'ops/systemd', unit), 'utf8').replaceAll('/opt/courier', root),
  )
  const folder = t.testdir(Object.fromEntries(units.map((unit, index) => [unit, ofThisFolder[index] ?? ''])))
  for (const unit of units) {
    const { status, stderr } = run('systemd-analyze', ['verify', join(folder, unit)])
    t.same(
      { status, complaints: stderr.split('\n').filter(line => line.includes('courier-')) },
      { status: 0, complaints: [] },
    )
  }
})

t.test(
  'docker compose reads the production file with secrets from files',
  {
    skip: skipWithout(...compose, 'version'),
  },
  async t => {
    const folder = t.testdir({})
    const [file, secrets] = [join(folder, 'env'), join(folder, 'secrets')]
    succeed(t, process.execPath, 'dev/secrets.ts', file)
    const more = ['COMPOSE_FILE=docker-compose.yml:ops/compose/production.yml', 'DEMO=false']
    const urls = ['ORDERS_PUBLIC_URL=https://orders.example', 'NOTIFIER_PUBLIC_URL=https://notifier.example']
    writeFileSync(file, `${readFileSync(file, 'utf8')}\n${[...more, ...urls].join('\n')}\n`)
    const config = succeed(t, ...compose, '--env-file', file, 'config')
    const ofServices = config.slice(config.indexOf('\nservices:')).replace(/^ {2}postgres:\n(?: {4}.*\n)*/m, '')
    t.notMatch(ofServices, /courier-demonstration|postgres:\/\/|simulator/)
    succeed(t, 'sh', 'ops/secret-files.sh', file, secrets)
    for (const [, name = ''] of config.matchAll(/^ {4}file: .*\/secrets\/(\w+)$/gm))
      t.match(readFileSync(join(secrets, name), 'utf8'), /^\S{16,}\n$/, name)
  },
)

t.test('kustomize builds the manifests', { skip: skipWithout('kubectl', 'version', '--client') }, async t => {
  const kinds = succeed(t, 'kubectl', 'kustomize', 'ops/kubernetes').match(/^kind: .*$/gm)
  t.same(
    [...new Set(kinds)],
    ['Namespace', 'ConfigMap', 'Service', 'Deployment', 'PodDisruptionBudget', 'Job'].map(kind => `kind: ${kind}`),
  )
})
