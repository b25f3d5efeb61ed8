import t from 'tap'
import { type Classification, classify, type Failure } from '../messaging-api/classify.ts'

const failure = (code: number | null, more: Partial<Failure> = {}): Failure => ({
  ...{ status: 400, code, subcode: null, isTransient: false, retryAfterSeconds: null },
  ...more,
})
const passing = 'Nothing to do: it is tried again by itself.'
const request = 'Correct the message and send it again.'
const unlisted: Classification = {
  class: 'permanent',
  code: null,
  meaning: 'The API refused it, without a code (HTTP 400).',
  advice: "Look the code up in the API's own list of errors.",
  delaySeconds: null,
  holdsNumber: false,
  maxRetries: null,
  slows: null,
  pausesAfter: null,
  pauseSeconds: null,
  mayHaveBeenSent: false,
}
const listed = { ...unlisted, class: 'retry', advice: passing } as const

t.test('a code of the table is handled as its line says', async t => {
  const table: [Failure, Partial<Classification>][] = [
    [failure(2), { class: 'retry', code: 2, meaning: 'The API is down or overloaded.' }],
    [
      failure(100),
      {
        class: 'permanent',
        code: 100,
        meaning: 'A parameter is unknown, misspelled, too long or of the wrong form.',
        advice: request,
      },
    ],
    [
      failure(100, { subcode: 33 }),
      {
        ...{ class: 'pause_channel', code: 100, pausesAfter: 1 },
        meaning: 'The number does not exist, or the token may not use it.',
        advice: 'Check that the phone number id is right and its account is assigned to the system user.',
      },
    ],
    [
      failure(131048),
      {
        ...{ class: 'pause_channel', code: 131048, pausesAfter: 1, pauseSeconds: 86_400 },
        meaning: 'Too many people blocked or reported the number.',
        advice: 'Send less and only what is wanted.',
      },
    ],
    [
      failure(130429),
      { code: 130429, slows: 'number', meaning: 'The number sends faster than its throughput allows.' },
    ],
    [
      failure(131057),
      {
        ...{ class: 'delay', code: 131057, delaySeconds: 60, holdsNumber: true },
        meaning: 'The account is in maintenance for about a minute.',
      },
    ],
  ]
  for (const [given, expected] of table) t.strictSame(classify(given), { ...listed, ...expected })
})

t.test('retries that are used up make it permanent', async t => {
  const classes = [0, 4, 5, 6].map(retries => classify(failure(131000), retries).class)
  t.strictSame(classes, ['retry', 'retry', 'permanent', 'permanent'])
  t.equal(classify(failure(131000)).maxRetries, 5)
  t.equal(classify(failure(2), 1_000).class, 'retry')
})

t.test('delays grow with the retries, and the API may name its own', async t => {
  const delays = (code: number) => [0, 1, 2, 3, 4, 9].map(retries => classify(failure(code), retries).delaySeconds)
  t.equal(classify(failure(4)).delaySeconds, 900)
  t.strictSame(delays(4), [900, 1_800, 3_600, 3_600, 3_600, 3_600])
  t.strictSame(delays(131056), [1, 4, 16, 64, 256, 256])
  t.strictSame(delays(133008), [3_600, 3_600, 3_600, 3_600, 3_600, 3_600])
  t.equal(classify(failure(4, { retryAfterSeconds: 7 })).delaySeconds, 7)
  t.equal(classify(failure(2, { retryAfterSeconds: 7 })).delaySeconds, 7)
})

t.test('without a code of the table the HTTP status decides', async t => {
  const busy = (status: number) =>
    ({
      class: 'retry',
      meaning: `The API failed or was too busy, without a code (HTTP ${status}).`,
      advice: passing,
    }) as const
  const denied = (status: number) =>
    ({
      class: 'retry',
      pausesAfter: 3,
      advice: 'Run the check of the channel.',
      meaning: `The API refused it, without a code (HTTP ${status}).`,
    }) as const
  const table: [Partial<Failure>, Partial<Classification>][] = [
    [{}, {}],
    [{ status: 401 }, denied(401)],
    [{ status: 403 }, denied(403)],
    [{ status: 402 }, { meaning: 'The API refused it, without a code (HTTP 402).' }],
    [{ status: 499 }, { meaning: 'The API refused it, without a code (HTTP 499).' }],
    [
      { status: 429, retryAfterSeconds: 30 },
      { ...busy(429), holdsNumber: true, delaySeconds: 30 },
    ],
    [{ status: 500 }, busy(500)],
    [{ status: 401, isTransient: true }, busy(401)],
    [
      { status: null, code: 77_777 },
      { code: 77_777, meaning: 'The API refused it, with a code that is not known.' },
    ],
    [{ status: null }, { meaning: 'The API refused it, without a code.' }],
  ]
  for (const [given, expected] of table) t.strictSame(classify(failure(null, given)), { ...unlisted, ...expected })
})

t.test('a gateway that gave up waiting may hide an acceptance, a response of the API does not', async t => {
  const isInDoubt = (status: number | null, more: Partial<Failure> = {}) =>
    classify(failure(null, { status, ...more })).mayHaveBeenSent
  for (const status of [408, 502, 504, 520, 524, 599]) {
    t.equal(isInDoubt(status), true, `${status}`)
    t.equal(isInDoubt(status, { isTransient: true }), false)
    t.equal(isInDoubt(status, { code: 77_777 }), false)
  }
  for (const status of [null, 400, 409, 429, 500, 501, 503, 505, 519]) t.equal(isInDoubt(status), false, `${status}`)
})
