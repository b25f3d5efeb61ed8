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

const fails = (name: string, statement: string) => `import t from 'tap'
  t.test('before', async t => t.pass())
  t.test('${name}', async t => {
    ${statement}
    await new Promise(resolve => setTimeout(resolve, 200))
    t.pass()
  })
  t.test('after', async t => t.pass())`
const raising = {
  'a.test.ts': fails('thrown', `setTimeout(() => { throw new Error('thrown') })`),
  'b.test.ts': fails('rejected', `Promise.reject(new Error('rejected'))`),
  'c.test.ts': fails('awaited', `process.once('unhandledRejection', () => t.pass()); Promise.reject(new Error('c'))`),
}

t.test('a run of files and folders', async t => {
  const folder = t.testdir({
    run: {},
    alone: {
      'good.ts': `console.log('ok 1 - fine\\n1..1\\n# { total: 1, pass: 1 }')`,
      'bad.ts': `console.log('not ok 1 - wrong\\n1..1\\n# { total: 2, pass: 1, fail: 1 }'); process.exitCode = 1`,
      'throws.ts': `throw new Error('before any test, alone')`,
      ...raising,
    },
    shared: {
      'a.test.ts': `import t from 'tap'; t.test('a', async t => { t.pass(); t.pass() })
        t.teardown(() => { globalThis.ended = process.pid })`,
      'b.test.ts': `import t from 'tap'; t.equal(globalThis.ended, process.pid, 'the teardown of a has run')`,
      'c.test.ts': `import t from 'tap'; t.test('c', async () => process.exit(0))`,
      'd.test.ts': `import t from 'tap'; t.fail('wrong'); t.pass()`,
      'e.test.ts': `throw new Error('before any test')`,
      'f.test.ts': `import t from 'tap'; t.equal(globalThis.ended, undefined, 'a process that died takes no more')`,
    },
    raising,
  })
  const alone = readdirSync(join(folder, 'alone')).map(name => join(folder, 'alone', name))
  const { output, ended } = start(
    join(folder, 'run'),
    '--jobs',
    '1',
    ...alone,
    join(folder, 'shared'),
    join(folder, 'raising'),
  )
  t.same(await ended, [1, null])
  t.same(readdirSync(join(folder, 'run')), [])
  const printed = await output
  const verdicts = [...printed.matchAll(/^\[\d+\/15\] .*fixtures\/[^/]+\/(\S+) \S+ s(?: {2}(.*))?$/gm)]
  t.strictSame(verdicts.map(([, file, verdict = '']) => `${file} ${verdict}`).toSorted(), [
    'alone/a.test.ts 2 FAILED',
    'alone/b.test.ts 2 FAILED',
    'alone/bad.ts 1 FAILED',
    'alone/c.test.ts ',
    'alone/good.ts ',
    'alone/throws.ts 1 FAILED',
    'raising/a.test.ts 1 FAILED',
    'raising/b.test.ts 1 FAILED',
    'raising/c.test.ts ',
    'shared/a.test.ts ',
    'shared/b.test.ts ',
    'shared/c.test.ts 1 FAILED',
    'shared/d.test.ts 1 FAILED',
    'shared/e.test.ts 1 FAILED',
    'shared/f.test.ts ',
  ])
  t.match(printed, /not ok 1 - wrong\n/, 'prints the whole output of a failed file')
  for (const text of ['The process ended before the file did', 'before any test, alone', 'before any test\n'])
    t.match(printed, text)
  t.match(printed, /\n23 passed, 11 failed\n$/, 'counts everything in the last line')
  const failed = [...printed.matchAll(/not ok 2 - (\w+) # time/g)].map(([, name]) => name)
  t.strictSame(
    failed.toSorted(),
    ['rejected', 'rejected', 'thrown', 'thrown'],
    'an error that nothing catches fails the test that runs, in a shared process and alone',
  )
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
