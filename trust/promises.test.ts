// Runs the short form of the promise that an argument after the file names, or of all promises.
import t from 'tap'
import { Broken, describe, seed } from './promise.ts'
import { loadPromise, promiseNames } from './promises.ts'

for (const name of process.argv[2] ? [process.argv[2]] : promiseNames) {
  const { promise, run } = await loadPromise(name)
  t.test(promise, async t => {
    const broken = new Broken()
    const report = (progress: string) => t.comment(progress)
    t.comment(describe(await run({ short: true, seed, broken, report, teardown: clean => t.teardown(clean) })))
    t.strictSame(broken.sentences, [])
  })
}
