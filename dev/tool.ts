import { keepCompiled } from './settings.ts'

/** Runs a command. Stops everything that the command started when it ends, fails or gets a signal. */
export const runTool = async (run: (cleanUps: AsyncDisposableStack) => Promise<void>): Promise<void> => {
  const cleanUps = new AsyncDisposableStack()
  let cleaning: Promise<void> | undefined
  const fail = (error: unknown): void => {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
    process.exitCode = 1
  }
  const cleanUp = (): Promise<void> => {
    cleaning ??= cleanUps.disposeAsync().catch(fail)
    return cleaning
  }
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, async () => {
      process.stderr.write('stopping ...\n')
      await cleanUp()
      process.exit(130)
    })
  keepCompiled()
  await run(cleanUps).catch(error => cleaning ?? fail(error))
  await cleanUp()
}

/** Adapts `cleanUps` to the `teardown` that the test helpers expect. */
export const toTeardown = (cleanUps: AsyncDisposableStack) => ({
  teardown: (clean: () => unknown) =>
    cleanUps.defer(async () => {
      await clean()
    }),
})
