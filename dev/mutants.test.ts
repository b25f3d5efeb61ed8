import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { findMutants } from './mutations.ts'
import { root } from './settings.ts'

const runMutants = (...args: string[]) => {
  const program = ['--disable-warning=ExperimentalWarning', join(root, 'dev/mutants.ts'), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, program, { cwd: root, encoding: 'utf8' })
  return { status, stdout, stderr }
}

const namesOf = (source: string) => findMutants(source).map(({ name }) => name.replace(/ in .*/, ''))

t.test('changes operators, conditions, literals, returns, methods, optional calls, statements, items', async t => {
  t.strictSame(namesOf('const a = (b: number): boolean => b < 2'), [
    'b < 2 -> undefined',
    '< -> <=',
    '< -> >=',
    '2 -> 3',
  ])
  t.strictSame(namesOf('if (!a) b()'), ['!a -> (a)', '!a -> true', '!a -> false', 'b() -> ;'])
  t.strictSame(namesOf("f = () => { return 'a' }"), [
    "f = () => { return 'a' } -> ;",
    "return 'a' -> return",
    "'a' -> ''",
  ])
  t.strictSame(namesOf('const a = b?.some(c)'), ['?. -> .', 'some -> every'])
  t.strictSame(namesOf('const a = [b, ...c], { d = e } = f'), ['b, -> nothing', '...c -> nothing', '= e -> nothing'])
  t.strictSame(namesOf("import a from 'b'"), [])
})

t.test('kills every mutant of a small file', async t => {
  const { status, stdout, stderr } = runMutants('services/orders/log/backoff.ts')
  t.match(stdout, /^\[1\/\d+\] services\/orders\/log\/backoff\.ts:1 500 -> 501 in .* -> killed$/m)
  t.strictSame([status, stderr], [0, ''])
})

/** A table with a file whose test does not look at one. */
const writeTable = (t: Test, equivalent: Record<string, string>): string => {
  const folder = t.testdir({
    'a.ts': 'export const isMany = (count: number): boolean => count > 1',
    'a.test.ts':
      "import t from 'tap'\nimport { isMany } from './a.ts'\nt.strictSame([0, 2].map(isMany), [false, true])",
  })
  const [file, test] = ['a.ts', 'a.test.ts'].map(name => relative(root, join(folder, name))) as [string, string]
  const table = join(t.testdirName, 'table.json')
  writeFileSync(table, JSON.stringify({ [file]: { tests: [test], equivalent } }))
  return table
}

t.test('a survivor fails until it is explained, and so does an explanation of none', async t => {
  const name = '> -> >= in export const isMany = (count: number): boolean => count > 1'
  const run = (equivalent: Record<string, string>) => runMutants('--table', writeTable(t, equivalent))
  t.match(run({}), { status: 1, stderr: `no test notices ${name}` })
  t.match(run({ [name]: 'one is not many' }), { status: 0, stderr: /^$/ })
  t.match(run({ [name]: 'one is not many', other: 'gone' }), { status: 1, stderr: 'no such equivalent mutant: other' })
})
