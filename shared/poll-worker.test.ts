import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { type PollOptions, pollWorker } from './poll-worker.ts'

const create = (t: Test, run: PollOptions['run'], more: Partial<PollOptions> = {}) => {
  const worker = pollWorker({ name: 'work', everySeconds: 60, logger: pino({ level: 'silent' }), run, ...more })
  t.teardown(() => worker.stop())
  return worker
}

const waitUntil = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await sleep(5)
}

/** Creates a run that counts its starts, and ends when the test releases it. */
const createHeldRun = () => {
  const state = { runs: 0, release: () => {} }
  const run = () => {
    state.runs++
    return new Promise<void>(resolve => {
      state.release = resolve
    })
  }
  return { state, run }
}

t.test('runs at the start, again at once while there is more, then waits until it is woken', async t => {
  let runs = 0
  const worker = create(t, async () => ++runs < 3)
  worker.start()
  await waitUntil(() => runs === 3)
  await sleep(50)
  t.equal(runs, 3)
  worker.wake()
  await waitUntil(() => runs === 4)
})

t.test('a stopped worker starts again', async t => {
  let runs = 0
  const worker = create(t, async () => ++runs < 0)
  worker.start()
  await waitUntil(() => runs === 1)
  await worker.stop()
  worker.wake()
  await sleep(20)
  t.equal(runs, 1)
  worker.start()
  await waitUntil(() => runs === 2)
})

t.test('a wake during a run causes one more run, never two at a time', async t => {
  const { state, run } = createHeldRun()
  const worker = create(t, run)
  worker.start()
  await waitUntil(() => state.runs === 1)
  worker.wake()
  worker.wake()
  await sleep(20)
  t.equal(state.runs, 1)
  state.release()
  await waitUntil(() => state.runs === 2)
  state.release()
  await sleep(50)
  t.equal(state.runs, 2)
})

t.test('stop aborts the signal, waits for the run in progress and starts no other', async t => {
  let isStarted = false
  let isEnded = false
  const worker = create(t, async signal => {
    isStarted = true
    await sleep(10_000, undefined, { signal }).catch(() => {})
    isEnded = true
    return true
  })
  worker.start()
  await waitUntil(() => isStarted)
  await worker.stop()
  t.ok(isEnded)
})

t.test('stop ends a wait, and a worker that was never started', async t => {
  const idle = create(t, async () => {}, { firstSeconds: 60 })
  await idle.stop()
  const waiting = create(t, async () => t.fail('the worker ran'), { firstSeconds: 60 })
  waiting.start()
  await waiting.stop()
})

t.test('each failure is logged and reported, and doubles the wait until the next run', async t => {
  const lines: string[] = []
  const starts: number[] = []
  const failed: string[] = []
  const worker = create(
    t,
    async () => {
      starts.push(performance.now())
      throw new Error('the database is unavailable')
    },
    {
      everySeconds: 0.02,
      logger: pino({}, { write: line => lines.push(line) }),
      onFailure: name => failed.push(name),
    },
  )
  worker.start()
  await waitUntil(() => starts.length === 4)
  await worker.stop()
  t.match(lines[0], /"work_failed"/)
  t.same(failed, ['work', 'work', 'work', 'work'])
  const [first = 0, second = 0, , fourth = 0] = starts
  t.ok(second - first >= 39 && fourth - first >= 279, 'after 40, 80 and 160 ms')
})
