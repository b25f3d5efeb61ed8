import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'

const execute = promisify(execFile)
const bench = (...words: string[]) => execute(process.execPath, [join(import.meta.dirname, 'run.ts'), ...words])

t.test('measures each service and its baselines', async t => {
  const short = ['--rounds', '1', '--seconds', '0.2', '--batch', '100', '--connections', '2']
  const { stdout } = await bench('bulk', 'notifier', ...short, '--json')
  const rows: { what: string }[] = JSON.parse(stdout)
  const expected = [
    ...[/^bulk.*key off/, /^bulk.*key on/, /^queue.*after 0 ms/, /^queue.*after 50 ms/],
    ...[/^webhooks of 100 updates/],
  ]
  t.match(
    rows.map(({ what }) => what),
    expected,
  )
  for (const row of rows as Record<string, unknown>[])
    for (const [name, value] of Object.entries(row).filter(([name]) => / to |\/s$|^Node us$/.test(name)))
      t.ok(Number(value) > 0, `${row.what}: ${name} is ${value}`)
})

// bench/regression.test.ts measures this code beside that of another commit.
t.test('names a commit that does not exist', async t => {
  await t.rejects(bench('bulk', '--against', 'no-such-commit'), {
    code: 1,
    stderr: /invalid reference: no-such-commit/,
  })
})

t.test('refuses a wrong name or option, and lists the right ones', async t => {
  await t.rejects(bench('bulky'), { code: 1, stderr: /unknown benchmark: bulky; choose from bulk, / })
  await t.rejects(bench('bulk', '--rounds', '0'), { code: 1, stderr: /--rounds must be a whole number from 1, not 0/ })
})
