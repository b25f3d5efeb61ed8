// npm run trust [-- NAME ...]: tests whether the promises of docs/promises.md are kept. --help explains.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { print, printJson, printTable } from '@courier/shared/cli/command-line.ts'
import { makeTemplates } from '../dev/test-database.ts'
import { startTestPostgres } from '../dev/test-postgres.ts'
import { runTool, toTeardown } from '../dev/tool.ts'
import { record } from './page.ts'
import { Broken, describe, seed, type TrustOptions } from './promise.ts'
import { loadPromise, promiseNames } from './promises.ts'

const listPromises = async () =>
  Promise.all(promiseNames.map(async name => `  ${name.padEnd(19)}${(await loadPromise(name)).promise}`))

const help = async () => `npm run trust -- [NAME ...] [OPTION ...]     tests the named promises, or all of these:

${(await listPromises()).join('\n')}

  --short     tests the short forms, which take a few seconds each
  --seed N    sets the seed of the random inputs
  --minutes M sets how long each history of chaos lasts (default 3.3)
  --record    writes the results of a full run into docs/promises.md
  --json      prints JSON

Each run uses an embedded Postgres of its own and removes it afterwards. docs/promises.md has the limits.
Exits with status 1 if a promise is not kept.`

const readArguments = () => {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { short: flag, seed: text, minutes: text, json: flag, record: flag, help: flag },
  })
  if (values.short && values.record) throw new Error('--record is for full runs, not for --short')
  const unknown = positionals.filter(name => !promiseNames.includes(name))
  if (unknown.length > 0)
    throw new Error(`unknown promise: ${unknown.join(', ')}; choose from ${promiseNames.join(', ')}`)
  const chosenSeed = Number(values.seed ?? seed)
  if (!Number.isSafeInteger(chosenSeed)) throw new Error(`--seed must be a whole number, not ${values.seed}`)
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes)
  if (minutes !== undefined && !(minutes > 0)) throw new Error(`--minutes must be above 0, not ${values.minutes}`)
  const chosen = promiseNames.filter(name => positionals.length === 0 || positionals.includes(name))
  return { chosen, ...values, seed: chosenSeed, minutes }
}

const log = (progress: string): void => {
  process.stderr.write(`${progress}\n`)
}

type Form = Pick<TrustOptions, 'short' | 'seed' | 'minutes'>

/** Tests a promise. Never rejects: a promise that could not be tested counts as not kept. */
const testPromise = async (name: string, form: Form, cleanUps: AsyncDisposableStack) => {
  const { promise, limit, run } = await loadPromise(name)
  log(`${name}: ${promise} ...`)
  const started = performance.now()
  const report = (progress: string): void => log(`  ${progress}`)
  const broken = new Broken()
  const running = cleanUps.use(new AsyncDisposableStack())
  const fail = (error: Error) => broken.add(error.stack ?? String(error))
  const measured = await run({ ...form, broken, report, ...toTeardown(running) }).catch(fail)
  await running.disposeAsync().catch(fail)
  for (const sentence of broken.sentences) log(`  not kept: ${sentence}`)
  const seconds = Math.round((performance.now() - started) / 1000)
  return { promise: name, limit, measured: describe(measured ?? {}), seconds, ok: broken.count === 0 ? 'yes' : 'NO' }
}

type Row = Awaited<ReturnType<typeof testPromise>>

/**
 * Promises that measure no response times run side by side at the end. Soak runs by itself: its open connections follow
 * its load, which grows when others end beside it.
 */
const lanes: readonly (readonly string[])[] = [
  ['repeated-requests', 'presses', 'restored', 'models'],
  ['fuzz', 'access', 'row-security', 'roles', 'canaries'],
]

/** Tests a lane in a process of its own, since the models stop their process's clocks. */
const runLane = async (names: readonly string[], { seed }: Form, cleanUps: AsyncDisposableStack): Promise<Row[]> => {
  const words = [import.meta.filename, ...names, '--json', '--seed', String(seed)]
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  cleanUps.defer(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const printed = await text(child.stdout)
  const toRow = (promise: string): Row => {
    return { promise, limit: '', measured: 'its process ended early', seconds: 0, ok: 'NO' }
  }
  return printed ? JSON.parse(printed) : names.map(toRow)
}

const runInTurn = async (chosen: readonly string[], form: Form, cleanUps: AsyncDisposableStack): Promise<Row[]> => {
  const postgres = await startTestPostgres()
  cleanUps.defer(postgres.stop)
  await makeTemplates(postgres.url)
  process.env.TEST_POSTGRES_URL = postgres.url
  const rows: Row[] = []
  for (const name of chosen) rows.push(await testPromise(name, form, cleanUps))
  return rows
}

const runAll = async (chosen: readonly string[], form: Form, cleanUps: AsyncDisposableStack): Promise<Row[]> => {
  const apart = lanes.map(lane => lane.filter(name => chosen.includes(name))).filter(({ length }) => length > 0)
  if (form.short || apart.length < 2) return runInTurn(chosen, form, cleanUps)
  const first = chosen.filter(name => !apart.flat().includes(name))
  const rows = first.length > 0 ? await runInTurn(first, form, cleanUps) : []
  return [...rows, ...(await Promise.all(apart.map(names => runLane(names, form, cleanUps)))).flat()]
}

await runTool(async cleanUps => {
  const { chosen, short, seed, minutes, json, record: isRecorded, help: isHelp } = readArguments()
  if (isHelp) return print(await help())
  const rows = await runAll(chosen, { short, seed, minutes }, cleanUps)
  if (json) printJson(rows)
  else printTable(rows, 'There is nothing to show.')
  if (isRecorded) await record(rows.filter(({ ok }) => ok === 'yes'))
  if (rows.some(({ ok }) => ok === 'NO')) process.exitCode = 1
})
