import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import t, { type Test } from 'tap'
import { cloneDatabase } from '../../../dev/test-database.ts'
import { tenantFile } from './tenant.ts'

const admin = fileURLToPath(new URL('../admin.ts', import.meta.url))

/** Runs `orders` with these words in an environment of these variables alone. */
const run = (environment: Record<string, string>, ...words: string[]) => {
  const options = { env: environment, encoding: 'utf8', timeout: 30_000 } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [admin, ...words], options)
  return { status, stdout, stderr }
}

type Run = (...words: string[]) => ReturnType<typeof run>

/** The commands on a migrated database, and a file of the test's own. */
const start = async (t: Test) => {
  const { url, ownerUrl } = await cloneDatabase(t, 'orders')
  const orders: Run = (...words) => run({ ORDERS_DATABASE_URL: url, ORDERS_MIGRATE_DATABASE_URL: ownerUrl }, ...words)
  const folder = mkdtempSync(join(tmpdir(), 'courier-admin-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const save = (content: unknown): string => {
    const path = join(folder, 'tenant.json')
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  return { orders, save, url, ownerUrl }
}

const succeed = (t: Test, { status, stdout, stderr }: ReturnType<Run>): string => {
  t.strictSame({ status, stderr }, { status: 0, stderr: '' })
  return stdout
}

const fail = (t: Test, { status, stdout, stderr }: ReturnType<Run>): string => {
  t.strictSame({ status, stdout }, { status: 1, stdout: '' })
  t.notMatch(stderr, /^\s+at /m, 'no stack')
  return stderr
}

/** The addresses of a database without tables, for the service and for the owner. */
const createEmpty = async (t: Test, { url, ownerUrl }: { url: string; ownerUrl: string }) => {
  const server = new pg.Client({ connectionString: process.env.TEST_POSTGRES_URL })
  await server.connect()
  const name = `test_empty_${randomBytes(6).toString('hex')}`
  await server.query(`create database ${name} template template0 owner ${new URL(ownerUrl).username}`)
  t.teardown(async () => {
    await server.query(`drop database ${name} with (force)`)
    await server.end()
  })
  const inEmpty = (address: string): string => address.replace(/[^/]+$/, name)
  return { ORDERS_DATABASE_URL: inEmpty(url), ORDERS_MIGRATE_DATABASE_URL: inEmpty(ownerUrl) }
}

t.test('migrate brings an empty database up to date once', async t => {
  const { url, ownerUrl, save } = await start(t)
  const environment = await createEmpty(t, { url, ownerUrl })
  const early = fail(t, run(environment, 'apply', save(tenantFile())))
  t.match(early, /orders migrate/, 'a command before that says what to do')
  const applied = succeed(t, run(environment, 'migrate')).trim().split('\n')
  t.match(applied, ['0001-directory', '0002-pricing', '0003-access', '0004-booking'])
  t.equal(succeed(t, run(environment, 'migrate')), 'The database is up to date.\n')
  t.same(JSON.parse(succeed(t, run(environment, 'migrate', '--json'))), { applied: [] })
  t.match(succeed(t, run(environment, 'apply', save(tenantFile()))), /^tenant +added +1$/m)
})

t.test('apply tells what it changed, once', async t => {
  const { orders, save } = await start(t)
  const file = save(tenantFile())
  const dryRun = succeed(t, orders('apply', file, '--dry-run'))
    .trimEnd()
    .split('\n')
  t.equal(dryRun.pop(), 'Nothing was written: this was a dry run.')
  const lines = succeed(t, orders('apply', file)).trimEnd().split('\n')
  t.strictSame(lines, dryRun, 'the dry run told the same')
  const table = lines.filter(line => !line.startsWith('  ')).map(line => line.split(/ {2,}/))
  t.strictSame(table, [
    ['what', 'change', 'count'],
    ['tenant', 'added', '1'],
    ['status', 'added', '21'],
    ['move', 'added', '26'],
    ['state', 'added', '3'],
    ['city', 'added', '5'],
    ['rate card', 'added', '1'],
    ['zone', 'added', '3'],
    ['zone of city', 'added', '3'],
    ['rate', 'added', '2'],
    ['merchant', 'added', '2'],
    ['business', 'added', '3'],
  ])
  t.equal(succeed(t, orders('apply', file)), 'Nothing to change: the tenant is as the file says.\n')
})

t.test('apply tells few changes one by one, and all of them as JSON', async t => {
  const { orders, save } = await start(t)
  succeed(t, orders('apply', save(tenantFile())))
  const file = save(tenantFile({ name: 'Renamed', secondary_phone: false }))
  const changes = [{ kind: 'tenant', id: 'demo', change: 'changed' }]
  t.same(JSON.parse(succeed(t, orders('apply', file, '--json', '--dry-run'))), { dry_run: true, changes })
  t.match(succeed(t, orders('apply', file, '--dry-run')), /^ {2}tenant demo changed$/m)
  t.same(JSON.parse(succeed(t, orders('apply', file, '--json'))), { dry_run: false, changes })
  t.same(JSON.parse(succeed(t, orders('apply', file, '--json'))), { dry_run: false, changes: [] })
})

t.test('a command may take longer than a call', async t => {
  const { orders, save, url } = await start(t)
  const other = new pg.Client({ connectionString: url })
  await other.connect()
  t.teardown(() => other.end())
  // What `apply` waits for; it ends by itself, as this process sleeps while the command runs.
  const held = other.query(`begin; select pg_advisory_xact_lock(hashtextextended('demo', 0)), pg_sleep(6); commit`)
  await delay(200)
  const begin = performance.now()
  succeed(t, orders('apply', save(tenantFile())))
  t.ok(performance.now() - begin > 4_500)
  await held
})

t.test('audit lists who did what, the newest first', async t => {
  const { orders, save } = await start(t)
  const audit = (...words: string[]) => orders('audit', '--tenant', 'demo', ...words)
  succeed(t, orders('apply', save(tenantFile())))
  const create = ['token', 'create', '--tenant', 'demo', '--staff', 'Ruwan', '--json']
  const { id } = JSON.parse(succeed(t, orders(...create)))
  const entries = JSON.parse(succeed(t, audit('--json')))
  t.match(entries, [
    { actor_kind: 'operator', actor: userInfo().username, action: 'token.created', object_id: id, token_id: null },
    { action: 'tenant.applied', object_id: 'demo' },
  ])
  t.same(JSON.parse(succeed(t, audit('--limit', '1', '--json'))), entries.slice(0, 1))
  t.same(JSON.parse(succeed(t, audit('--since', entries[0].at, '--json'))), entries.slice(0, 1))
  t.equal(succeed(t, audit('--since', '2099-01-01')), 'Nothing was done.\n')
  t.match(succeed(t, audit()), /^at +actor_kind +actor +token_id +action +object_id +request_id\n.*token\.created/)
  for (const words of [
    ['--limit', '0'],
    ['--limit', 'x'],
    ['--since', 'yesterday'],
  ])
    t.match(fail(t, audit(...words)), /must be a/, words.join(' '))
  t.match(fail(t, orders('audit', '--tenant', 'nowhere')), /there is no tenant nowhere/)
})

t.test('a wrong file is told with its paths and nothing of it is applied', async t => {
  const { orders, save } = await start(t)
  const file = save(tenantFile({ currency: 'rupee', time_zone: 'Mars/Base' }))
  t.equal(
    fail(t, orders('apply', file)),
    `${file} was not applied:\n  tenant.currency: The currency field must be a currency code such as LKR.\n`,
  )
  const json = orders('apply', file, '--json')
  t.equal(json.status, 1)
  t.same(JSON.parse(json.stdout), {
    errors: { 'tenant.currency': ['The currency field must be a currency code such as LKR.'] },
  })
  const next = save(tenantFile({ time_zone: 'Mars/Base' }))
  t.equal(
    fail(t, orders('apply', next)),
    `${next} was not applied:\n  tenant.time_zone: There is no time zone Mars/Base.\n`,
  )
  t.match(
    fail(t, orders('token', 'create', '--tenant', 'demo', '--staff', 'Ruwan')),
    /there is no tenant demo; there are: none/,
  )
})

t.test('a business that belongs to somebody else is refused by the database, with its path', async t => {
  const { orders, save } = await start(t)
  succeed(t, orders('apply', save(tenantFile())))
  const [shoes, books] = tenantFile().merchants
  const file = save({ ...tenantFile(), merchants: [{ ...books, businesses: shoes?.businesses }] })
  t.match(fail(t, orders('apply', file)), /^ {2}merchants\.0\.businesses\.0\.id: Business 7290 belongs to /m)
})

t.test('a file that cannot be read is told in a line', async t => {
  const { orders, save } = await start(t)
  t.equal(fail(t, orders('apply', '/nowhere/tenant.json')), 'orders: cannot read /nowhere/tenant.json: ENOENT\n')
  const file = save('{"tenant":')
  t.match(fail(t, orders('apply', file)), new RegExp(`^orders: ${file} is not valid JSON: .+\n$`))
  t.match(fail(t, orders('apply', save('null'))), /was not applied:\n {2}the file: The data must be an object\.\n$/)
})

t.test('a token is made for a merchant or for staff, and shown once', async t => {
  const { orders, save } = await start(t)
  succeed(t, orders('apply', save(tenantFile())))
  const create = (...words: string[]) => orders('token', 'create', '--tenant', 'demo', ...words)
  const made = JSON.parse(succeed(t, create('--merchant', 'shop@example.com', '--json')))
  t.strictSame(Object.keys(made), ['id', 'token'])
  t.match(made, { id: /^tok_/, token: /^courier_[\w-]{43}$/ })
  const [id = '', token = '', hint] = succeed(t, create('--staff', 'Ruwan', '--expires', '2099-01-31T00:00:00Z')).split(
    '\n',
  )
  t.match([id, token, hint], [/^tok_/, /^courier_/, 'Keep it now: it is not shown again.'])

  const table = succeed(t, orders('token', 'list'))
  t.match(table, new RegExp(`^${made.id} +demo +shop@example.com +- +\\S+Z +- +- +-$`, 'm'))
  t.match(table, new RegExp(`^${id} +demo +- +Ruwan +\\S+Z +2099-01-31T00:00:00.000Z +- +-$`, 'm'))
  const list = succeed(t, orders('token', 'list', '--tenant', 'demo', '--json'))
  const keys = [
    'token_id',
    'tenant_id',
    'email',
    'staff_name',
    'created_at',
    'expires_at',
    'revoked_at',
    'last_used_at',
  ]
  t.strictSame(JSON.parse(list).map(Object.keys), [keys, keys])
  for (const output of [table, list]) for (const secret of [made.token, token]) t.notOk(output.includes(secret))
  t.notMatch(table + list, /hash|courier_/)
})

t.test('a token without one holder, tenant or time to come is not made', async t => {
  const { orders, save } = await start(t)
  succeed(t, orders('apply', save(tenantFile())))
  t.match(fail(t, orders('token', 'create', '--staff', 'Ruwan')), /--tenant/)
  const table: [string[], RegExp][] = [
    [[], /^orders: name one holder: --merchant EMAIL or --staff NAME\n$/],
    [['--merchant', 'shop@example.com', '--staff', 'Ruwan'], /^orders: name one holder/],
    [['--merchant', 'nobody@example.com'], /^orders: tenant demo has no merchant nobody@example\.com\n$/],
    [['--staff', 'Ruwan', '--expires', 'soon'], /^orders: --expires must be a time to come, such as .*, not soon\n$/],
  ]
  for (const [words, message] of table)
    t.match(fail(t, orders('token', 'create', '--tenant', 'demo', ...words)), message, words.join(' '))
  t.equal(succeed(t, orders('token', 'list')), 'There are no tokens. Make one: orders token create --help\n')
})

t.test('revoke ends a token by its id', async t => {
  const { orders, save } = await start(t)
  succeed(t, orders('apply', save(tenantFile())))
  const create = (): string =>
    JSON.parse(succeed(t, orders('token', 'create', '--tenant', 'demo', '--staff', 'Ruwan', '--json'))).id
  const [first, second] = [create(), create()]
  t.equal(succeed(t, orders('token', 'revoke', first)), `${first} of tenant demo is revoked.\n`)
  const answer = JSON.parse(succeed(t, orders('token', 'revoke', second, '--json')))
  t.same(answer, { id: second, tenant: 'demo', revoked: true })
  const list = JSON.parse(succeed(t, orders('token', 'list', '--json')))
  for (const { revoked_at } of list) t.match(revoked_at, /^\d{4}-.*Z$/)
  t.equal(
    fail(t, orders('token', 'revoke', 'tok_unknown')),
    'orders: there is no token tok_unknown; orders token list shows them\n',
  )
})

t.test('a database that cannot be used is told without its password', async t => {
  const { save, url } = await start(t)
  const file = save(tenantFile())
  const away = { ORDERS_DATABASE_URL: 'postgres://orders:s3cret@127.0.0.1:1/orders' }
  const hint = 'Postgres cannot be reached. Start it (npm start) or set ORDERS_DATABASE_URL'
  for (const words of [['migrate'], ['apply', file], ['token', 'list']]) {
    const told = fail(t, run(away, ...words))
    t.equal(told, `orders: ${hint}: connect ECONNREFUSED 127.0.0.1:1\n`, words.join(' '))
  }
  const wrongPassword = fail(t, run({ ORDERS_DATABASE_URL: url.replace(':courier@', ':s3cret@') }, 'token', 'list'))
  t.match(wrongPassword, /^orders: .*password authentication failed/)
  t.notMatch(wrongPassword, /s3cret/)
})

t.test('a missing or wrong setting is named', async t => {
  const missing = fail(t, run({}, 'token', 'list'))
  t.match(missing, /^The settings are wrong, nothing was started:\n {2}ORDERS_DATABASE_URL is missing: .+\n$/)
  for (const words of [['migrate'], ['token', 'list']]) {
    const wrong = fail(t, run({ ORDERS_DATABASE_URL: 'postgres://orders:s3cret@there:port/orders' }, ...words))
    t.match(wrong, /ORDERS_DATABASE_URL must be a postgres:\/\/ address/)
    t.notMatch(wrong, /s3cret/)
  }
})

t.test('help needs no settings', async t => {
  for (const words of [['--help'], ['apply', '--help'], ['token', 'create', '--help']])
    t.match(succeed(t, run({}, ...words)), /^Usage: orders /, words.join(' '))
  t.match(fail(t, run({}, 'nothing')), /unknown command 'nothing'/)
})
