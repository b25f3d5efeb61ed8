import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { findFreePort } from '../dev/ports.ts'
import { root } from '../dev/settings.ts'

interface Run {
  child: ChildProcess
  output: () => string
  ended: Promise<unknown[]>
}

/** Prepares a folder, ports and settings of its own for `npm start`. Removes the folder after the test. */
const prepare = async (t: Test) => {
  const folder = await mkdtemp(join(tmpdir(), 'courier-start-'))
  await chmod(folder, 0o755)
  const { ORDERS_DATABASE_URL: _, NOTIFIER_DATABASE_URL: __, ...environment } = process.env
  const settings = {
    DATA_DIR: folder,
    ORDERS_PORT: String(await findFreePort()),
    NOTIFIER_PORT: String(await findFreePort()),
    SIMULATOR_PORT: String(await findFreePort()),
    SIMULATOR_DELAY_FACTOR: '0.1',
    EMBEDDED_POSTGRES_PORT: String(await findFreePort()),
    // Otherwise commands without a running stack would find the containers of a parallel test.
    COMPOSE_PROJECT_NAME: 'courier-test-without-containers',
  }
  const launch = (program: string, words: string[], changed: Record<string, string | undefined> = {}): Run => {
    const child = spawn(program, words, {
      cwd: root,
      env: { ...environment, ...settings, ...changed },
      detached: true,
    })
    // A stopped `npm test` stops its groups of processes, but this child runs in a group of its own.
    process.once('SIGTERM', async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
      process.exit(1)
    })
    let text = ''
    child.stdout.on('data', chunk => (text += chunk))
    child.stderr.on('data', chunk => (text += chunk))
    return { child, output: () => text, ended: once(child, 'exit') }
  }
  const npm = (script: string, words: string[] = [], changed: Record<string, string | undefined> = {}): Run =>
    launch('npm', ['run', '-s', script, '--', ...words], changed)
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return { launch, npm, settings, orders: `http://127.0.0.1:${settings.ORDERS_PORT}` }
}

/** Leaves out the ports: commands find the running stack by its data folder. */
const withoutPorts = { ORDERS_PORT: undefined, NOTIFIER_PORT: undefined, EMBEDDED_POSTGRES_PORT: undefined }

const isReady = async ({ output, child }: Run): Promise<boolean> => {
  for (let tries = 0; tries < 1_800 && child.exitCode === null; tries++) {
    if (/^courier is ready\r?$/m.test(output())) return true
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  return false
}

const responds = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  )

/** Is true where `script` of util-linux gives a program a terminal. */
const hasTerminal = process.platform === 'linux' && existsSync('/usr/bin/script')

