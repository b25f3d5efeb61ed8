// npm test [-- [--all] [--jobs N] [FILE ...]]: checks types, lint, patterns and OpenAPI documents and runs the tests,
// or runs only the named files. --all adds the short forms of trust/, a short bench, the tests that need a browser or
// other languages and, with a Docker engine, the containers.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { promiseNames } from '../trust/promises.ts'
import { keepCompiled, root } from './settings.ts'
import { makeTemplates, onCitus } from './test-database.ts'
import { startTestPostgres } from './test-postgres.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, jobs: { type: 'string' } },
})
/** Tests wait more than they compute, but the promises of trust/ compute more. */
const jobs = Number(values.jobs ?? (values.all ? 2 : 3) * Math.min(availableParallelism(), 4))

const folders = '{bench,dev,services,shared,simulator,test,trust}/**/*.test.ts'
/** Matches tests that take long, need other programs, or cover code that rarely changes. */
const onlyInAll = [
  /^(trust|bench)\//,
  /^test\/(compose|console|console-[a-z]+|desk|desk-(killed|programs)|docs-page|examples|failover|imports|ops-programs|pgbouncer|pitr|portal-none|restored|secrets|simulator-page|start|traces|tracking-page|two-notifiers|upgrade|without-docker)\.test\.ts$/,
  /^services\/notifier\/(.*\/)?(apply-rules|costs|crash|fair|keys|late-outcomes|portfolio-days|process|proven-numbers|queue-hazards|recipient-pause|replies|replies-address|send-command|stopping|webhooks-cost|webhooks-load|webhooks-storm)\.test\.ts$/,
  /^services\/orders\/(.*\/)?(admin|catalogue-memory|closing|cors|labels|login-floods|lost-responses|merchants|messaging|on-citus|payouts-killed|process|provisioning|relay-failures|relay-processes|silent-connections|token-floods|webhooks-failures|whole-lists)\.test\.ts$/,
  /^(dev\/(install|sbom|seam|test)|simulator\/test\/process)\.test\.ts$/,
]
/** Lists the tests that --all also runs on Citus, if TEST_CITUS_URL names a cluster. */
const alsoOnCitus = [
  ...globSync(
    'services/orders/{on-citus,out-and-in,phones,core/{booking/bulk,relay/relay,tracking/tracking-keys},capabilities/{feed/{changes,webhooks},rate-gaps/rate-gaps,money/corrections,books/{journal,months,shops-day},failures/instructions}}.test.ts',
    {
      cwd: root,
    },
  ),
  'trust/promises.test.ts fuzz',
]
/** Matches tests known to be slow: before durations are recorded, a first run starts these before all others. */
const knownSlow =
  /check\.ts$|\/(compose|upgrade|bench|crash|apply-rules|admin|dev\/test|login-floods|provisioning|process|start|relay[a-z-]*|events|login|fair)\.test\.ts$|(chaos|killed|restored|cost)$/
const checks = 'dev/check.ts'
/** Runs after all others, which would slow down its comparison. */
const measuring = 'bench/regression.test.ts'
/** Runs once for each promise, whose name is its argument. */
const shortForms = 'trust/promises.test.ts'

/** Stores the seconds of each file in an earlier run: the longest files start first, new files before all others. */
const durationsPath = join(root, 'node_modules/.cache/courier-tests.json')
const readDurations = (): Record<string, number> => {
  try {
    return JSON.parse(readFileSync(durationsPath, 'utf8'))
  } catch {
    return {}
  }
}

const chooseFiles = (durations: Record<string, number>): string[] => {
  if (positionals.length > 0) return positionals
  const found = globSync(folders, { cwd: root, exclude: ['**/node_modules/**'] })
  const files = found
    .filter(file => values.all || !onlyInAll.some(form => form.test(file)))
    .flatMap(file => (file === shortForms ? promiseNames.map(name => `${file} ${name}`) : file))
    .concat(values.all && process.env.TEST_CITUS_URL ? alsoOnCitus.map(file => `${file} ${onCitus}`) : [])
    .toSorted()
  const estimate = (file: string): number =>
    durations[file] ?? (knownSlow.test(file) ? Number.POSITIVE_INFINITY : 1_000)
  return [...files.toReversed(), checks].toSorted(
    (a, b) => Number(estimate(b) > estimate(a)) - Number(estimate(a) > estimate(b)),
  )
}

