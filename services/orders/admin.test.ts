import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type Ran, runCommand } from '../../dev/run-command.ts'
import { cloneDatabase, cloneDemo, connectTo, createEmptyDatabase, makeFolder } from '../../dev/test-database.ts'
import { tenantFile } from './test/tenant.ts'

const admin = fileURLToPath(new URL('./admin.ts', import.meta.url))

/** Runs `orders` with these words; its environment holds only these variables. */
const run = (environment: Record<string, string>, ...words: string[]): Promise<Ran> =>
  runCommand(admin, environment, words)

/** Runs it as a process of its own. */
const spawn = (environment: Record<string, string>, ...words: string[]): Ran => {
  const env = { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE, ...environment }
  const { status, stdout, stderr } = spawnSync(process.execPath, [admin, ...words], {
    env,
    encoding: 'utf8',
    timeout: 60_000,
  })
  return { status, stdout, stderr }
}

type Running = Ran | Promise<Ran>

/**
 * Provides the commands on a migrated database, with or without the tenant of `tenantFile`, and `save`, which writes a
 * tenant file and returns its path.
 */
const start = async (t: Test, tenants: 'none' | 'demo' = 'none') => {
  const demo = tenants === 'demo' ? await cloneDemo(t, 'all', 'plain') : undefined
  const { url, ownerUrl, superuserUrl } = demo ?? (await cloneDatabase(t, 'orders'))
  const environment = { ORDERS_DATABASE_URL: url, ORDERS_MIGRATE_DATABASE_URL: ownerUrl }
  const orders = (...words: string[]) => run(environment, ...words)
  const asProcess = (...words: string[]) => spawn(environment, ...words)
  const folder = makeFolder(t)
  const save = (content: unknown): string => {
    const path = join(folder, 'tenant.json')
    writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
    return path
  }
  return { orders, asProcess, save, environment, url, superuserUrl }
}

const succeed = async (t: Test, running: Running): Promise<string> => {
  const { status, stdout, stderr } = await running
  t.strictSame({ status, stderr }, { status: 0, stderr: '' })
  return stdout
}

const fail = async (t: Test, running: Running): Promise<string> => {
  const { status, stdout, stderr } = await running
  t.strictSame({ status, stdout }, { status: 1, stdout: '' })
  t.notMatch(stderr, /^\s+at /m, 'no stack')
  return stderr
}

t.test('migrate brings an empty database up to date once', async t => {
  const { save } = await start(t)
  const { url, ownerUrl } = await createEmptyDatabase(t, 'orders')
  const environment = { ORDERS_DATABASE_URL: url, ORDERS_MIGRATE_DATABASE_URL: ownerUrl }
  const early = await fail(t, run(environment, 'apply', save(tenantFile())))
  t.match(early, /orders migrate/, 'a command before the migration says what to do')
  const applied = (await succeed(t, spawn(environment, 'migrate'))).trim().split('\n')
  t.match(applied, ['0034-release-0.2.0', '0035-log'])
  t.equal(await succeed(t, run(environment, 'migrate')), 'The database is up to date.\n')
  t.same(JSON.parse(await succeed(t, run(environment, 'migrate', '--json'))), { applied: [] })
  t.match(await succeed(t, run(environment, 'apply', save(tenantFile()))), /^tenant +added +1$/m)
})

t.test('apply prints what it changed, and that a second apply changes nothing', async t => {
  const { orders, asProcess, save } = await start(t)
  const file = save(tenantFile())
  const dryRun = (await succeed(t, orders('apply', file, '--dry-run'))).trimEnd().split('\n')
  t.equal(dryRun.pop(), 'Nothing was written: this was a dry run.')
  const lines = (await succeed(t, asProcess('apply', file))).trimEnd().split('\n')
  t.strictSame(lines, dryRun, 'the dry run printed the same lines')
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
  t.equal(await succeed(t, orders('apply', file)), 'Nothing to change: the tenant is as the file says.\n')
})

