import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { createSteps } from './steps.ts'

const build = (times: { noteSeconds?: number; giveUpSeconds?: number } = {}) => {
  const lines: string[] = []
  const inStep = createSteps(line => lines.push(line), { pauseSeconds: 0.01, ...times })
  return { lines, inStep }
}
const step = { doing: 'starting Postgres', remedy: 'Look into its log.' }
const slow = () => Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })

t.test('repeats what a busy machine makes slow, and names the step that takes long', async t => {
  const { lines, inStep } = build({ noteSeconds: 0.05 })
  let tries = 0
  const result = await inStep(step, async () => {
    if (++tries < 4) throw slow()
    await delay(200)
    return 'started'
  })
  t.equal(result, 'started')
  t.match(lines[0], /^Still starting Postgres \(\d+ s\) \.\.\.$/)
})

t.test('gives up with the step, the time that it waited and what to do', async t => {
  const { inStep } = build({ giveUpSeconds: 0.1 })
  const failing = inStep(step, () => Promise.reject(slow()))
  await t.rejects(failing, { message: /^Gave up starting Postgres after \d+ s: no answer\nLook into its log\.$/ })
})

t.test('passes on at once what a repetition does not mend', async t => {
  const { inStep } = build()
  let tries = 0
  const failing = inStep(step, async () => {
    tries++
    throw new Error('Port 1 is taken.')
  })
  await t.rejects(failing, { message: 'Port 1 is taken.' })
  t.equal(tries, 1)
})