interface Result {
  file: string
  seconds: number
  passed: number
  failed: number
  output: string
}

const running = new Set<number>()

/** Runs one test file to its end, in a group of processes that ends with it. */
const runFile = async (file: string, env: NodeJS.ProcessEnv): Promise<Result> => {
  const started = performance.now()
  const [path = '', ...words] = file.split(' ')
  const child = spawn(process.execPath, [resolve(root, path), ...words], {
    cwd: root,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const group = child.pid ?? 0
  running.add(group)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', text => (output += text))
  const [status] = await once(child, 'exit')
  signal(group, 'SIGKILL')
  running.delete(group)
  // Waits for the last output of the group.
  await Promise.race([once(child, 'close'), delay(1_000)])
  const summary = /^# \{ total: \d+(?:, pass: (\d+))?(?:, fail: (\d+))?/m.exec(output)
  const failed = Number(summary?.[2] ?? 0)
  return {
    file,
    seconds: (performance.now() - started) / 1000,
    passed: Number(summary?.[1] ?? (status === 0 ? 1 : 0)),
    failed: status === 0 ? failed : Math.max(failed, 1),
    output,
  }
}

const signal = (group: number, name: NodeJS.Signals): void => {
  try {
    process.kill(-group, name)
  } catch {}
}

const runAll = async (files: string[], env: NodeJS.ProcessEnv): Promise<Result[]> => {
  const results: Result[] = []
  const left = files.filter(file => file !== measuring)
  const work = async (): Promise<void> => {
    for (let file = left.shift(); file !== undefined && !isStopping; file = left.shift()) {
      const result = await runFile(file, env)
      if (isStopping) return
      results.push(result)
      const { seconds, failed, output } = result
      if (failed > 0) process.stdout.write(`\n${output}\n`)
      const name = file === checks ? 'types and lint' : file
      const skipped = /# SKIP (.*)/.exec(output)?.[1]
      const verdict = failed > 0 ? `  ${failed} FAILED` : skipped === undefined ? '' : `  skipped: ${skipped}`
      process.stdout.write(`[${results.length}/${files.length}] ${name} ${seconds.toFixed(1)} s${verdict}\n`)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  left.push(...files.filter(file => file === measuring))
  await work()
  return results
}

keepCompiled()
let isStopping = false
const starting = startTestPostgres()
const stopPostgres = async (): Promise<void> => (await starting.catch(() => undefined))?.stop()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, async () => {
    if (isStopping) return
    isStopping = true
    for (const group of running) signal(group, 'SIGTERM')
    for (let tries = 0; tries < 300 && running.size > 0; tries++) await delay(50)
    for (const group of running) signal(group, 'SIGKILL')
    await stopPostgres()
    process.exit(1)
  })

const durations = readDurations()
const results: Result[] = []
try {
  const postgres = await starting
  if (!isStopping) await makeTemplates(postgres.url)
  const env = {
    ...process.env,
    TEST_POSTGRES_URL: postgres.url,
    TAP_TIMEOUT: values.all ? '600' : '240',
    TMPDIR: postgres.folder,
  }
  results.push(...(await runAll(chooseFiles(durations), env)))
} catch (error) {
  // The Postgres that is being stopped raises this error; throwing it here would leave that Postgres behind.
  if (!isStopping) throw error
} finally {
  if (!isStopping) await stopPostgres()
}
if (!isStopping) {
  for (const { file, seconds } of results) durations[file] = Math.round(seconds * 10) / 10
  mkdirSync(dirname(durationsPath), { recursive: true })
  writeFileSync(durationsPath, JSON.stringify(durations))
  if (values.all) {
    const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, 10)
    process.stdout.write(
      `The slowest:\n${slowest.map(({ file, seconds }) => `  ${seconds.toFixed(1)} s ${file}\n`).join('')}`,
    )
  }
  const sum = (key: 'passed' | 'failed'): number => results.reduce((total, result) => total + result[key], 0)
  const [passed, failed] = [sum('passed'), sum('failed')]
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exit(failed > 0 || results.length === 0 ? 1 : 0)
}
