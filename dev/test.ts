// npm test [-- [--all] [--jobs N] [FILE ...]]: checks types, lint, patterns and OpenAPI documents and runs the tests,
// or runs only the named files. --all adds the short forms of trust/, a short bench, the tests that need a browser or
// other languages and, with a Docker engine, the containers.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { keepCompiled, root } from './settings.ts'
import { makeTemplateOnCitus, makeTemplates, onCitus } from './test-database.ts'
import { checks, chooseGroups, estimateGroup, type Group } from './test-files.ts'
import { startTestPostgres } from './test-postgres.ts'
import { type Result, runGroup, stopProcesses } from './test-processes.ts'
import { awaitPrograms } from './test-programs.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: { type: 'boolean', default: false }, jobs: { type: 'string' } },
})
/** Loading the code takes a process about as long on a busy machine. */
const secondsWorthAProcess = 5
/** Tests wait more than they compute, but the promises of trust/ compute more. */
const jobs = Number(values.jobs ?? Math.round((values.all ? 2.5 : 3) * Math.min(availableParallelism(), 4)))

/** Stores the seconds of each file in an earlier run: the longest files start first, new files before all others. */
const durationsPath = join(root, 'node_modules/.cache/courier-tests.json')
const readDurations = (): Record<string, number> => {
  try {
    return JSON.parse(readFileSync(durationsPath, 'utf8'))
  } catch {
    return {}
  }
}

const results: Result[] = []
let total = 0

const report = (result: Result): void => {
  if (isStopping) return
  results.push(result)
  const { file, seconds, failed, output } = result
  if (failed > 0) process.stdout.write(`\n${output}\n`)
  const name = file === checks ? 'types and lint' : file
  const skipped = /^# SKIP (.*)/m.exec(output)?.[1]
  const verdict = failed > 0 ? `  ${failed} FAILED` : skipped === undefined ? '' : `  skipped: ${skipped}`
  process.stdout.write(`[${results.length}/${total}] ${name} ${seconds.toFixed(1)} s${verdict}\n`)
}

/** Holds what groups wait for: the programs that the CI installs while other tests run, and the template of Citus. */
const preparing = { programs: awaitPrograms(), citus: Promise.resolve() }
const isReady = { programs: false, citus: false }
preparing.programs.catch(() => {}).finally(() => (isReady.programs = true))

const canStart = ({ words, needsPrograms }: Group): boolean =>
  (isReady.programs || !needsPrograms) && (isReady.citus || !words.includes(onCitus))

/** Makes the template of Citus. If that fails, so do its tests and, at last, the run. */
const prepareCitus = (): void => {
  preparing.citus = preparing.programs.then(makeTemplateOnCitus).finally(() => (isReady.citus = true))
  preparing.citus.catch(() => {})
}

/** Runs `jobs` processes side by side. Each takes the group with most work left for a process. */
const runGroups = async (groups: readonly Group[], env: NodeJS.ProcessEnv): Promise<void> => {
  const processes = new Map<Group, number>()
  const countProcesses = (group: Group): number => processes.get(group) ?? 0
  const share = (group: Group): number => estimateGroup(group, durations) / (countProcesses(group) + 1)
  const isWorthwhile = (group: Group): boolean =>
    group.files.length > 0 && (countProcesses(group) === 0 || share(group) > secondsWorthAProcess)
  const work = async (): Promise<void> => {
    while (!isStopping) {
      const left = groups.filter(isWorthwhile)
      const [group] = left.filter(canStart).toSorted((a, b) => share(b) - share(a))
      if (left.length === 0) return
      if (!group) {
        await (isReady.programs ? preparing.citus : preparing.programs).catch(() => {})
        continue
      }
      processes.set(group, countProcesses(group) + 1)
      await runGroup(group, env, report)
      processes.set(group, countProcesses(group) - 1)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
}

keepCompiled()
let isStopping = false
const starting = startTestPostgres()
const stopPostgres = async (): Promise<void> => (await starting.catch(() => undefined))?.stop()
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(name, async () => {
    if (isStopping) return
    isStopping = true
    await stopProcesses()
    await stopPostgres()
    process.exit(1)
  })

const durations = readDurations()
try {
  const postgres = await starting
  if (!isStopping) await makeTemplates(postgres.url)
  const env = {
    ...process.env,
    TEST_POSTGRES_URL: postgres.url,
    TAP_TIMEOUT: values.all ? '600' : '240',
    TMPDIR: postgres.folder,
  }
  const { groups, last } = chooseGroups({ all: values.all, named: positionals, durations })
  total = [...groups, ...last].reduce((sum, { files }) => sum + files.length, 0)
  if (groups.some(({ words }) => words.includes(onCitus))) prepareCitus()
  await runGroups(groups, env)
  await Promise.all([preparing.programs, preparing.citus])
  await runGroups(last, env)
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
    const slowest = results.toSorted((a, b) => b.seconds - a.seconds).slice(0, 30)
    process.stdout.write(
      `The slowest:\n${slowest.map(({ file, seconds }) => `  ${seconds.toFixed(1)} s ${file}\n`).join('')}`,
    )
  }
  for (const { file, failed } of results) if (failed > 0) process.stdout.write(`Failed: ${file}\n`)
  const sum = (key: 'passed' | 'failed'): number => results.reduce((total, result) => total + result[key], 0)
  const [passed, failed] = [sum('passed'), sum('failed')]
  process.stdout.write(`${passed} passed, ${failed} failed\n`)
  process.exit(failed > 0 || results.length === 0 ? 1 : 0)
}
