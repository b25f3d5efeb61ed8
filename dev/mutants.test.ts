import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findMutants } from './mutations.ts'
import { root } from './settings.ts'

const listNames = (source: string) => findMutants(source).map(({ name }) => name.replace(/ in .*/, ''))

t.test('changes operators, conditions, literals, returns, methods and statements', async t => {
  t.strictSame(listNames('const a = (b: number): boolean => b < 2'), ['< -> <=', '< -> >=', '2 -> 3'])
  t.strictSame(listNames('if (!a) b()'), ['!a -> (a)', '!a -> true', '!a -> false', 'b() -> ;'])
  t.strictSame(listNames("f = () => { return 'a' }"), [
    "f = () => { return 'a' } -> ;",
    "return 'a' -> return",
    "'a' -> ''",
  ])
  t.strictSame(listNames('const a = b.some(c)'), ['some -> every'])
  t.strictSame(listNames("import a from 'b'"), [])
})

t.test('kills every mutant of a small file', async t => {
  const args = ['--disable-warning=ExperimentalWarning', 'dev/mutants.ts', 'services/orders/log/backoff.ts']
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  t.strictSame([status, stdout], [0, ''])
})

t.test('every explanation names a mutant of the current code', async t => {
  const table: Record<string, { tests: string[]; equivalent?: object }> = JSON.parse(
    readFileSync(join(root, 'dev/mutants.json'), 'utf8'),
  )
  for (const [file, { tests, equivalent = {} }] of Object.entries(table)) {
    t.ok(tests.every(test => existsSync(join(root, test))))
    const names = findMutants(readFileSync(join(root, file), 'utf8')).map(({ name }) => name)
    t.strictSame(
      Object.keys(equivalent).filter(name => !names.includes(name)),
      [],
      file,
    )
  }
})
