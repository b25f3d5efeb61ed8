// node --import dev/test-hooks.ts FILE.test.ts: runs a test file whose uncaught errors fail the test that runs.
import { registerHooks } from 'node:module'

/** Stands for the class that follows every promise and timer of the process. */
const domain = 'export class Domain { constructor(onerror) { this.onerror = onerror }; destroy() {} }'

// With its own class, tap spends a fifth of a test process's CPU on learning which test an error belongs to. Our tests
// run one after the other, so it is the one that runs.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain'
      ? { url: `data:text/javascript,${domain}`, format: 'module', shortCircuit: true }
      : next(specifier, context),
})
const { default: t } = await import('tap')

// A program that the test forks is no test.
process.execArgv = process.execArgv.filter((text, at, all) => ![text, all[at - 1]].includes('--import'))

const running: { threw: (error: unknown) => unknown }[] = [t]
const follow = (test: Pick<typeof t, 'on'>): void => {
  test.on('subtestStart', child => {
    running.push(child)
    // All our subtests are of this class, which tap's types do not say.
    follow(child as unknown as typeof t)
  })
  test.on('subtestEnd', child => running.splice(running.indexOf(child), 1))
}
follow(t)

for (const name of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(name, error => {
    // A test that listens itself expects the error.
    if (process.listenerCount(name) === 1) running.at(-1)?.threw(error)
  })
