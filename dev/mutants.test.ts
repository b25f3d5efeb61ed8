import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t, { type Test } from 'tap'
import { findMutants } from './mutations.ts'
import { root } from './settings.ts'

const mutants = (...args: string[]) => {
  const program = ['--disable-warning=ExperimentalWarning', join(root, 'dev/mutants.ts'), ...args]
  const { status, stdout, stderr } = spawnSync(process.execPath, program, { cwd: root, encoding: 'utf8' })
  return { status, output: stdout + stderr }
}

const namesOf = (source: string) => findMutants(source).map(({ name }) => name.replace(/ in .*/, ''))

t.test(
  'what is changed: operators, conditions, literals, returns, methods, optional calls, statements, parts of lists',
  async t => {
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
  },
)

t.test('a small file has every mutant killed', async t => {
  const { status, output } = mutants('services/orders/delivery/backoff.ts')
  t.match(output, /^\[1\/\d+\] services\/orders\/delivery\/backoff\.ts:1 500 -> 501 in .* -> killed$/m)
  t.match(output, /: (\d+) of \1 killed, 0 equivalent, 0 survived\n$/)
  t.equal(status, 0)
})

/** A table with a file whose test does not look at one. */
const tableOf = (t: Test, equivalent: Record<string, string>) => {
  const folder = t.testdir({
    'a.ts': 'export const isMany = (count: number): boolean => count > 1',
    'a.test.ts':
      "import t from 'tap'\nimport { isMany } from './a.ts'\nt.strictSame([0, 2].map(isMany), [false, true])",
  })
  const [file, test] = ['a.ts', 'a.test.ts'].map(name => relative(root, join(folder, name))) as [string, string]
  const table = join(t.testdirName, 'table.json')
  return { table, content: JSON.stringify({ [file]: { tests: [test], equivalent } }) }
}

t.test('a survivor fails until it is explained, and so does an explanation of none', async t => {
  const name = '> -> >= in export const isMany = (count: number): boolean => count > 1'
  const run = (equivalent: Record<string, string>) => {
    const { table, content } = tableOf(t, equivalent)
    writeFileSync(table, content)
    const { status, output } = mutants('--json', '--table', table)
    return { status, results: JSON.parse(output) }
  }
  const survived = { killed: 3, equivalent: 0, survived: 1, survivors: [{ line: 1, name }] }
  t.match(run({}), { status: 1, results: [survived] })
  const explained = { killed: 3, equivalent: 1, survived: 0 }
  t.match(run({ [name]: 'one is not many' }), { status: 0, results: [{ ...explained, needless: [] }] })
  t.match(run({ [name]: 'one is not many', other: 'gone' }), {
    status: 1,
    results: [{ ...explained, needless: ['other'] }],
  })
})
