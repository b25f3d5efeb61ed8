import { type SpawnSyncReturns, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { freePort } from '../dev/ports.ts'
import { root } from '../dev/settings.ts'
import { testJourney } from './journey.ts'

const project = `courier-test-${process.pid}`
const isPlugin = spawnSync('docker', ['compose', 'version']).status === 0
const command = isPlugin ? ['docker', 'compose'] : ['docker-compose']

/** Why the containers cannot run here; false when they can. */
const missing = (): string | false => {
  if (docker('info') !== 0) return 'no Docker engine responds'
  const images = ['node:24-bookworm-slim', 'postgres:18']
  const absent = images.filter(image => docker('image', 'inspect', image) !== 0 && docker('pull', image) !== 0)
  return absent.length > 0 && `these images cannot be had: ${absent.join(', ')}`
}
const docker = (...words: string[]): number | null => spawnSync('docker', words).status

t.test('docker-compose up runs the whole system', { skip: missing() }, async t => {
  t.setTimeout(600_000)
  const [port, notifierPort, simulatorPort] = [await freePort(), await freePort(), await freePort()].map(String)
  const ports = { ORDERS_PORT: port, NOTIFIER_PORT: notifierPort, SIMULATOR_PORT: simulatorPort }

  const compose = (words: string[], input = ''): SpawnSyncReturns<string> => {
    const [program = '', ...first] = [...command, '-p', project, ...words]
    return spawnSync(program, first, {
      cwd: root,
      input,
      encoding: 'utf8',
      env: { ...process.env, ...ports },
    })
  }
  /** What the command printed; fails the test with its errors when it failed. */
  const composed = (words: string[], input = ''): string => {
    const { status, stdout, stderr } = compose(words, input)
    t.equal(status, 0, `docker-compose ${words.join(' ')}\n${status === 0 ? '' : stderr}`)
    return stdout
  }
  t.teardown(() => compose(['down', '-v', '--remove-orphans']))

  const isReady = async (which = port): Promise<boolean> => {
    for (let tries = 0; tries < 240; tries++) {
      if (
        await fetch(`http://127.0.0.1:${which}/health/ready`)
          .then(response => response.ok)
          .catch(() => false)
      )
        return true
      await new Promise(resolve => setTimeout(resolve, 250))
    }
    return false
  }
  const admin = (words: string[], input = '') =>
    composed(['exec', '-T', 'orders', 'node', 'services/orders/admin.ts', ...words], input)
  const countOrders = () =>
    composed([
      'exec',
      '-T',
      'postgres',
      'psql',
      '-U',
      'postgres',
      '-d',
      'orders',
      '-Atc',
      'select count(*) from orders',
    ])

  composed(['up', '--build', '-d'])
  t.ok(await isReady(), 'orders is ready')
  admin(['apply', '-'], readFileSync(join(root, 'examples/demo-tenant.json'), 'utf8'))
  const { token } = JSON.parse(
    admin(['token', 'create', '--tenant', 'demo', '--merchant', 'shop@example.com', '--json']),
  )
  const body = readFileSync(join(root, 'examples/batch.json'))
  const post = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/api/public/merchant/order/bulk`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'x-tenant': 'demo',
        'content-type': 'application/json',
        'idempotency-key': 'monday',
      },
      body,
    })
    return { status: response.status, body: (await response.json()) as { data: string[] } }
  }

  await t.test('a batch is made, kept over a restart, and made once', async t => {
    const first = await post()
    t.equal(first.status, 200)
    t.equal(first.body.data.length, 25)
    t.equal(countOrders().trim(), '25')
    composed(['restart', 'orders'])
    t.ok(await isReady(), 'orders is ready again')
    t.same(await post(), first)
    t.equal(countOrders().trim(), '25')
  })

  await t.test('each container runs as an ordinary user, on a read-only file system, without capabilities', t => {
    for (const name of ['postgres', 'orders', 'notifier', 'simulator']) {
      t.not(composed(['exec', '-T', name, 'id', '-u']).trim(), '0', `${name}'s user`)
      t.not(compose(['exec', '-T', name, 'touch', '/usr/anything']).status, 0, `${name} cannot write`)
      const status = composed(['exec', '-T', name, 'cat', '/proc/1/status'])
      t.match(status, /^CapEff:\s*0+$/m, `${name} has no capability`)
      t.match(status, /^CapBnd:\s*0+$/m, `${name} can gain none`)
      t.match(status, /^NoNewPrivs:\s*1$/m)
    }
    t.end()
  })

  await t.test('the role of orders owns nothing and may open its own database alone', async t => {
    const url = 'postgres://orders:courier@127.0.0.1/orders'
    const asOrders = (statement: string, address = url) =>
      compose(['exec', '-T', 'postgres', 'psql', address, '-Atc', statement])
    t.equal(asOrders('select count(*) from orders').stdout.trim(), '0', 'without a tenant it sees no row')
    t.match(asOrders('drop table orders').stderr, /must be owner/)
    for (const other of ['postgres', 'notifier'])
      t.match(asOrders('select 1', url.replace(/orders$/, other)).stderr, /permission denied for database/, other)
    const asNotifier = 'postgres://notifier:courier@127.0.0.1/orders'
    t.match(asOrders('select 1', asNotifier).stderr, /permission denied for database/, 'the notifier at orders')
  })

  await t.test('a parcel travels from the merchant to the customer, and everybody sees it', async t => {
    for (const each of [notifierPort, simulatorPort]) t.ok(await isReady(each), 'the service is ready')
    const notifier = (words: string[], input = '') =>
      composed(['exec', '-T', 'notifier', 'node', 'services/notifier/admin.ts', ...words], input)
    notifier(['apply', '-'], readFileSync(join(root, 'examples/demo-notifier.json'), 'utf8'))
    const create = ['token', 'create', '--tenant', 'demo', '--staff', 'Ruwan', '--json']
    await testJourney(t, {
      orders: `http://127.0.0.1:${port}`,
      notifier: `http://127.0.0.1:${notifierPort}`,
      simulator: `http://127.0.0.1:${simulatorPort}`,
      ordersStaff: JSON.parse(admin(create)).token,
      notifierStaff: JSON.parse(notifier(create)).token,
    })
    t.notMatch(
      compose(['logs', 'notifier', 'orders']).stdout,
      /demo-access-token|demo-app-secret|lanka-shoes-demo|0000177|Nimali/,
    )
  })
})
