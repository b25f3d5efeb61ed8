import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { root } from './settings.ts'

const quiet = '--disable-warning=ExperimentalWarning'

/** Returns the problems found in a file with this code. */
const findProblems = (t: Test, code: string): string[] => {
  const folder = t.testdir({ product: { 'a.ts': code } })
  const program = `import { findSlowPatterns } from ${JSON.stringify(join(root, 'dev/patterns.ts'))}
console.log(JSON.stringify(await findSlowPatterns(${JSON.stringify(folder)}, ['product'])))`
  const { stdout, stderr } = spawnSync(process.execPath, [quiet, '--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  t.equal(stderr, '')
  return JSON.parse(stdout)
}

const slow: Record<string, [code: string, problem: RegExp]> = {
  'a literal': [
    'const a: number = 1\nexport const b = /^a*a*$/.test(String(a))',
    /^product\/a\.ts:2 .* is slow, .*repeat\(/,
  ],
  'a literal in a function': ['export const a = (text: string) => text.match(/b+$/g)', /^product\/a\.ts:1 .* is slow/],
  'a computed pattern': ["const end = '+$'\nexport const a = RegExp('b'.concat(end))", /^product\/a\.ts:2 .* is slow/],
  'a slow schema pattern': [
    "export const a = { maxLength: 9, pattern: '(a+)+$' }",
    /^product\/a\.ts:1 .* is slow, exponential/,
  ],
  'a schema without maxLength': ["export const a = { pattern: '^a$' }", /^product\/a\.ts:1 .* no maxLength$/],
  'a pattern built at run time': [
    'export const a = (b: string) => RegExp(b)',
    /^product\/a\.ts:1 .* cannot be checked$/,
  ],
}

for (const [name, [code, problem]] of Object.entries(slow))
  t.test(`finds ${name}, with its position`, async t => {
    t.match(findProblems(t, code), [problem])
  })

t.test('accepts linear patterns anywhere', async t => {
  const code = `// a+a+$ in words
const text = '/a+a+$/' as const
export const schema = { maxLength: 9, pattern: '^' + text.length }
export const a = (b: string): boolean => /^a{1,600}$/.test(b) || 4 / b.length / 2 > 1`
  t.strictSame(findProblems(t, code), [])
})
