// Removes capabilities from a copy of the tree: the rest must compile, and the core's tests must pass without any. With
// the argument `every` (npm test -- 'dev/seam.test.ts every') runs all tests of the core, otherwise a short one of each
// folder; all run with an empty list of capabilities in any case. Then follows the example of
// CONTRIBUTING.md.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { linkPackages } from '../bench/versions.ts'
import { readCapabilities } from './layers.ts'
import { root } from './settings.ts'
import { makeFolder } from './test-database.ts'
import { isOnlyInAll } from './test-files.ts'
import { mark, type Outcome } from './test-processes.ts'

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

/**
 * Chooses what to remove at a time, so that each capability is missing from some check of every other one that does not
 * need it. Half as many checks then prove what one check for each capability would.
 */
const chooseRemovals = (service: string, names: readonly string[]): (readonly string[])[] => {
  const pairs = names.flatMap(gone =>
    names.filter(kept => !withDependents(service, gone).includes(kept)).map(kept => ({ gone, kept })),
  )
  const removals: (readonly string[])[] = []
  const isShown = (removed: readonly string[], { gone, kept }: { gone: string; kept: string }): boolean =>
    removed.includes(gone) && !removed.includes(kept)
  for (let left = pairs; left.length > 0; left = left.filter(pair => !isShown(removals.at(-1) ?? [], pair))) {
    const count = (removed: readonly string[]): number => left.filter(pair => isShown(removed, pair)).length
    const grow = (removed: readonly string[]): readonly string[] => {
      const larger = names.map(name => [...new Set([...removed, ...withDependents(service, name)])])
      const [best = []] = larger.toSorted((a, b) => count(b) - count(a))
      return count(best) > count(removed) ? grow(best) : removed
    }
    removals.push(grow([]))
  }
  return removals
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

/**
 * Checks the types of the service's product and of the tests that `tests` names, and returns what is wrong. After a
 * check that wrote the file `state`, the compiler checks only what has changed since. It writes declarations, since
 * only by those does it know that a file looks to others as before.
 */
const checkTypes = async (service: string, state: string, ...tests: string[]): Promise<string> => {
  const config = join(folder, 'tsconfig.seam.json')
  const include = [`${service}/*.ts`, `${service}/core`, `${service}/capabilities`, ...tests]
  const exclude = tests.length > 0 ? [`${service}/*.test.ts`] : ['**/*.test.ts']
  const places = { rootDir: folder, outDir: join(folder, 'declared') }
  const compilerOptions = {
    incremental: true,
    tsBuildInfoFile: state,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    ...places,
  }
  writeFileSync(config, JSON.stringify({ extends: './tsconfig.base.json', compilerOptions, include, exclude }))
  const compiler = join(folder, 'node_modules/typescript-7/bin/tsc')
  // Collects garbage at five times the live memory: the compiler then takes a sixth less CPU.
  const env = { ...process.env, GOGC: '400' }
  const words = ['--checkers', '1', '--pretty', 'false', '-p', config]
  const checked = await run(compiler, words, { cwd: folder, env }).catch(({ stdout }) => ({ stdout }))
  // These are only about names that a declaration could not write.
  return checked.stdout.replace(/^.*: error TS(4\d{3}|2883): .*\n/gm, '')
}

/** Runs the files in one process, as dev/test.ts does. */
const runInProcess = async (t: Test, files: readonly string[], chosen = 'none'): Promise<void> => {
  const child = spawn(process.execPath, ['dev/test-folder.ts'], {
    cwd: folder,
    env: { ...process.env, TEST_CAPABILITIES: chosen },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  child.stdin.end(files.map(file => `${file}\n`).join(''))
  const [output, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  const outcomes = output
    .split('\n')
    .flatMap(line => (line.startsWith(mark) ? JSON.parse(line.slice(mark.length)) : []))
  for (const file of files) {
    const { passed = 0, failed } = outcomes.find((outcome: Outcome) => outcome.file === file) ?? {}
    t.ok(passed > 0 && failed === 0, file)
  }
  t.equal(status, 0, status === 0 ? 'the process' : output.slice(-10_000))
}

for (const [service, list] of Object.entries(lists)) {
  const names = Object.keys(list)
  const [whole, own] = ['whole', 'own'].map(name => join(folder, `${service}/${name}.tsbuildinfo`)) as [string, string]
  t.test(`${service} compiles`, async t => t.equal(await checkTypes(service, whole), ''))
  const removals = chooseRemovals(service, names)
  for (const removed of removals)
    t.test(`${service} compiles without ${removed.join(', ')}`, t =>
      without(service, removed, async () => {
        cpSync(whole, own)
        t.equal(await checkTypes(service, own), '')
      }),
    )
  for (const name of names) {
    const checked = removals.filter(removed => removed.includes(name)).map(removed => new Set(removed))
    const isChecked = (other: string): boolean => checked.some(removed => !removed.has(other))
    t.strictSame(names.filter(other => !isChecked(other)).toSorted(), withDependents(service, name).toSorted(), name)
  }
  t.test(`the core of ${service} and its tests work without any capability`, t =>
    without(service, names, async () => {
      cpSync(whole, own)
      t.equal(await checkTypes(service, own, `${service}/test`), '')
      t.equal(Object.keys((await import(join(folder, service, 'capabilities.ts'))).capabilities).length, 0)
      const size = (file: string): number => Number(isOnlyInAll(file)) * 1e6 + statSync(join(folder, file)).size
      const files = globSync(`${service}/core/**/*.test.ts`, { cwd: folder }).toSorted((a, b) => size(a) - size(b))
      const one = [...Map.groupBy(files, dirname).values()].map(([short = '']) => short)
      await runInProcess(t, process.argv.includes('every') ? files : one)
    }),
  )
}

t.test('whoever follows the example of CONTRIBUTING.md has a capability that works', async t => {
  const page = readFileSync(join(folder, 'CONTRIBUTING.md'), 'utf8').replaceAll('NAME', 'waiting-times')
  const [, section = ''] = page.split('## Add a capability')
  const blocks = section.split(/^ {3}```/m)
  for (const [index, block] of blocks.entries()) {
    if (!block.startsWith('ts\n')) continue
    const file = blocks[index - 1]?.match(/`(services|dev)\/\S+\.ts`/g)?.at(-1) ?? ''
    const [path, code] = [join(folder, file.slice(1, -1)), block.slice(3).replace(/^ {3}/gm, '')]
    mkdirSync(dirname(path), { recursive: true })
    const known = existsSync(path) ? readFileSync(path, 'utf8') : undefined
    writeFileSync(path, known?.replace(/^ +(costs:|\['capabilities\/costs')/m, `${code}$&`) ?? code)
  }
  await run(process.execPath, ['dev/layers.ts'], { cwd: folder })
  const example = 'services/notifier/capabilities/waiting-times/waiting-times.test.ts'
  const state = join(folder, 'example.tsbuildinfo')
  t.equal(await checkTypes('services/notifier', state, 'services/notifier/test', example), '')
  await runInProcess(t, [example, 'dev/layers.test.ts'], 'all')
})