t.test('npm start works, again after a crash, and a start beside it says how to stop the other', async t => {
  const { launch, npm, settings, orders } = await prepare(t)
  const first = npm('start')
  t.ok(await isReady(first), first.output())
  const call = first.output().match(/^curl [\s\S]*?batch\.json'$/m)?.[0] ?? ''
  const response = JSON.parse(execFileSync('bash', ['-c', call], { encoding: 'utf8' }))
  t.equal(response.message, 'Orders Created Successfully')
  t.equal(response.data.length, 25)

  const list = npm('orders', ['token', 'list', '--json'], withoutPorts)
  await list.ended
  t.match(JSON.parse(list.output()), [
    { tenant_id: 'demo', email: 'shop@example.com' },
    { tenant_id: 'demo', staff_name: 'Demo portal' },
  ])
  const staff = npm('notifier', ['token', 'list', '--json'], withoutPorts)
  await staff.ended
  t.match(JSON.parse(staff.output()), [{ tenant_id: 'demo', staff_name: 'Demo portal' }])

  process.kill(-(first.child.pid ?? 0), 'SIGKILL')
  await first.ended
  const second = hasTerminal
    ? launch('script', ['-qefc', 'npm run -s start', '/dev/null'], { LOG_LEVEL: '' })
    : npm('start')
  t.teardown(async () => {
    const pid = await readFile(join(settings.DATA_DIR, 'start.pid'), 'utf8').catch(() => '')
    if (Number.parseInt(pid, 10) > 1) process.kill(Number.parseInt(pid, 10), 'SIGTERM')
    await second.ended
  })
  t.ok(await isReady(second), second.output())
  t.equal((await fetch(`${orders}/api/public/merchant/order`)).status, 400)
  const demo = npm('demo', [], withoutPorts)
  await demo.ended
  t.match(demo.output(), /Orders Created Successfully/)
  t.match(
    demo.output(),
    // Status updates may overtake each other: the timeline lacks a status that a later status has overtaken.
    /queued\n(.*(accepted|sent)\n)*(.*(delivered|read)\n)+$/,
    'the demo follows the message of its first order until it is delivered',
  )
  const example = launch('sh', ['examples/curl/book.sh', 'examples/batch.json'], withoutPorts)
  await example.ended
  t.match(example.output(), /^First waybill: DM\d{8}$/m)
  t.notMatch(demo.output(), response.data[0], 'the waybills of the first start are not assigned again')

  const started = performance.now()
  const third = npm('start')
  t.same(await third.ended, [1, null])
  t.ok(performance.now() - started < 20_000, 'a start beside another does not wait')
  t.match(third.output(), `npm start is already running on ${settings.DATA_DIR}`)
  t.match(third.output(), orders)
  const command = third.output().match(/kill \d+$/m)?.[0] ?? 'false'
  if (hasTerminal) t.match(second.output(), /courier is ready\s*$/, 'on a terminal nothing follows the ready line')
  execFileSync('bash', ['-c', command])
  t.same(await second.ended, [0, null])
  if (hasTerminal) t.match(second.output(), /courier is ready\s*$/)
  t.notOk(await responds(`${orders}/health/live`), 'the printed command stopped it')
})

t.test('names an unusable DATA_DIR with its remedy, and starts nothing', async t => {
  const { npm, settings } = await prepare(t)
  const file = join(settings.DATA_DIR, 'file')
  await writeFile(file, '')
  for (const [folder, reason] of [
    [file, 'is, or is below, a file'],
    [join(file, 'below'), 'is, or is below, a file'],
  ] as const) {
    const run = npm('start', [], { DATA_DIR: folder })
    t.same(await run.ended, [1, null])
    t.match(run.output(), new RegExp(`^DATA_DIR ${folder} (${reason}).* Set DATA_DIR to a folder`))
  }
  t.same(await readdir(settings.DATA_DIR), ['file'])
})

t.test('names a port in use and its setting, and leaves nothing running', async t => {
  const { npm, settings } = await prepare(t)
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as { port: number }
  for (const setting of ['ORDERS_PORT', 'NOTIFIER_PORT', 'SIMULATOR_PORT', 'EMBEDDED_POSTGRES_PORT']) {
    const run = npm('start', [], { [setting]: String(port) })
    const [status] = await run.ended
    t.equal(status, 1)
    t.match(run.output(), new RegExp(`Port ${port} .*Set ${setting}`))
  }
  t.notOk(await responds(`http://127.0.0.1:${settings.EMBEDDED_POSTGRES_PORT}`), 'no Postgres is left running')
})

t.test('prints help, and refuses what it does not know', async t => {
  const { npm, settings } = await prepare(t)
  for (const [word, status, wanted] of [
    ['--help', 0, /npm start +starts orders.*DATA_DIR/s],
    ['--port', 2, /npm start does not know --port/],
  ] as const) {
    const run = npm('start', [word])
    t.same(await run.ended, [status, null])
    t.match(run.output(), wanted)
  }
  t.same(await readdir(settings.DATA_DIR), [])
})

t.test('npm run demo without a running stack names the remedy', async t => {
  const { npm } = await prepare(t)
  const run = npm('demo')
  t.same(await run.ended, [1, null])
  t.match(run.output(), /npm start/)
})
