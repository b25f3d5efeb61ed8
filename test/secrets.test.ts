import { spawnSync } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, loadConfig } from '@courier/shared/config.ts'
import { demonstration, findDemonstrationSecrets, warnOfLoopback } from '@courier/shared/demonstration.ts'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { Settings as NotifierSettings } from '../services/notifier/config.ts'
import { Settings as OrdersSettings, portalOrigins } from '../services/orders/config.ts'

type Variables = Record<string, string>
const schemas = { orders: OrdersSettings, notifier: NotifierSettings }
const base = readFileSync(join(root, 'docker-compose.yml'), 'utf8')
const composeText = base + readFileSync(join(root, 'docker-compose.override.yml'), 'utf8')
/** Reads the lines below `environment:` by service; the lines of a later file follow those of an earlier file. */
const readEnvironments = (text: string): Record<string, [string, string][]> => {
  const found = [...text.matchAll(/^ {2}(\w+):\n(?:(?: {4}.*)?\n)*? {4}environment:\n((?: {6}.*\n)+)/gm)]
  const lines = found.flatMap(([, service = '', block = '']) =>
    [...block.matchAll(/^ +(\w+): (.*)$/gm)].map(([, name = '', value = '']) => ({ service, name, value })),
  )
  const byService = Map.groupBy(lines, ({ service }) => service)
  return Object.fromEntries([...byService].map(([key, of]) => [key, of.map(({ name, value }) => [name, value])]))
}
const environments = readEnvironments(composeText)

/**
 * Returns the environment that compose gives a service when .env holds these variables. `from` holds what the compose
 * files say, by default both files together.
 */
const makeEnvironment = (name: string, variables: Variables = {}, from = environments): Variables => ({
  NODE_ENV: 'production',
  ...Object.fromEntries(
    (from[name] ?? []).map(([setting, value]) => [
      setting,
      value.replace(/\$\{(\w+):-([^}]*)\}/g, (_, variable, fallback) => variables[variable] || fallback),
    ]),
  ),
})

const load = (name: keyof typeof schemas, environment: Variables) => loadConfig(schemas[name], environment)

const listErrors = (name: keyof typeof schemas, environment: Variables): string[] => {
  try {
    load(name, environment)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.message.split('\n')
  }
}

const secretNames = {
  orders: ['ORDERS_DATABASE_URL', 'ORDERS_MIGRATE_DATABASE_URL', 'SERVICE_TOKEN', 'WEBHOOK_KEYS'],
  notifier: [
    'CREDENTIALS_KEYS',
    'DEMO_ACCESS_TOKEN',
    'DEMO_APP_SECRET',
    'NOTIFIER_DATABASE_URL',
    'NOTIFIER_MIGRATE_DATABASE_URL',
    'SERVICE_TOKEN',
  ],
}

const runSecrets = (...words: string[]) =>
  spawnSync(process.execPath, [join(root, 'dev/secrets.ts'), ...words], { encoding: 'utf8' })

t.test('every default in the compose files that could be a secret is a demonstration secret', async t => {
  const defaults = [...composeText.matchAll(/\$\{(\w+):-([^}]*)\}/g)].map(([, name, value]) => ({ name, value }))
  const secret = defaults.filter(({ value = '' }) => !/^([\d./,]*|true|false|all|info|https?:\/\/.*)$/.test(value))
  t.strictSame(new Set(secret.map(each => each.value)), new Set(Object.values(demonstration)))
  t.strictSame(Object.keys(environments), ['postgres', 'orders', 'notifier', 'simulator', 'demo'])
  for (const environment of Object.values(environments))
    for (const [name, value] of environment) if (/PASSWORD|TOKEN|SECRET|KEYS/.test(name)) t.match(value, /^\$\{/, name)
})