t.test('apply prints a few changes one by one, and all of them as JSON', async t => {
  const { orders, save } = await start(t, 'demo')
  const file = save(tenantFile({ name: 'Renamed', secondary_phone: false }))
  const changes = [{ kind: 'tenant', id: 'demo', change: 'changed' }]
  const warnings = [
    'money.four_eyes is off: one person alone may compensate, settle disputes with amounts, take and settle their own cash, and make, submit and approve invoices',
    'the rate card standard has no rate to Jaffna in Jaffna: orders there are refused',
  ]
  t.same(JSON.parse(await succeed(t, orders('apply', file, '--json', '--dry-run'))), {
    dry_run: true,
    changes,
    warnings,
  })
  t.match(await succeed(t, orders('apply', file, '--dry-run')), /^ {2}tenant demo changed$/m)
  t.same(JSON.parse(await succeed(t, orders('apply', file, '--json'))), { dry_run: false, changes, warnings })
  t.same(JSON.parse(await succeed(t, orders('apply', file, '--json'))), { dry_run: false, changes: [], warnings })
})

t.test('apply prints old and new values, and warns of settings that block booking', async t => {
  const { orders, save } = await start(t)
  const applied = async (file: ReturnType<typeof tenantFile>) =>
    (await succeed(t, orders('apply', save(file)))).trimEnd().split('\n')
  await applied(tenantFile())
  const file = tenantFile({ waybills: { mode: 'auto', format: 'DM##' } })
  const [colombo] = file.states
  if (colombo?.cities[0]) colombo.cities[0].name = 'Kotte North'
  const [merchant] = file.merchants
  if (merchant) merchant.password = 'another-password'
  const lines = await applied(file)
  t.ok(lines.includes('    city 1500 name: Kotte -> Kotte North'))
  t.ok(lines.includes('    tenant demo waybill_format: DM######## -> DM##'))
  t.ok(lines.includes('    merchant shop@example.com password changed'))
  t.ok(lines.includes('  warning: the rate card standard has no rate to Jaffna in Jaffna: orders there are refused'))
  t.ok(lines.some(line => /^ {2}warning: the waybill format DM## has 99 numbers left; without/.test(line)))
  t.notMatch(lines.join(), /another-password|argon2/)
})

t.test('a file with only merchants changes nothing else', async t => {
  const { orders, save } = await start(t, 'demo')
  const one = {
    name: 'Kandy Tea',
    email: 'tea@example.com',
    password: 'kandy-tea-demo',
    businesses: [{ id: 8, name: 'Tea' }],
  }
  const apply = (merchant: object, tenant = 'demo') =>
    orders('apply', save({ tenant: { id: tenant }, merchants: [merchant] }), '--json')
  const { changes } = JSON.parse(await succeed(t, apply({ ...one, rate_card: 'standard' })))
  t.same(changes, [
    { kind: 'merchant', id: 'tea@example.com', change: 'added' },
    { kind: 'business', id: '8', change: 'added' },
  ])
  const refused = async (running: Running) => JSON.parse((await running).stdout).errors
  t.match(await refused(apply({ ...one, rate_card: 'gold' })), {
    'merchants.0.rate_card': [/no rate card gold, only standard/],
  })
  t.match(await refused(apply(one, 'nowhere')), { 'tenant.id': [/There is no tenant nowhere/] })
  t.match(await refused(apply({ ...one, email: 'new@example.com', businesses: [], password: undefined })), {
    'merchants.0.password': ['The password field is required.'],
  })
})

t.test(
  'commands add merchants, change passwords and deactivate merchants, with no password in their arguments',
  async t => {
    const { environment, superuserUrl } = await start(t, 'demo')
    const merchant = (MERCHANT_PASSWORD: string, name: string, ...words: string[]) =>
      (name === 'add' ? spawn : run)(
        { ...environment, MERCHANT_PASSWORD },
        'merchant',
        name,
        '--tenant',
        'demo',
        '--email',
        'tea@example.com',
        ...words,
      )
    const about = ['--name', 'Kandy Tea', '--rate-card', 'standard', '--business', '8:Tea', '--business', '9:Tea too']
    const added = await succeed(t, merchant('kandy-tea-demo', 'add', ...about))
    t.match(added, /^ {2}merchant tea@example\.com added$/m)
    t.match(added, /^ {2}business 9 added$/m)
    t.match(await fail(t, merchant('kandy-tea-demo', 'add', ...about)), /there is a merchant tea@example\.com already/)
    t.match(
      await fail(t, merchant('short', 'password')),
      /password: The password field must be 8 to 255 characters long/,
    )
    t.match(await fail(t, merchant('', 'password')), /set MERCHANT_PASSWORD/)
    t.match(await succeed(t, merchant('another-password', 'password')), /merchant tea@example\.com password changed/)
    t.match(await succeed(t, merchant('', 'deactivate')), /^ {2}merchant tea@example\.com deactivated/m)
    const client = await connectTo(t, superuserUrl)
    const { rows } = await client.query(`select is_active, rate_card from merchants where email = 'tea@example.com'`)
    t.same(rows, [{ is_active: false, rate_card: 'standard' }])
    t.same((await client.query('select count(*)::int from businesses where is_active')).rows, [{ count: 5 }])
  },
)

t.test('a command may take longer than a request', async t => {
  const { orders, save, url } = await start(t)
  const other = await connectTo(t, url)
  // `apply` waits for this lock.
  const held = other.query(`begin; select pg_advisory_xact_lock(hashtextextended('demo', 0)), pg_sleep(6); commit`)
  await delay(200)
  const begin = performance.now()
  await succeed(t, orders('apply', save(tenantFile())))
  t.ok(performance.now() - begin > 4_500)
  await held
})

t.test('audit lists actors and actions, newest first', async t => {
  const { orders, asProcess, save } = await start(t)
  const audit = (...words: string[]) => orders('audit', '--tenant', 'demo', ...words)
  await succeed(t, orders('apply', save(tenantFile())))
  await succeed(t, orders('apply', save(tenantFile({ tax_percent: 18, withholding_percent: 2 }))))
  const create = ['token', 'create', '--tenant', 'demo', '--staff', 'Ruwan', '--json']
  const { id } = JSON.parse(await succeed(t, orders(...create)))
  const entries = JSON.parse(await succeed(t, asProcess('audit', '--tenant', 'demo', '--json')))
  t.match(entries, [
    { actor_kind: 'operator', actor: userInfo().username, action: 'token.created', object_id: id, token_id: null },
    { action: 'tenant.applied', details: ['company tax_percent: 0 -> 18', /^company withholding_percent: /] },
    { action: 'tenant.applied', object_id: 'demo', details: null },
  ])
  t.same(JSON.parse(await succeed(t, audit('--limit', '1', '--json'))), entries.slice(0, 1))
  t.same(JSON.parse(await succeed(t, audit('--since', entries[0].at, '--json'))), entries.slice(0, 1))
  t.equal(await succeed(t, audit('--since', '2099-01-01')), 'There are no entries.\n')
  t.match(
    await succeed(t, audit()),
    /^at +actor_kind +actor +token_id +action +object_id +request_id +details\n.*token\.created/,
  )
  t.match(await succeed(t, audit()), /company tax_percent: 0 -> 18; company withholding_percent: 0 -> 2\n/)
  for (const words of [
    ['--limit', '0'],
    ['--limit', 'x'],
    ['--since', 'yesterday'],
  ])
    t.match(await fail(t, audit(...words)), /must be a/, words.join(' '))
  t.match(await fail(t, orders('audit', '--tenant', 'nowhere')), /there is no tenant nowhere/)
})

t.test('refuses an invalid file with the paths of its errors, and applies none of it', async t => {
  const { orders, save } = await start(t)
  const file = save(tenantFile({ currency: 'rupee', time_zone: 'Mars/Base' }))
  t.equal(
    await fail(t, orders('apply', file)),
    `${file} was not applied:\n  tenant.currency: The currency field must be a currency code such as LKR.\n`,
  )
  const json = await orders('apply', file, '--json')
  t.equal(json.status, 1)
  t.same(JSON.parse(json.stdout), {
    errors: { 'tenant.currency': ['The currency field must be a currency code such as LKR.'] },
  })
  const next = save(tenantFile({ time_zone: 'Mars/Base' }))
  t.equal(
    await fail(t, orders('apply', next)),
    `${next} was not applied:\n  tenant.time_zone: There is no time zone Mars/Base.\n`,
  )
  t.match(
    await fail(t, orders('token', 'create', '--tenant', 'demo', '--staff', 'Ruwan')),
    /there is no tenant demo; there are: none/,
  )
})

t.test('apply refuses another merchant’s business, with its path', async t => {
  const { orders, save } = await start(t, 'demo')
  const [shoes, books] = tenantFile().merchants
  const file = save({ ...tenantFile(), merchants: [{ ...books, businesses: shoes?.businesses }] })
  t.match(await fail(t, orders('apply', file)), /^ {2}merchants\.0\.businesses\.0\.id: Business 7290 belongs to /m)
})

t.test('a file that cannot be read is reported in one line', async t => {
  const { orders, save } = await start(t)
  t.equal(await fail(t, orders('apply', '/nowhere/tenant.json')), 'orders: cannot read /nowhere/tenant.json: ENOENT\n')
  const file = save('{"tenant":')
  t.equal(
    await fail(t, orders('apply', file)),
    `orders: ${file} is not valid JSON: it ends too early, at line 1, column 11\n`,
  )
  t.match(
    await fail(t, orders('apply', save('null'))),
    /was not applied:\n {2}the file: The data must be an object\.\n$/,
  )
})

t.test('keys rotate says when everything uses the newest key', async t => {
  const { url } = await start(t)
  const environment = { ORDERS_DATABASE_URL: url, WEBHOOK_KEYS: `newest:${Buffer.alloc(32, 7).toString('base64')}` }
  const printed = await succeed(t, spawn(environment, 'keys', 'rotate'))
  t.equal(printed, 'All bank accounts, pay files, webhooks, shops and second factors already use the newest key.\n')
})

t.test('a token is created for a merchant or for staff, and shown once', async t => {
  const { orders, asProcess } = await start(t, 'demo')
  const create = ['token', 'create', '--tenant', 'demo']
  const made = JSON.parse(await succeed(t, asProcess(...create, '--merchant', 'shop@example.com', '--json')))
  t.strictSame(Object.keys(made), ['id', 'token'])
  t.match(made, { id: /^tok_/, token: /^courier_[\w-]{48}$/ })
  const expiring = orders(...create, '--staff', 'Ruwan', '--expires', '2099-01-31T00:00:00Z')
  const [id = '', token = '', hint] = (await succeed(t, expiring)).split('\n')
  t.match([id, token, hint], [/^tok_/, /^courier_/, 'Keep it now: it is not shown again.'])

  const table = await succeed(t, orders('token', 'list'))
  t.match(table, new RegExp(`^${made.id} +demo +shop@example.com +- +- +\\S+Z +- +- +-$`, 'm'))
  t.match(table, new RegExp(`^${id} +demo +- +Ruwan +- +\\S+Z +2099-01-31T00:00:00.000Z +- +-$`, 'm'))
  const list = await succeed(t, orders('token', 'list', '--tenant', 'demo', '--json'))
  const keys = [
    'token_id',
    'tenant_id',
    'email',
    'staff_name',
    'name',
    'created_at',
    'expires_at',
    'revoked_at',
    'last_used_at',
  ]
  t.strictSame(JSON.parse(list).map(Object.keys), [keys, keys])
  for (const output of [table, list]) for (const secret of [made.token, token]) t.notOk(output.includes(secret))
  t.notMatch(table + list, /hash|courier_/)
})

t.test(
  'refuses a token without a tenant, without exactly one holder, or with an expiry that is not in the future',
  async t => {
    const { orders } = await start(t, 'demo')
    t.match(await fail(t, orders('token', 'create', '--staff', 'Ruwan')), /--tenant/)
    const table: [string[], RegExp][] = [
      [[], /^orders: name one holder: --merchant EMAIL or --staff NAME\n$/],
      [['--merchant', 'shop@example.com', '--staff', 'Ruwan'], /^orders: name one holder/],
      [['--merchant', 'nobody@example.com'], /^orders: tenant demo has no merchant nobody@example\.com\n$/],
      [['--staff', 'Ruwan', '--expires', 'soon'], /^orders: --expires must be a future time such as .*, not soon\n$/],
    ]
    for (const [words, message] of table)
      t.match(await fail(t, orders('token', 'create', '--tenant', 'demo', ...words)), message, words.join(' '))
    t.equal(await succeed(t, orders('token', 'list')), 'There are no tokens. Make one: orders token create --help\n')
  },
)

t.test('revoke ends a token by its id', async t => {
  const { orders } = await start(t, 'demo')
  const create = async (): Promise<string> =>
    JSON.parse(await succeed(t, orders('token', 'create', '--tenant', 'demo', '--staff', 'Ruwan', '--json'))).id
  const [first, second] = [await create(), await create()]
  t.equal(await succeed(t, orders('token', 'revoke', first)), `${first} of tenant demo is revoked.\n`)
  const response = JSON.parse(await succeed(t, orders('token', 'revoke', second, '--json')))
  t.same(response, { id: second, tenant: 'demo', revoked: true })
  const list = JSON.parse(await succeed(t, orders('token', 'list', '--json')))
  for (const { revoked_at } of list) t.match(revoked_at, /^\d{4}-.*Z$/)
  t.equal(
    await fail(t, orders('token', 'revoke', 'tok_unknown')),
    'orders: there is no token tok_unknown; token list shows them\n',
  )
})

t.test('an unusable database is reported without its password', async t => {
  const { save, url } = await start(t)
  const file = save(tenantFile())
  const unreachable = { ORDERS_DATABASE_URL: 'postgres://orders:s3cret@127.0.0.1:1/orders' }
  const hint = 'Postgres cannot be reached. Start it (npm start, docker compose up) or set ORDERS_DATABASE_URL'
  for (const words of [['migrate'], ['apply', file], ['token', 'list']]) {
    const printed = await fail(t, (words[0] === 'apply' ? run : spawn)(unreachable, ...words))
    t.equal(printed, `orders: ${hint}: connect ECONNREFUSED 127.0.0.1:1\n`, words.join(' '))
  }
  const wrongPassword = await fail(
    t,
    run({ ORDERS_DATABASE_URL: url.replace(':courier@', ':s3cret@') }, 'token', 'list'),
  )
  t.match(wrongPassword, /^orders: .*password authentication failed/)
  t.notMatch(wrongPassword, /s3cret/)
})

t.test('the error names a missing or wrong setting', async t => {
  const missing = await fail(t, spawn({}, 'token', 'list'))
  t.match(missing, /^The settings are wrong; nothing was started:\n {2}ORDERS_DATABASE_URL is missing: .+\n$/)
  for (const words of [['migrate'], ['token', 'list']]) {
    const wrong = await fail(t, run({ ORDERS_DATABASE_URL: 'postgres://orders:s3cret@there:port/orders' }, ...words))
    t.match(wrong, /ORDERS_DATABASE_URL must be a postgres:\/\/ address/)
    t.notMatch(wrong, /s3cret/)
  }
})

t.test('help needs no settings', async t => {
  for (const words of [['--help'], ['apply', '--help'], ['token', 'create', '--help']])
    t.match(await succeed(t, run({}, ...words)), /^Usage: orders /, words.join(' '))
  t.match(await fail(t, spawn({}, 'nothing')), /unknown command 'nothing'/)
})

t.test('tracking-keys lists, rotates and revokes the keys of links', async t => {
  const { orders, asProcess } = await start(t, 'demo')
  const keys = (...args: string[]) => orders('tracking-keys', ...args, '--tenant', 'demo')
  t.match(
    await succeed(t, asProcess('tracking-keys', 'rotate', '--tenant', 'demo')),
    /^The tracking key 2 signs new links\./,
  )
  t.match(JSON.parse(await succeed(t, keys('list', '--json'))), [{ key: 2, revoked_at: null }, { key: 1 }])
  t.match(await succeed(t, keys('revoke', '--key', '1')), /^Links of the tracking key 1 are no longer valid\./)
  for (const [args, error] of [
    [['revoke', '--key', '2'], /^orders: the tracking key 2 signs new links: rotate the keys first\n$/],
    [['revoke', '--key', 'x'], /^orders: --key must be the number of a key\n$/],
  ] as const)
    t.match(await fail(t, keys(...args)), error)
})
