import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { root } from './settings.ts'

const start = (tmpdir: string, ...args: string[]) => {
  // Keeps Citus to the outer run: an inner run would drop the template that tests clone.
  const { ORDERS_DATABASE_URL: _, TEST_CITUS_URL: __, ...env } = process.env
  const child = spawn(process.execPath, [join(import.meta.dirname, 'test.ts'), ...args], {
    env: { ...env, TMPDIR: tmpdir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return { child, output: text(child.stdout), ended: once(child, 'exit') }
}

t.test('prints the whole output of a failed file, and counts everything in the last line', async t => {
  const folder = t.testdir({
    run: {},
    'good.ts': `console.log('ok 1 - fine\\n1..1\\n# { total: 1, pass: 1 }')`,
    'bad.ts': `console.log('not ok 1 - wrong\\n1..1\\n# { total: 2, pass: 1, fail: 1 }'); process.exitCode = 1`,
    'throws.ts': `throw new Error('before any test')`,
  })
  const files = ['good', 'bad', 'throws'].map(name => join(folder, `${name}.ts`))
  const { output, ended } = start(join(folder, 'run'), ...files)
  t.same(await ended, [1, null])
  t.match(await output, /not ok 1 - wrong[\s\S]*\n2 passed, 2 failed\n$/)
  t.match(await output, /before any test/)
  t.match(await output, /^\[3\/3\] /m)
  t.same(readdirSync(join(folder, 'run')), [])
})

t.test('a folder runs in one process, each file counts, and one that ends the process fails alone', async t => {
  const folder = t.testdir({
    run: {},
    files: {
      'a.test.ts': `import t from 'tap'; t.test('a', async t => { t.pass(); t.pass() })
        t.teardown(() => { globalThis.ended = process.pid })`,
      'b.test.ts': `import t from 'tap'; t.equal(globalThis.ended, process.pid, 'the teardown of a has run')`,
      'c.test.ts': `import t from 'tap'; t.test('c', async () => process.exit(0))`,
      'd.test.ts': `import t from 'tap'; t.fail('wrong'); t.pass()`,
      'e.test.ts': `throw new Error('before any test')`,
      'f.test.ts': `import t from 'tap'; t.equal(globalThis.ended, undefined, 'a process that died takes no more')`,
    },
  })
  const { output, ended } = start(join(folder, 'run'), '--jobs', '1', join(folder, 'files'))
  t.same(await ended, [1, null])
  const lines = (await output).split('\n').filter(line => line.startsWith('['))
  t.strictSame(lines.map(line => /^\[\d\/6\] .*files\/(\S+) \S+ s(.*)$/.exec(line)?.slice(1)).sort(), [
    ['a.test.ts', ''],
    ['b.test.ts', ''],
    ['c.test.ts', '  1 FAILED'],
    ['d.test.ts', '  1 FAILED'],
    ['e.test.ts', '  1 FAILED'],
    ['f.test.ts', ''],
  ])
  t.match(await output, /The process ended before the file did[\s\S]*before any test[\s\S]*\n5 passed, 3 failed\n$/)
})

t.test('an error that nothing catches fails the test that runs, in a shared process and alone', async t => {
  const raise = (name: string, statement: string) => `import t from 'tap'
    t.test('before', async t => t.pass())
    t.test('${name}', async t => {
      ${statement}
      await new Promise(resolve => setTimeout(resolve, 200))
      t.pass()
    })
    t.test('after', async t => t.pass())`
  const files = {
    'a.test.ts': raise('thrown', `setTimeout(() => { throw new Error('thrown') })`),
    'b.test.ts': raise('rejected', `Promise.reject(new Error('rejected'))`),
    'c.test.ts': raise('awaited', `process.once('unhandledRejection', () => t.pass()); Promise.reject(new Error('c'))`),
  }
  const folder = t.testdir({ run: {}, files })
  for (const paths of [[join(folder, 'files')], Object.keys(files).map(name => join(folder, 'files', name))]) {
    const { output, ended } = start(join(folder, 'run'), '--jobs', '1', ...paths)
    t.same(await ended, [1, null])
    const failed = [...(await output).matchAll(/not ok 2 - (\w+) # time/g)].map(([, name]) => name)
    t.strictSame(failed.toSorted(), ['rejected', 'thrown'])
    t.strictSame((await output).match(/(?<=files\/).\.test\.ts(?= \S+ s {2}\d FAILED$)/gm)?.toSorted(), [
      'a.test.ts',
      'b.test.ts',
    ])
  }
})

t.test('SIGTERM leaves no Postgres and no folder, even when a second SIGTERM follows', async t => {
  const folder = t.testdir({ run: {}, 'endless.ts': `setInterval(() => {}, 1_000)`, 'good.ts': '' })
  const { child, ended } = start(join(folder, 'run'), join(folder, 'good.ts'), join(folder, 'endless.ts'))
  // The first file has finished: Postgres is up, and the other file runs.
  await once(child.stdout, 'data')
  const [cluster = ''] = readdirSync(join(folder, 'run'))
  t.match(cluster, /^courier-test-/)
  child.kill('SIGTERM')
  await delay(100)
  child.kill('SIGTERM')
  t.same(await ended, [1, null])
  t.same(readdirSync(join(folder, 'run')), [])
})

t.test('npm test leaves nothing when its group gets SIGTERM while Postgres starts', async t => {
  const { ORDERS_DATABASE_URL: _, TEST_CITUS_URL: __, ...env } = process.env
  for (const moment of ['courier-test-*', 'courier-test-*/cluster.new', 'courier-test-*/cluster/postmaster.pid']) {
    const folder = t.testdir({ run: {}, 'endless.ts': `setInterval(() => {}, 1_000)`, 'good.ts': '' })
    const run = join(folder, 'run')
    const child = spawn('npm', ['test', '--', join(folder, 'good.ts'), join(folder, 'endless.ts')], {
      cwd: root,
      env: { ...env, TMPDIR: run },
      detached: true,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    const stop = () => process.kill(-(child.pid ?? 0), 'SIGTERM')
    process.once('SIGTERM', stop)
    const ended = once(child, 'exit')
    const isThere = () => globSync(moment, { cwd: run }).length > 0
    for (let tries = 0; tries < 3_000 && !isThere(); tries++) await delay(10)
    stop()
    await ended
    process.off('SIGTERM', stop)
    // npm may end before the processes that it started.
    for (let tries = 0; tries < 300 && readdirSync(run).length > 0; tries++) await delay(50)
    t.same(readdirSync(run), [], `stopped at ${moment}`)
    t.notMatch(execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' }), run)
  }
})
