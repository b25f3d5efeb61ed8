// npm run mutants [-- FILE ...]: changes pure files, one place at a time, and says which changes no test notices.
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { findMutants } from './mutations.ts'
import { root } from './settings.ts'

/** The files, the tests of each, and why some of their mutants cannot be killed. */
type Table = Readonly<Record<string, { tests: readonly string[]; equivalent?: Readonly<Record<string, string>> }>>

/** A mutant whose run does not end is killed too. */
type Verdict = 'killed' | 'timed out' | 'survived' | 'equivalent'
/** To the worker: the tests, and the code of the file in this run. Its answer: whether they passed. */
export interface Run {
  readonly file: string
  readonly tests: readonly string[]
  readonly code: string | null
}

const usage = `npm run mutants [-- [--json] [--table FILE] [FILE ...]]

Changes each file of dev/mutants.json in one place at a time (an operator, a condition, a literal, a statement removed, ...) and
runs the file's tests, which need no database. A change that they do not notice is a survivor: it needs a test, or a line under
"equivalent" that says why no test can notice it. Exits with status 1 if there is a survivor without one, or a line without one.

  --json        one JSON document at the end instead of lines
  --table FILE  instead of dev/mutants.json
`

/** Runs of tests in a process of its own, which ends when it does not respond. */
class Worker {
  #child: ChildProcess | undefined

  /** Whether the tests passed; a run that takes longer than `milliseconds` did not. */
  async passes(run: Run, milliseconds: number): Promise<boolean> {
    this.#child ??= fork(join(root, 'dev/mutant-worker.ts'), {
      cwd: root,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    const child = this.#child
    return new Promise(resolve => {
      const finish = (passed: boolean, isAlive: boolean) => {
        clearTimeout(timer)
        child.removeAllListeners()
        if (!isAlive) this.stop()
        resolve(passed)
      }
      const timer = setTimeout(() => finish(false, false), milliseconds)
      // tap sends messages of its own.
      child.on('message', message => {
        if (typeof message === 'boolean') finish(message, true)
      })
      child.once('exit', () => finish(false, false))
      child.send(run)
    })
  }

  get isRunning(): boolean {
    return this.#child !== undefined
  }

  stop(): void {
    this.#child?.kill('SIGKILL')
    this.#child = undefined
  }
}

interface Result {
  readonly file: string
  readonly line: number
  readonly name: string
  readonly verdict: Verdict
}

const startMilliseconds = 60_000

/** How long a run may take that is not in a loop without an end; throws when the tests fail as they are. */
const measure = async (file: string, run: (code: null, limit: number) => Promise<boolean>): Promise<number> => {
  let milliseconds = 0
  // The second run loads no packages.
  for (let times = 0; times < 2; times++) {
    const started = performance.now()
    if (!(await run(null, startMilliseconds))) throw new Error(`${file}: its tests fail without a mutation.`)
    milliseconds = performance.now() - started
  }
  return 5_000 + 10 * milliseconds
}

const testFile = async (table: Table, file: string, report: (result: Result, place: string) => void) => {
  const { tests = [], equivalent = {} } = table[file] ?? {}
  const worker = new Worker()
  const run = (code: string | null, limit: number) => worker.passes({ file, tests, code }, limit)
  const mutants = findMutants(readFileSync(join(root, file), 'utf8'))
  const results: Result[] = []
  let limit = await measure(file, run)
  for (const [index, { line, name, code }] of mutants.entries()) {
    if (!worker.isRunning) limit = await measure(file, run)
    const passed = await run(code, limit)
    const failed = worker.isRunning ? 'killed' : 'timed out'
    // On a busy machine a run may take too long without a fault.
    const isExplained = Object.hasOwn(equivalent, name) && (passed || failed === 'timed out')
    const verdict = isExplained ? 'equivalent' : passed ? 'survived' : failed
    const result = { file, line, name, verdict } as const
    results.push(result)
    report(result, `[${index + 1}/${mutants.length}]`)
  }
  worker.stop()
  const known = new Set(results.filter(({ verdict }) => verdict === 'equivalent').map(({ name }) => name))
  return { results, needless: Object.keys(equivalent).filter(name => !known.has(name)) }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean' },
    json: { type: 'boolean' },
    table: { type: 'string', default: join(root, 'dev/mutants.json') },
  },
})
if (values.help) {
  process.stdout.write(usage)
  process.exit()
}
const table: Table = JSON.parse(readFileSync(values.table, 'utf8'))
const unknown = positionals.filter(file => !Object.hasOwn(table, file))
if (unknown.length > 0) {
  process.stderr.write(`Not in ${values.table}: ${unknown.join(', ')}\n`)
  process.exit(1)
}
const print = (line: string): void => void (values.json || process.stdout.write(`${line}\n`))
const summaries = []
for (const file of positionals.length > 0 ? positionals : Object.keys(table)) {
  const { results, needless } = await testFile(table, file, ({ line, name, verdict }, place) =>
    print(`${place} ${file}:${line} ${name} -> ${verdict}`),
  )
  for (const name of needless) print(`${file} has no such equivalent mutant: ${name}`)
  const count = (wanted: Verdict) => results.filter(({ verdict }) => verdict === wanted).length
  const [killed, equivalent, survived] = [count('killed') + count('timed out'), count('equivalent'), count('survived')]
  summaries.push({
    file,
    killed,
    equivalent,
    survived,
    needless,
    survivors: results.filter(({ verdict }) => verdict === 'survived'),
  })
}
for (const { file, killed, equivalent, survived } of summaries)
  print(`${file}: ${killed} of ${killed + survived} killed, ${equivalent} equivalent, ${survived} survived`)
if (values.json) process.stdout.write(`${JSON.stringify(summaries, null, 2)}\n`)
process.exit(summaries.some(({ survived, needless }) => survived + needless.length > 0) ? 1 : 0)
