// npm run trust [-- NAME ...]: shows by figures that the promises of docs/promises.md are kept. --help explains.
import { parseArgs } from 'node:util'
import { print, printJson, printTable } from '@courier/shared/command-line.ts'
import { keepCompiled } from '../dev/settings.ts'
import { makeTemplates } from '../dev/test-database.ts'
import { startTestPostgres } from '../dev/test-postgres.ts'
import { describe, type Outcome, seed, type TrustOptions, type TrustPromise } from './promise.ts'
import { promises } from './promises.ts'

const help = `npm run trust -- [NAME ...] [OPTION ...]     Shows that promises are kept; without a name all of these:

${promises.map(({ name, promise }) => `  ${name.padEnd(17)}${promise}`).join('\n')}

  --short     in short, some seconds each
  --seed N    another seed than that of every run, to look further
  --json      prints JSON

Everything runs on an embedded Postgres of its own, gone afterwards. docs/promises.md has the limits. Status 1: one was not kept.`

const readArguments = () => {
  const text = { type: 'string' } as const
  const flag = { type: 'boolean', default: false } as const
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { short: flag, seed: text, json: flag, help: flag },
  })
  const unknown = positionals.filter(name => !promises.some(promise => promise.name === name))
  if (unknown.length > 0)
    throw new Error(`there is no promise ${unknown}; there are: ${promises.map(({ name }) => name).join(', ')}`)
  const chance = Number(values.seed ?? seed)
  if (!Number.isSafeInteger(chance)) throw new Error(`--seed must be a whole number, not ${values.seed}`)
  const chosen = promises.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
  return { chosen, ...values, seed: chance }
}

const tell = (progress: string): void => {
  process.stderr.write(`${progress}\n`)
}

type Form = Pick<TrustOptions, 'short' | 'seed'>

/** Never rejects: a promise that could not be tried was not kept. */
const keep = async ({ name, promise, run }: TrustPromise, chosen: Form): Promise<Outcome & { seconds: number }> => {
  tell(`${name}: ${promise} ...`)
  const started = performance.now()
  const report = (progress: string): void => tell(`  ${progress}`)
  const cleanUps = new AsyncDisposableStack()
  running = cleanUps
  const teardown = (clean: () => unknown) =>
    cleanUps.defer(async () => {
      await clean()
    })
  const outcome = await run({ ...chosen, report, teardown }).catch(failed)
  await cleanUps.disposeAsync().catch(error => outcome.broken.push(`cleaning up: ${error}`))
  for (const sentence of outcome.broken) tell(`  not kept: ${sentence}`)
  return { ...outcome, seconds: Math.round((performance.now() - started) / 1000) }
}

const failed = (error: unknown): Outcome => ({
  measured: {},
  broken: [error instanceof Error ? (error.stack ?? error.message) : String(error)],
})

let running: AsyncDisposableStack | undefined
const cleanUps = new AsyncDisposableStack()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, async () => {
    tell('stopping ...')
    await running?.disposeAsync().catch(error => tell(String(error)))
    await cleanUps.disposeAsync().catch(error => tell(String(error)))
    process.exit(130)
  })

const runAll = async (chosen: readonly TrustPromise[], form: Form) => {
  const postgres = await startTestPostgres()
  cleanUps.defer(postgres.stop)
  await makeTemplates(postgres.url)
  process.env.TEST_POSTGRES_URL = postgres.url
  const rows = []
  for (const promise of chosen) {
    const outcome = await keep(promise, form)
    const { name, limit } = promise
    const { seconds, broken } = outcome
    rows.push({ promise: name, limit, measured: describe(outcome), seconds, ok: broken.length === 0 ? 'yes' : 'NO' })
  }
  return rows
}

keepCompiled()
try {
  const { chosen, short, seed, json, help: isHelp } = readArguments()
  const rows = isHelp ? [] : await runAll(chosen, { short, seed })
  if (isHelp) print(help)
  else if (json) printJson(rows)
  else printTable(rows, 'There is nothing to show.')
  if (rows.some(({ ok }) => ok === 'NO')) process.exitCode = 1
} catch (error) {
  tell(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
} finally {
  await cleanUps.disposeAsync()
}
