// npm run mutants [-- FILE ...]: changes pure files, one place at a time, and reports the changes that tests miss.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { findMutants } from './mutations.ts'
import { keepCompiled, root } from './settings.ts'

/** The files, the tests of each, and the reasons why some of their mutants survive. */
type Table = Readonly<Record<string, { tests: readonly string[]; equivalent?: Readonly<Record<string, string>> }>>

const usage = `npm run mutants [-- [--table FILE] [FILE ...]]

Changes each file of dev/mutants.json in one place at a time (an operator, a condition, a literal, a statement removed, ...) and
runs the file's tests, which need no database. A change that they do not notice is a survivor: it needs a test, or a line under
"equivalent" that says why no test can notice it. Exits with status 1 if there is a survivor without a line, or a line without a
survivor. --table FILE replaces dev/mutants.json.
`

/** The limit of one run, for a mutant that loops without an end. */
const runMilliseconds = 60_000

/** Returns true if every test passes with that code of the file. */
const passes = async (tests: readonly string[], file: string, code: string | undefined): Promise<boolean> => {
  const url = pathToFileURL(join(root, file)).href
  const mutant = code === undefined ? {} : { MUTANT_URL: url, MUTANT_CODE: code }
  for (const test of tests) {
    const args = ['--disable-warning=ExperimentalWarning', '--import', './dev/mutant-hook.mjs', test]
    const env = { ...process.env, TAP_BAIL: '1', ...mutant }
    const child = spawn(process.execPath, args, { cwd: root, stdio: 'ignore', env, timeout: runMilliseconds })
    const [status] = await once(child, 'exit')
    if (status !== 0) return false
  }
  return true
}

/** Returns what is wrong with the file's tests, a sentence each. */
const testFile = async (table: Table, file: string): Promise<string[]> => {
  const { tests = [], equivalent = {} } = table[file] ?? {}
  if (!(await passes(tests, file, undefined))) return [`${file}: its tests fail without a mutation.`]
  const mutants = findMutants(readFileSync(join(root, file), 'utf8'))
  const survived: string[] = []
  const left = [...mutants.entries()]
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const [index, { line, name, code }] = next
      const isSurvivor = await passes(tests, file, code)
      if (isSurvivor) survived.push(name)
      const verdict = isSurvivor ? (Object.hasOwn(equivalent, name) ? 'equivalent' : 'survived') : 'killed'
      process.stdout.write(`[${index + 1}/${mutants.length}] ${file}:${line} ${name} -> ${verdict}\n`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  return [
    ...survived.filter(name => !Object.hasOwn(equivalent, name)).map(name => `${file}: no test notices ${name}`),
    ...Object.keys(equivalent)
      .filter(name => !survived.includes(name))
      .map(name => `${file}: no such equivalent mutant: ${name}`),
  ]
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: 'boolean' }, table: { type: 'string', default: join(root, 'dev/mutants.json') } },
})
if (values.help) {
  process.stdout.write(usage)
  process.exit()
}
keepCompiled()
const table: Table = JSON.parse(readFileSync(values.table, 'utf8'))
const unknown = positionals.filter(file => !Object.hasOwn(table, file))
const problems = unknown.map(file => `Not in ${values.table}: ${file}`)
if (unknown.length === 0)
  for (const file of positionals.length > 0 ? positionals : Object.keys(table))
    problems.push(...(await testFile(table, file)))
for (const problem of problems) process.stderr.write(`${problem}\n`)
process.exit(problems.length > 0 ? 1 : 0)
