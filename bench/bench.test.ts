import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const execute = promisify(execFile)
const bench = (...words: string[]) => execute(process.execPath, [join(import.meta.dirname, 'run.ts'), ...words])

t.test('the bulk bench measures the service and its floors', async t => {
  const short = ['--rounds', '1', '--seconds', '0.2', '--batch', '100', '--connections', '2']
  const { stdout } = await bench('bulk', ...short, '--json')
  const { bulk } = JSON.parse(stdout)
  t.same(
    bulk.map((row: { key: string }) => row.key),
    ['off', 'on'],
  )
  for (const row of bulk)
    for (const figure of ['ratio to statement', 'ratio to COPY', 'p50 ms', 'p99 ms', 'Node us', 'half p99/p50'])
      t.ok(Number.isFinite(row[figure]) && row[figure] > 0, `${figure} is ${row[figure]}`)
})

// bench/regression.test.ts measures this code beside that of another commit.
t.test('names a commit that does not exist', async t => {
  await t.rejects(bench('bulk', '--against', 'no-such-commit'), {
    code: 1,
    stderr: /invalid reference: no-such-commit/,
  })
})

t.test('refuses a wrong name or option, and lists the right ones', async t => {
  await t.rejects(bench('bulky'), { code: 1, stderr: /there is no bench bulky; there are: bulk, / })
  await t.rejects(bench('bulk', '--rounds', '0'), { code: 1, stderr: /--rounds must be a whole number from 1, not 0/ })
})
