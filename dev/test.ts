// npm test [-- [--compose] [FILE ...]]: types, lint and every test, or only the files named.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { checkLint, checkTypes } from './checks.ts'
import { keepCompiled, root } from './settings.ts'
import { makeTemplates } from './test-database.ts'
import { startTestPostgres } from './test-postgres.ts'

interface Counts {
  pass: number
  fail: number
}

const files = process.argv.slice(2).filter(word => word !== '--compose')
const withCompose = process.argv.includes('--compose')

/** Runs tap, prints a line for each file and all of a failed one, and reads tap's own counts from its last lines. */
const runTap = async (environment: Record<string, string>): Promise<Counts> => {
  const child = spawn(join(root, 'node_modules/.bin/tap'), ['--reporter=tap', ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...environment },
  })
  const ended = once(child, 'exit')
  let counts: Counts | undefined
  let ofFile: string[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    const summary = /^# \{ total: \d+, pass: (\d+)(?:, fail: (\d+))?/.exec(line)
    if (summary) counts = { pass: Number(summary[1]), fail: Number(summary[2] ?? 0) }
    if (line.startsWith('not ok ')) process.stdout.write(`${ofFile.join('\n')}\n`)
    if (/^(not )?ok /.test(line)) process.stdout.write(`${line}\n`)
    ofFile = /^(not )?ok /.test(line) ? [] : [...ofFile, line]
  }
  const [status] = await ended
  if (!counts) return { pass: 0, fail: 1 }
  return status === 0 || counts.fail > 0 ? counts : { ...counts, fail: 1 }
}

keepCompiled()
if (files.length === 0) process.stdout.write('Types and lint ...\n')
const checks = files.length > 0 ? [] : [checkTypes(), checkLint()]
const postgres = await startTestPostgres()
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    await postgres.stop()
    process.exit(1)
  })
process.stdout.write('Tests ...\n')
let counts: Counts = { pass: 0, fail: 1 }
try {
  await makeTemplates(postgres.url)
  counts = await runTap({ TEST_POSTGRES_URL: postgres.url, ...(withCompose && { TEST_COMPOSE: '1' }) })
} finally {
  await postgres.stop()
}
const passed = counts.pass + checks.filter(Boolean).length
const failed = counts.fail + checks.filter(ok => !ok).length
process.stdout.write(`${passed} passed, ${failed} failed\n`)
process.exit(failed > 0 ? 1 : 0)
