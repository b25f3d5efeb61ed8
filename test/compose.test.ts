import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findCompose } from '../dev/compose.ts'
import { findFreePort } from '../dev/ports.ts'
import { root } from '../dev/settings.ts'
import { launchBrowser } from './browser.ts'
import { openConsole, signIn } from './console.ts'
import { waitUntil } from './courier.ts'
import { testJourney } from './journey.ts'

const project = `courier-test-${process.pid}`

/** Returns why the containers cannot run here; false when they can. */
const findReason = (): string | false => {
  if (docker('info').status !== 0) return 'no Docker engine responds'
  const images = ['node:26-bookworm-slim', 'postgres:18']
  const isAbsent = (image: string) =>
    docker('image', 'inspect', image).status !== 0 && docker('pull', image).status !== 0
  const absent = images.filter(isAbsent)
  return absent.length > 0 && `these images are unavailable: ${absent.join(', ')}`
}
const docker = (...words: string[]) => spawnSync('docker', words, { encoding: 'utf8' })

/** Holds for a machine on which all of it takes four times as long as on two idle cores. */
const minutes = 20
t.setTimeout(minutes * 60_000)

t.test('docker compose up runs two processes of each service', { skip: findReason() }, async t => {
  t.setTimeout(minutes * 60_000)
  // Other tests may take a port while the images are built.
  const [program, ...words] = [...findCompose(), 'build']
  spawnSync(program, words, { cwd: root, env: { ...process.env, COMPOSE_PROJECT_NAME: project } })
  const [port, notifierPort, simulatorPort] = [await findFreePort(), await findFreePort(), await findFreePort()].map(
    String,
  )
  const {
    ORDERS_DATABASE_URL: _,
    NOTIFIER_DATABASE_URL: __,
    ...env
  }: NodeJS.ProcessEnv = {
    ...process.env,
    COMPOSE_PROJECT_NAME: project,
    ORDERS_PORT: port,
    NOTIFIER_PORT: notifierPort,
    SIMULATOR_PORT: simulatorPort,
  }

  const compose = (words: string[], changed: NodeJS.ProcessEnv = {}): SpawnSyncReturns<string> => {
    const [program, ...first] = [...findCompose(), ...words]
    return spawnSync(program, first, { cwd: root, encoding: 'utf8', env: { ...env, ...changed } })
  }
  /** Returns what the command prints; if the command fails, fails the test with its errors. */
  const succeed = (words: string[], changed: NodeJS.ProcessEnv = {}): string => {
    const { status, stdout, stderr } = compose(words, changed)
    t.equal(status, 0, `docker compose ${words.join(' ')}\n${status === 0 ? '' : stderr}`)
    return stdout
  }
  t.teardown(() => compose(['down', '-v', '--remove-orphans']))

  const waitFor = (what: string, isTrue: () => Promise<boolean> | boolean) =>
    waitUntil(what, async () => isTrue(), Boolean, 300)
  const isReady = (which = ''): Promise<boolean> =>
    fetch(`http://127.0.0.1:${which}/health/ready`, { signal: AbortSignal.timeout(10_000) })
      .then(response => response.ok)
      .catch(() => false)
  /** Finds containers without docker-compose, whose version 1 takes a second to start. */
  const findContainers = (service: string, ...filters: string[]): string[] => {
    const labels = [`label=com.docker.compose.project=${project}`, `label=com.docker.compose.service=${service}`]
    const words = [...labels, ...filters].flatMap(filter => ['--filter', filter])
    return docker('ps', '--all', '--quiet', ...words)
      .stdout.split('\n')
      .filter(Boolean)
  }
  const readLogs = (container: string): string => {
    const { stdout, stderr } = docker('logs', container)
    return stdout + stderr
  }
  /** The front alone may be ready earlier: it passes requests to the process that is. */
  const waitForAll = async (): Promise<void> => {
    for (const service of ['orders', 'notifier'])
      await waitFor(
        `both processes of ${service} are healthy`,
        () => findContainers(service, 'health=healthy').length === 2,
      )
    for (const each of [port, notifierPort, simulatorPort]) await waitFor(`${each} is ready`, () => isReady(each))
  }
  const npm = (script: string, words: string[] = [], input = '') =>
    spawnSync('npm', ['run', '-s', script, '--', ...words], { cwd: root, encoding: 'utf8', env, input })
  const run = (script: string, ...words: string[]): string => {
    const { status, stdout, stderr } = npm(script, words)
    t.equal(status, 0, `npm run ${script} -- ${words.join(' ')}\n${status === 0 ? '' : stderr}`)
    return stdout
  }
  /** Runs a command in the first container of a service. */
  const exec = (service: string, ...words: string[]) => docker('exec', findContainers(service)[0] ?? '', ...words)
  const query = (statement: string) =>
    exec('postgres', 'psql', '-U', 'postgres', '-d', 'orders', '-Atc', statement).stdout.trim()
  const countOrders = () => query('select count(*) from orders')

  /** Returns what the service `demo` printed on each run. */
  const readPrinted = () =>
    findContainers('demo')
      .map(readLogs)
      .join('')
      .split(/^courier is ready$/m)
      .slice(0, -1)
  const findRequest = (text = ''): string => /^curl .*$/m.exec(text)?.[0] ?? 'false'
  const readBearer = (request: string) => ({ authorization: /Bearer [^']+/.exec(request)?.[0] ?? '' })
  /** Pastes the printed request into a shell. */
  const paste = (request: string, ...options: string[]): { message: string; data: string[] } => {
    const { stdout, stderr } = spawnSync('bash', ['-c', [request, ...options].join(' ')], {
      cwd: root,
      encoding: 'utf8',
    })
    if (!stdout) throw new Error(`no response: ${stderr}\n${readLogs(findContainers('front')[0] ?? '').slice(-3_000)}`)
    return JSON.parse(stdout)
  }

  succeed(['up', '-d', '--scale', 'orders=2', '--scale', 'notifier=2'])
  await waitFor('the demo tenant is loaded', () => readPrinted().length === 1)
  await waitForAll()
  const request = findRequest(readPrinted()[0])

  await t.test('the printed request returns its first response again, even after a restart', async t => {
    const first = paste(request, '-H Idempotency-Key:monday')
    t.equal(first.message, 'Orders Created Successfully')
    t.equal(first.data.length, 25)
    t.equal(countOrders(), '25')
    succeed(['restart'])
    await waitForAll()
    t.same(paste(request, '-H Idempotency-Key:monday'), first)
    t.equal(countOrders(), '25')
    await waitFor('the tokens are printed again', () => readPrinted().length === 2)
    t.equal(findRequest(readPrinted()[1]), request)
  })

  await t.test('npm run demo and the commands of operators find the containers', async t => {
    t.match(run('demo'), /Orders Created Successfully[\s\S]*queued\n[\s\S]*(delivered|read)\n$/)
    t.match(JSON.parse(run('orders', 'token', 'list', '--json')), [{ email: 'shop@example.com' }, {}])
    const unchanged = 'Nothing to change: the tenant is as the file says.\n'
    t.equal(run('orders', 'apply', 'examples/demo-tenant.json'), unchanged)
    t.equal(run('notifier', 'apply', '--dry-run', 'examples/demo-notifier.json'), unchanged)
    t.match(npm('orders', ['apply', '-'], '{"tenant"').stderr, /- is not valid JSON/)
    const { status, stderr } = npm('orders', ['apply', 'none.json'])
    t.same([status, stderr], [1, 'orders: cannot read none.json: ENOENT\n'])
    t.equal(npm('orders', ['token', 'revoke', 'none']).status, 1)
  })

  await t.test('each container runs as an ordinary user, on a read-only file system, without capabilities', t => {
    const script = 'id -u; touch /usr/anything 2>/dev/null || echo refused; cat /proc/1/status'
    for (const name of ['postgres', 'orders', 'notifier', 'simulator', 'front']) {
      const [user, written, ...status] = exec(name, 'sh', '-c', script).stdout.split('\n')
      t.match(user, /^\d+$/)
      t.not(user, '0', `${name}'s user`)
      t.equal(written, 'refused', `${name} cannot write`)
      t.match(status.join('\n'), /^CapEff:\s*0+$/m, `${name} has no capability`)
      t.match(status.join('\n'), /^CapBnd:\s*0+$/m, `${name} can gain none`)
      t.match(status.join('\n'), /^NoNewPrivs:\s*1$/m)
    }
    t.end()
  })

  await t.test('production runs two services behind the front, from an image without simulator or examples', t => {
    const file = join(t.testdir({}), '.env')
    run('secrets', file)
    const services = succeed(['--env-file', file, 'config', '--services'])
    t.same(services.trim().split('\n').sort(), ['front', 'notifier', 'orders', 'postgres'])
    const search = 'find / -xdev -path "*simulator*" -o -xdev -path "*/app/examples*" -o -xdev -path "*/app/dev*"'
    const findFiles = (image: string) => docker('run', '--rm', '--entrypoint', 'sh', image, '-c', search).stdout
    t.equal(findFiles('courier'), '')
    t.match(findFiles('courier-demo'), '/app/simulator/main.ts')
    t.end()
  })

  await t.test('the role of orders owns nothing and may open only its own database', async t => {
    const url = 'postgres://orders:courier@127.0.0.1/orders'
    const asOrders = (statement: string, address = url) => exec('postgres', 'psql', address, '-Atc', statement)
    t.equal(asOrders('select count(*) from orders').stdout.trim(), '0', 'without a tenant the role sees no row')
    t.match(asOrders('drop table orders').stderr, /must be owner/)
    for (const other of ['postgres', 'notifier'])
      t.match(asOrders('select 1', url.replace(/orders$/, other)).stderr, /permission denied for database/, other)
    const asNotifier = 'postgres://notifier:courier@127.0.0.1/orders'
    t.match(asOrders('select 1', asNotifier).stderr, /permission denied for database/, 'the notifier is refused')
  })

  await t.test('a parcel travels from the merchant to the customer, and merchant and staff see every move', async t => {
    const create = ['token', 'create', '--tenant', 'demo', '--staff', 'Ruwan', '--json']
    await testJourney(t, {
      orders: `http://127.0.0.1:${port}`,
      notifier: `http://127.0.0.1:${notifierPort}`,
      simulator: `http://127.0.0.1:${simulatorPort}`,
      ordersStaff: JSON.parse(run('orders', ...create)).token,
      notifierStaff: JSON.parse(run('notifier', ...create)).token,
    })
    const logs = [...findContainers('orders'), ...findContainers('notifier')].map(readLogs).join('')
    t.match(logs, /order\/bulk/)
    t.notMatch(logs, /demo-access-token|demo-app-secret|lanka-shoes-demo|0000177|Nimali/)
  })

  await t.test('both processes of orders book, and the front serves the console but no internal path', async t => {
    const headers = { 'x-tenant': 'demo', 'content-type': 'application/json', ...readBearer(request) }
    const body = readFileSync(join(root, 'examples/batch.json'))
    const book = () =>
      fetch(`http://127.0.0.1:${port}/api/public/merchant/order/bulk`, { method: 'POST', headers, body })
    const hasBooked = (container: string): boolean => /order\/bulk.*"status":200/.test(readLogs(container))
    await waitFor('both processes booked', async () => {
      await Promise.all(Array.from({ length: 12 }, book))
      return findContainers('orders').filter(hasBooked).length === 2
    })
    for (const path of ['/metrics', '/internal/orders/demo/DM00000001'])
      t.equal((await fetch(`http://127.0.0.1:${port}${path}`)).status, 404, `${path} is not public`)
    const browser = await launchBrowser(t)
    if (!browser) return
    const { page, problems } = await openConsole(t, browser, `http://127.0.0.1:${notifierPort}/portal/`)
    await signIn(page)
    await page.locator('#today, h1').first().waitFor()
    t.same(problems, [])
  })
})
