// Runs the short forms of the promises that arguments after the file name, or of all promises.
import t from 'tap'
import { Broken, describe, seed } from './promise.ts'
import { loadPromise, promiseNames } from './promises.ts'

const named = promiseNames.filter(name => process.argv.includes(name))

for (const name of named.length > 0 ? named : promiseNames) {
  const { promise, run } = await loadPromise(name)
  t.test(promise, async t => {
    const broken = new Broken()
    const report = (progress: string) => t.comment(progress)
    t.comment(describe(await run({ short: true, seed, broken, report, teardown: clean => t.teardown(clean) })))
    t.strictSame(broken.sentences, [])
  })
}
