// node dev/test-folder.ts [WORD ...]: runs the test files that it reads from standard input, one path a line, each as a
// subtest. After each file it prints a line of `mark` and the file's `Outcome`. dev/test.ts starts it for a folder.
import { flushCompileCache, registerHooks } from 'node:module'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'
import { root } from './settings.ts'
import { mark, type Outcome } from './test-processes.ts'

// Imported as usual, tap would be loaded before the hooks that replace a part of it.
await import('./test-hooks.ts')
const { default: t } = await import('tap')

declare global {
  var testOfFile: Test
}

/** Gives each test file its own subtest as `t`: the process would otherwise have one for all files. */
const giveOwnTest = (): void => {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === 'tap' && context.parentURL?.endsWith('.test.ts')
        ? {
            url: `data:text/javascript,export default globalThis.testOfFile // ${context.parentURL}`,
            format: 'module',
            shortCircuit: true,
          }
        : next(specifier, context),
  })
}

const runFile = async (file: string, seconds: number): Promise<Outcome> => {
  const [before, started] = [{ ...t.counts }, performance.now()]
  await t.test(file, { timeout: seconds * 1000 }, async test => {
    globalThis.testOfFile = test
    await import(resolve(root, file))
  })
  const taken = (performance.now() - started) / 1000
  const [passed, failed] = [t.counts.pass - before.pass, t.counts.fail - before.fail]
  // A file that took too long may have left something running; one that passed has set itself a longer limit.
  return { file, seconds: taken, passed, failed, isLast: taken >= seconds && failed > 0 }
}

const cleanUps: (() => unknown)[] = []
globalThis.endOfProcess = { teardown: cleanUp => cleanUps.unshift(cleanUp) }

t.setTimeout(0)
giveOwnTest()
for await (const file of createInterface({ input: process.stdin })) {
  const outcome = await runFile(file, Number(process.env.TAP_TIMEOUT))
  process.stdout.write(`\n${mark}${JSON.stringify(outcome)}\n`)
  flushCompileCache()
  if (outcome.isLast) process.exit(1)
}
for (const cleanUp of cleanUps) await cleanUp()
