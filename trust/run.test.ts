import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'
import { root } from '../dev/settings.ts'
import { renderPage } from './page.ts'
import { Broken, describe, shownErrors } from './promise.ts'
import { loadPromise, promiseNames } from './promises.ts'

const run = (...words: string[]) =>
  spawnSync(process.execPath, [join(root, 'trust/run.ts'), ...words], { encoding: 'utf8' })

t.test('refuses an unknown promise or a wrong seed, and names the valid values', async t => {
  const unknown = run('fuz')
  t.equal(unknown.status, 1)
  t.match(unknown.stderr, /unknown promise: fuz; choose from killed, repeated-requests/)
  const wrong = run('--seed', 'x')
  t.equal(wrong.status, 1)
  t.match(wrong.stderr, /--seed must be a whole number, not x/)
})

t.test('the help names every promise, and the table of docs/promises.md has its words and values', async t => {
  const { status, stdout } = run('--help')
  t.equal(status, 0)
  for (const name of promiseNames) {
    const { promise } = await loadPromise(name)
    t.ok(stdout.includes(name) && stdout.includes(promise), name)
  }
  const { text, rendered } = await renderPage()
  t.equal(text, rendered)
})

t.test('counts every violation of a promise, and keeps the first ones', async t => {
  const broken = new Broken()
  broken.require(true, 'kept')
  for (let n = 0; n < 100; n++) broken.require(false, `error ${n}`)
  t.same([broken.count, broken.sentences.length, broken.sentences[0]], [100, shownErrors, 'error 0'])
  t.equal(describe({ inputs: 5, errors: 0 }), 'inputs 5, errors 0')
})
