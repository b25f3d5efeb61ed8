// npm run mutants [-- FILE ...]: changes each file of dev/mutants.json in one place at a time, and runs its tests,
// which need no database. A change that they do not notice needs a test, or a line under "equivalent" that says why
// none can.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { findMutants } from './mutations.ts'
import { keepCompiled, root } from './settings.ts'

/** Returns true if every test passes with that code of the file. A mutant may loop forever, so a test gets a minute. */
const passes = async (tests: readonly string[], file: string, code: string): Promise<boolean> => {
  const env = { ...process.env, TAP_BAIL: '1', MUTANT_URL: pathToFileURL(join(root, file)).href, MUTANT_CODE: code }
  for (const test of tests) {
    const args = ['--disable-warning=ExperimentalWarning', '--import', './dev/mutant-hook.mjs', test]
    const child = spawn(process.execPath, args, {
      cwd: root,
      stdio: 'ignore',
      env,
      timeout: 60_000,
      killSignal: 'SIGKILL',
    })
    if ((await once(child, 'exit'))[0] !== 0) return false
  }
  return true
}

/** Prints survivors, and explanations that no longer apply. Returns true if exactly the explained mutants survive. */
const tryFile = async (file: string): Promise<boolean> => {
  const { tests, equivalent = {} } = table[file] ?? { tests: [] }
  const survived: string[] = []
  const left = findMutants(readFileSync(join(root, file), 'utf8'))
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next; next = left.shift()) {
      const { line, name, code } = next
      if (!(await passes(tests, file, code))) continue
      survived.push(name)
      process.stdout.write(`${file}:${line} ${name} -> ${equivalent[name] ?? 'NO TEST NOTICES IT'}\n`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work))
  const killed = Object.keys(equivalent).filter(name => !survived.includes(name))
  for (const name of killed) process.stdout.write(`${file}: explained, and killed or gone: ${name}\n`)
  return killed.length === 0 && survived.every(name => name in equivalent)
}

keepCompiled()
const table: Record<string, { tests: string[]; equivalent?: Record<string, string> }> = JSON.parse(
  readFileSync(join(root, 'dev/mutants.json'), 'utf8'),
)
const chosen = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(table)
for (const file of chosen) if (!(await tryFile(file))) process.exitCode = 1
