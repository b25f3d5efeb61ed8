import { join } from 'node:path'
import t from 'tap'
import { CommitInDoubt } from '../postgres/database.ts'
import { readJson, runCommand } from './command-line.ts'

t.test('a command reports that the outcome of its commit is unknown', async t => {
  const written = t.capture(process.stderr, 'write')
  const failCommit = async () => {
    throw new CommitInDoubt({ cause: new Error('Connection terminated unexpectedly') })
  }
  await runCommand(failCommit, { program: 'orders', databaseSetting: 'ORDERS_DATABASE_URL' })
  t.match(written.args()[0]?.[0], /^orders: .*not known.* look before you repeat it\n$/)
  t.equal(process.exitCode, 1)
  process.exitCode = 0
})

t.test('a file that is not JSON is refused with line and column, without quoting it', async t => {
  const problems: [text: string, place: string][] = [
    ['{"a": secret}', 'line 1, column 7'],
    ['{\r\n  "a": 1,\r\n}', 'line 3, column 1'],
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3'],
    ['[1, 2,]', 'line 1, column 7'],
    ["{'a': 1}", 'line 1, column 2'],
    ['{"a": "x\ny"}', 'line 1, column 9'],
    ['{"a": "\\u00zz"}', 'line 1, column 12'],
    ['{"a": "\\q"}', 'line 1, column 9'],
    ['{"a": 01}', 'line 1, column 8'],
    ['{"a": trux}', 'line 1, column 10'],
    ['{}\n{}', 'line 2, column 1'],
    ['// a comment\n{}', 'line 1, column 1'],
    ['{"a":\n [1, 2', 'it ends too early, at line 2, column 7'],
    ['', 'it ends too early, at line 1, column 1'],
  ]
  for (const [text, place] of problems) {
    const file = join(t.testdir({ 'file.json': text }), 'file.json')
    await t.rejects(readJson(file), { message: `${file} is not valid JSON: ${place}` }, text)
  }
  const file = join(t.testdir({ 'file.json': '\uFEFF{"a": 1}' }), 'file.json')
  t.same(await readJson(file), { a: 1 }, 'a byte order mark is no part of it')
})