for (const name of ['orders', 'notifier'] as const) {
  t.test(`compose without a .env starts ${name}, whose demonstration secrets are detected`, async t => {
    t.strictSame(findDemonstrationSecrets(load(name, makeEnvironment(name))).sort(), secretNames[name])
  })

  t.test(`${name} names all demonstration secrets and other wrong settings at once, and shows no value`, async t => {
    for (const variables of [{ DEMO: 'false' }, { MESSAGING_API_URL: 'https://graph.facebook.com' }]) {
      const errors = listErrors(name, { ...makeEnvironment(name, variables), LOG_LEVEL: 'loud' })
      const named = errors.filter(line => line.includes('demonstration') && line.includes('npm run secrets'))
      t.strictSame(named.map(line => line.split(' ')[0]).sort(), secretNames[name])
      t.match(errors.join('\n'), /^LOG_LEVEL must be /m)
      t.notMatch(errors.join('\n'), /courier@|demo-access-token|demo-app-secret|ZGVtb25|courier-demonstration/)
    }
  })

  t.test(`docker-compose.yml alone, without a .env, does not start ${name}`, async t => {
    const errors = listErrors(name, makeEnvironment(name, {}, readEnvironments(base)))
    t.ok(errors.length > 0)
    for (const error of errors) t.match(error, /demonstration .*npm run secrets/)
  })

  t.test(`the process of ${name} does not start with refused secrets, and warns once about allowed ones`, async t => {
    const run = (variables: Variables) => {
      // This Postgres refuses the role, so that a process with accepted settings also ends at once.
      const { host } = new URL(process.env.TEST_POSTGRES_URL ?? '')
      const refusing = [`${name.toUpperCase()}_DATABASE_URL`, `${name.toUpperCase()}_MIGRATE_DATABASE_URL`].map(
        setting => [setting, `postgres://${name}:courier@${host}/none`],
      )
      const env = { ...process.env, ...makeEnvironment(name, variables), ...Object.fromEntries(refusing) }
      return spawnSync(process.execPath, [`services/${name}/main.ts`], { cwd: root, env, encoding: 'utf8' })
    }
    const refused = run({ DEMO: 'false' })
    t.equal(refused.status, 1)
    t.match(refused.stderr, /^The settings are wrong; nothing was started:/)
    for (const setting of secretNames[name]) t.match(refused.stderr, new RegExp(`^  ${setting} .*demonstration`, 'm'))
    const warnings = run({}).stdout.match(/^.*settings\.demonstration_secrets.*$/gm) ?? []
    t.equal(warnings.length, 1)
    t.strictSame(JSON.parse(warnings[0] ?? '{}').settings.sort(), secretNames[name])
  })

  t.test(`${name} accepts what npm run secrets writes, with the real messaging API`, async t => {
    const file = join(t.testdir({}), '.env')
    t.equal(runSecrets(file).status, 0)
    t.equal(statSync(file).mode & 0o777, 0o600)
    const lines = readFileSync(file, 'utf8').split('\n')
    const set = lines.filter(line => line && !line.startsWith('#')).map(line => line.split(/=(.*)/s).slice(0, 2))
    const variables: Variables = Object.fromEntries(set)
    t.equal(variables.COMPOSE_FILE, 'docker-compose.yml')
    const environment = makeEnvironment(name, variables, readEnvironments(base))
    t.equal(environment.MESSAGING_API_URL, '')
    t.strictSame(listErrors(name, environment), [])
    t.strictSame(findDemonstrationSecrets(environment), [])
  })
}

t.test('production warns once about addresses that direct browsers to their own machine', async t => {
  const warn = (settings: Variables, addresses: Record<string, string | undefined>) => {
    const lines: object[] = []
    warnOfLoopback(settings, addresses, { warn: fields => lines.push(fields) })
    return lines
  }
  const origins = portalOrigins(load('orders', makeEnvironment('orders')))
  t.equal(origins, 'http://127.0.0.1:3001,http://localhost:3001')
  const production = { NODE_ENV: 'production', DEMO: 'false' }
  const console = { ORDERS_PUBLIC_URL: 'http://127.0.0.1:3000', PORTAL_ORIGINS: origins, PUBLIC_URL: undefined }
  t.strictSame(warn(production, console), [{ settings: ['ORDERS_PUBLIC_URL', 'PORTAL_ORIGINS'] }])
  t.strictSame(warn(production, { PORTAL_ORIGINS: `https://courier.example,${origins}` }), [])
  t.strictSame(warn({ ...production, DEMO: 'true' }, console), [])
  t.strictSame(warn({ DEMO: 'false' }, console), [])
})

t.test('detects the demonstration key under any id and as an older key', async t => {
  const key = demonstration.credentialsKey.split(':')[1]
  const own = `k1:${Buffer.alloc(32, 1).toString('base64')}`
  t.strictSame(findDemonstrationSecrets({ CREDENTIALS_KEYS: `${own},k0:${key}` }), ['CREDENTIALS_KEYS'])
  t.strictSame(findDemonstrationSecrets({ CREDENTIALS_KEYS: own }), [])
})

t.test('detects the password of npm start’s Postgres on this machine, but only in production', async t => {
  const ORDERS_DATABASE_URL = 'postgres://orders:courier@127.0.0.1:54329/orders'
  t.strictSame(findDemonstrationSecrets({ ORDERS_DATABASE_URL }), [])
  t.strictSame(findDemonstrationSecrets({ ORDERS_DATABASE_URL, NODE_ENV: 'production' }), ['ORDERS_DATABASE_URL'])
})

t.test('npm run secrets leaves existing files alone, and has help', async t => {
  const file = join(t.testdir({ '.env': 'SERVICE_TOKEN=in-use' }), '.env')
  const { status, stderr } = runSecrets(file)
  t.equal(status, 1)
  t.match(stderr, /exists and is not changed/)
  t.equal(readFileSync(file, 'utf8'), 'SERVICE_TOKEN=in-use')
  t.match(runSecrets('--help').stdout, /^usage: npm run secrets/)
  t.equal(runSecrets('--hepl').status, 1)
})
