// Removes capabilities from a copy of the tree: the rest must compile, and the core's tests must pass without any. With
// the argument `every` (npm test -- 'dev/seam.test.ts every') runs all tests of the core, otherwise one of each folder;
// all run with an empty list of capabilities in any case.
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { linkPackages } from '../bench/versions.ts'
import { readCapabilities } from './layers.ts'
import { root } from './settings.ts'
import { makeFolder } from './test-database.ts'

t.setTimeout(3_600_000)

const run = promisify(execFile)
const folder = makeFolder(t)
const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: root, encoding: 'utf8' })
for (const file of listed.split('\0').filter(file => file !== '' && existsSync(join(root, file))))
  cpSync(join(root, file), join(folder, file))
await linkPackages(folder)
const lists = await readCapabilities()

/** Matches the row of a capability in its list, also where it takes several lines. */
const matchRow = (name: string): RegExp => new RegExp(`^  '?${name}'?: .*\n(   .*\n|  [^\\w'].*\n)*`, 'm')

/** Adds to a capability those that need it. */
const withDependents = (service: string, name: string): string[] => {
  const list = Object.entries(lists[service] ?? {})
  const dependents = list.flatMap(([other, { needs }]) => (needs?.includes(name) ? withDependents(service, other) : []))
  return [...new Set([name, ...dependents])]
}

/** Removes the capabilities, row and folder, until `use` has ended. */
const without = async (service: string, names: readonly string[], use: () => Promise<unknown>): Promise<void> => {
  const path = (name: string) => join(folder, service, 'capabilities', name)
  const list = join(folder, service, 'capabilities.ts')
  const text = readFileSync(list, 'utf8')
  writeFileSync(
    list,
    names.reduce((rest, name) => rest.replace(matchRow(name), ''), text),
  )
  for (const name of names) renameSync(path(name), join(folder, `removed-${name}`))
  await use().finally(() => {
    writeFileSync(list, text)
    for (const name of names) renameSync(join(folder, `removed-${name}`), path(name))
  })
}

/** Checks the types of the service's product and of the tests that `tests` names. Returns what is wrong. */
const checkTypes = async (service: string, ...tests: string[]): Promise<string> => {
  const config = join(folder, 'tsconfig.seam.json')
  const include = [`${service}/*.ts`, `${service}/core`, `${service}/capabilities`, ...tests]
  const exclude = tests.length > 0 ? [`${service}/*.test.ts`] : ['**/*.test.ts']
  writeFileSync(config, JSON.stringify({ extends: './tsconfig.base.json', include, exclude }))
  const compiler = join(folder, 'node_modules/typescript-7/bin/tsc')
  const checked = await run(compiler, ['--checkers', '1', '--pretty', 'false', '-p', config], { cwd: folder }).catch(
    ({ stdout }) => ({ stdout }),
  )
  return checked.stdout
}

const runTests = async (t: Test, files: string[]): Promise<void> => {
  const left = [...files]
  const work = async () => {
    for (let file = left.shift(); file !== undefined; file = left.shift()) {
      const failure = await run(process.execPath, ['--enable-source-maps', file], {
        cwd: folder,
        maxBuffer: 2 ** 26,
        env: { ...process.env, TEST_CAPABILITIES: 'none' },
      }).then(
        () => undefined,
        ({ stdout, stderr }) => stdout + stderr,
      )
      if (failure === undefined) t.pass(file)
      else t.fail(file, { output: failure.slice(-10_000) })
    }
  }
  await Promise.all([work(), work()])
}

for (const [service, list] of Object.entries(lists)) {
  const names = Object.keys(list)
  for (const name of names) {
    const removed = withDependents(service, name)
    t.test(`${service} compiles without ${removed.join(', ')}`, t =>
      without(service, removed, async () => t.equal(await checkTypes(service), '')),
    )
  }
  t.test(`the core of ${service} and its tests work without any capability`, t =>
    without(service, names, async () => {
      t.equal(await checkTypes(service, `${service}/test`), '')
      t.equal(Object.keys((await import(join(folder, service, 'capabilities.ts'))).capabilities).length, 0)
      const files = globSync(`${service}/core/**/*.test.ts`, { cwd: folder }).toSorted()
      const one = [...Map.groupBy(files, dirname).values()].map(([first = '']) => first)
      await runTests(t, process.argv.includes('every') ? files : one)
    }),
  )
}
