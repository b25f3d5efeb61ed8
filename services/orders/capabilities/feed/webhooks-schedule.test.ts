import t from 'tap'
import { failuresAfter, isDown, nextAttempt, pauseAfter, readRetryAfter } from './schedule.ts'
import { type Outcome, settle } from './settle.ts'

const middle = () => 0.5
const hour = 3_600

t.test('an event is tried ten times over three days, with a tenth of jitter', async t => {
  const delays = Array.from({ length: 10 }, (_, n) => nextAttempt(n + 1, false, middle))
  t.strictSame(delays, [5, 300, 1_800, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour, undefined])
  const total = delays.reduce<number>((sum, delay) => sum + (delay ?? 0), 0)
  t.ok(total > 3 * 24 * hour && total < 3.5 * 24 * hour)
  t.equal(
    nextAttempt(2, false, () => 0),
    270,
  )
  t.equal(
    nextAttempt(2, false, () => 1),
    330,
  )
})

t.test('an endpoint is down after five failures in a row, and pauses for 5 seconds to 5 minutes', async t => {
  t.strictSame([0, 4, 5].map(isDown), [false, false, true])
  t.strictSame(
    [0, 4, 5, 6, 8, 11, 1_000].map(failures => pauseAfter(failures, middle)),
    [0, 0, 5, 10, 40, 300, 300],
  )
  t.strictSame(
    [failuresAfter(0, 3), failuresAfter(0, 16), failuresAfter(3, 16), failuresAfter(5, 16), failuresAfter(9, 0)],
    [3, 5, 5, 6, 9],
  )
})

t.test('reads Retry-After as seconds or as a date, up to a day', async t => {
  const now = Date.parse('2026-02-20T09:00:00Z')
  const cases: [unknown, number][] = [
    ['120', 120],
    ['0', 0],
    ['9999999999', 24 * hour],
    ['Fri, 20 Feb 2026 09:01:00 GMT', 60],
    ['Fri, 20 Feb 2026 08:00:00 GMT', 0],
    ['Fri, 20 Feb 2036 08:00:00 GMT', 24 * hour],
    ['-5', 0],
    ['soon', 0],
    // Texts of more than 40 characters and numbers of more than 10 digits are invalid.
    ['1'.repeat(100), 0],
    [`Fri, 20 Feb 2026 09:01:00 GMT${' '.repeat(11)}`, 60],
    [`Fri, 20 Feb 2026 09:01:00 GMT${' '.repeat(12)}`, 0],
    ['2026-02-20T09:02:00Z', 120],
    ['1 Jan 2000', 0],
    ['12345678901', 0],
    ['2.5', 0],
    [['1', '2'], 0],
    [undefined, 0],
  ]
  for (const [header, seconds] of cases) t.equal(readRetryAfter(header, now), seconds, String(header))
})

const outcome = (code: number | null, more: Partial<Outcome> = {}): Outcome => ({
  ...{ position: 1, waybill: 'A', attempts: 1, code, milliseconds: 1, error: null, responseBody: null, retryAfter: 0 },
  ...more,
})
const healthy = { failures: 0, isOverdue: false, isPaused: false }
const settled = (health: typeof healthy, ...outcomes: Outcome[]) => settle(health, outcomes, middle)

t.test('a 2xx status delivers an event; any other status, or no response, is a failure', async t => {
  for (const code of [200, 202, 204, 299])
    t.match(settled(healthy, outcome(code)), { verdicts: [{ state: 'delivered', delay: null }], failures: 0, pause: 0 })
  for (const code of [100, 300, 301, 302, 308, 400, 401, 404, 429, 500, 503, null])
    t.match(settled(healthy, outcome(code)), { verdicts: [{ state: 'pending', delay: 5 }], failures: 1, pause: 0 })
})

t.test('a success ends a run of failures, and an endpoint that was down counts as recovered', async t => {
  t.match(settled({ ...healthy, failures: 3 }, outcome(200)), { failures: 0, isRecovered: false })
  t.match(settled({ ...healthy, failures: 9, isOverdue: true }, outcome(500), outcome(200)), {
    ...{ failures: 0, isRecovered: true, pause: 0, disabledReason: null },
  })
  t.match(settled({ ...healthy, failures: 4 }, outcome(500)), { failures: 5, pause: 5, disabledReason: null })
})

t.test('Retry-After makes the event and the endpoint wait', async t => {
  t.match(settled(healthy, outcome(503, { retryAfter: 120 })), { verdicts: [{ delay: 120 }], pause: 120 })
  t.match(settled(healthy, outcome(503, { retryAfter: 2 })), { verdicts: [{ delay: 5 }], pause: 2 })
})

t.test('an event is given up after its last attempt, unless the endpoint is down', async t => {
  const last = outcome(500, { attempts: 10 })
  t.match(settled(healthy, last), { verdicts: [{ state: 'failed', delay: null }] })
  t.match(settled({ ...healthy, failures: 9 }, last), { verdicts: [{ state: 'pending', delay: 24 * hour }] })
})

t.test('each event has a verdict of its own', async t => {
  const outcomes = [
    outcome(500, { position: 1 }),
    outcome(200, { position: 2 }),
    outcome(500, { position: 3, attempts: 10 }),
  ]
  t.strictSame(settled(healthy, ...outcomes).verdicts, [
    { state: 'pending', delay: 5 },
    { state: 'delivered', delay: null },
    { state: 'failed', delay: null },
  ])
  t.equal(settled({ ...healthy, failures: 9 }, outcome(500)).isRecovered, false)
})

t.test('410 or five days of failure disable an endpoint', async t => {
  t.equal(settled({ ...healthy, isOverdue: true }, outcome(500)).disabledReason, 'failing')
  t.equal(settled(healthy, outcome(410), outcome(500)).disabledReason, 'gone')
  t.equal(settled(healthy, outcome(410)).disabledReason, 'gone')
  t.equal(settled({ ...healthy, failures: 9, isOverdue: true }, outcome(500)).disabledReason, 'failing')
  t.match(settled(healthy, outcome(410)).verdicts, [{ state: 'pending' }])
})

t.test('failures of requests that were in flight when the endpoint was paused do not count', t => {
  t.match(settled({ ...healthy, failures: 5, isPaused: true }, outcome(500), outcome(500)), { failures: 5 })
  t.match(settled({ ...healthy, failures: 5, isPaused: true }, outcome(200)), { failures: 0, isRecovered: true })
  t.end()
})
