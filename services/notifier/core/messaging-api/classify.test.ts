import t from 'tap'
import { type Classification, classify, type Failure, nameScope, wordRefusal } from './classify.ts'
import { errorClasses, errorTable, findError } from './error-table.ts'
import type { Refused } from './responses.ts'

const failed = (failure: Partial<Failure>): Failure => ({
  status: 400,
  code: null,
  subcode: null,
  isTransient: false,
  retryAfterSeconds: null,
  ...failure,
})

const retrying = 'Nothing to do: the notifier retries.'
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
const listed = { ...unlisted, class: 'retry', advice: retrying } as const

/**
 * Repeats docs/merchants/error-codes.md in letters: R retry, D delay, P permanent, T hold the template, C pause the
 * channel.
 */
const sheet: Record<string, number[]> = {
  R: [1, 2, 130429, 131000, 131016, 131059, 133004],
  D: [4, 17, 80007, 80008, 131056, 131057, 132069, 133008, 133009, 133015, 133016, 134101, 2494100],
  P: [
    100, 130403, 130472, 130497, 131008, 131009, 131021, 131026, 131030, 131047, 131049, 131050, 131051, 131052, 131053,
    131055, 131062, 132005, 132018, 133000, 133005, 133006, 134100, 134102, 135000, 137000,
  ],
  T: [131063, 132000, 132001, 132007, 132012, 132015, 132016, 132068],
  C: [
    0, 3, 10, 33, 104, 190, 200, 201, 250, 299, 368, 803, 131005, 131031, 131037, 131042, 131045, 131048, 131064,
    133010, 134011,
  ],
}
const classes = { R: 'retry', D: 'delay', P: 'permanent', T: 'hold_template', C: 'pause_channel' } as const

t.test('every code of docs/merchants/error-codes.md has its class, whatever the HTTP status', async t => {
  for (const [letter, codes] of Object.entries(sheet))
    for (const code of codes)
      for (const status of [null, 200, 400, 401, 403, 404, 429, 500, 503])
        t.equal(classify(failed({ code, status })).class, classes[letter as keyof typeof classes], `${code}, ${status}`)
})

t.test('the table has no other codes, and each only once', async t => {
  const known = new Set(Object.values(sheet).flat())
  t.same(
    errorTable.map(entry => entry.code).filter(code => !known.has(code)),
    [],
  )
  const keys = errorTable.map(({ code, subcode }) => `${code} ${subcode}`)
  t.same(keys, [...new Set(keys)])
  t.equal(errorTable.length, known.size - 3 + 1)
})

t.test('every entry gives its meaning and its remedy in one sentence each', async t => {
  for (const { code, meaning, advice, class: errorClass } of errorTable) {
    t.match(meaning, /^[A-Z][^.]{10,90}\.$/, `${code}`)
    t.match(advice, /^[A-Z].{10,110}\.$/, `${code}`)
    t.ok(errorClasses.includes(errorClass))
  }
})

t.test('handles a code as its line in the table says', async t => {
  const table: [Failure, Partial<Classification>][] = [
    [failed({ code: 2 }), { class: 'retry', code: 2, meaning: 'The API is down or overloaded.' }],
    [
      failed({ code: 100 }),
      {
        class: 'permanent',
        code: 100,
        meaning: 'A parameter is unknown, misspelled, too long or of the wrong form.',
        advice: request,
      },
    ],
    [
      failed({ code: 100, subcode: 33 }),
      {
        ...{ class: 'pause_channel', code: 100, pausesAfter: 1 },
        meaning: 'The number does not exist, or the token may not use it.',
        advice: 'Check that the phone number id is right and its account is assigned to the system user.',
      },
    ],
    [
      failed({ code: 131048 }),
      {
        ...{ class: 'pause_channel', code: 131048, pausesAfter: 1, pauseSeconds: 86_400 },
        meaning: 'Too many people blocked or reported the number.',
        advice: 'Send fewer messages, and only those that people want.',
      },
    ],
    [
      failed({ code: 130429 }),
      { code: 130429, slows: 'number', meaning: 'The number sends faster than its throughput allows.' },
    ],
    [
      failed({ code: 131057 }),
      {
        ...{ class: 'delay', code: 131057, delaySeconds: 60, holdsNumber: true },
        meaning: 'The account is in maintenance for about a minute.',
      },
    ],
  ]
  for (const [given, expected] of table) t.strictSame(classify(given), { ...listed, ...expected })
})

t.test('code 100 pauses the channel when its subcode says that the number is missing', async t => {
  t.equal(classify(failed({ code: 100, subcode: 33 })).class, 'pause_channel')
  t.equal(classify(failed({ code: 100, subcode: 34 })).class, 'permanent')
  t.equal(classify(failed({ code: 190, subcode: 463 })).class, 'pause_channel')
})

t.test('the permission codes are 200 to 299', async t => {
  t.equal(findError(199), undefined)
  t.equal(findError(300), undefined)
  t.equal(findError(200), findError(299))
})

t.test('delays match docs/contributors/messaging-api.md', async t => {
  const delays: [number, number[]][] = [
    [4, [900, 1800, 3600, 3600, 3600, 3600]],
    [17, [900, 1800, 3600, 3600]],
    [80007, [900, 1800, 3600, 3600]],
    [80008, [900, 1800, 3600, 3600]],
    [131056, [1, 4, 16, 64, 256, 256]],
    [131057, [60, 60]],
    [132069, [3600, 3600]],
    [133008, [3600, 3600]],
    [133009, [3600]],
    [133015, [300]],
    [133016, [259_200]],
    [134101, [600]],
    [2494100, [300]],
    [131016, []],
  ]
  for (const [code, seconds] of delays)
    for (const [retries, delaySeconds] of seconds.entries())
      t.equal(classify(failed({ code }), retries).delaySeconds, delaySeconds, `${code} after ${retries}`)
  for (const { code, class: errorClass } of errorTable)
    if (errorClass === 'delay') t.ok(classify(failed({ code })).delaySeconds, `${code} has a delay`)
})

t.test('the wait that the API requests overrides the delay of the table', async t => {
  t.equal(classify(failed({ code: 80007, retryAfterSeconds: 420 })).delaySeconds, 420)
  t.equal(classify(failed({ code: 131016, retryAfterSeconds: 30 })).delaySeconds, 30)
  t.equal(classify(failed({ code: 555, status: 503, retryAfterSeconds: 30 })).delaySeconds, 30)
  t.equal(classify(failed({ code: 131016 })).delaySeconds, null)
})

t.test('a code with limited retries becomes permanent once they are used up', async t => {
  const limits: [number, number | null][] = [
    [1, 3],
    [131000, 5],
    [133004, 3],
    [2, null],
    [131016, null],
  ]
  for (const [code, maxRetries] of limits) {
    t.equal(classify(failed({ code })).maxRetries, maxRetries)
    if (maxRetries !== null) {
      t.equal(classify(failed({ code }), maxRetries - 1).class, 'retry')
      t.equal(classify(failed({ code }), maxRetries).class, 'permanent')
    } else t.equal(classify(failed({ code }), 99).class, 'retry')
  }
})

t.test('classifies codes that slow a number or a recipient, hold a number or pause it for a day', async t => {
  const codesWith = (property: 'slows' | 'holdsNumber' | 'pauseSeconds', value: unknown): number[] =>
    errorTable
      .filter(({ code, subcode = null }) => classify(failed({ code, subcode }))[property] === value)
      .map(e => e.code)
  t.same(codesWith('slows', 'number'), [130429])
  t.same(codesWith('slows', 'recipient'), [131056])
  t.same(codesWith('holdsNumber', true), [4, 17, 80007, 80008, 131057, 2494100])
  t.same(codesWith('pauseSeconds', 86_400), [131048, 131064])
})

t.test('codes that pause a channel do so at once', async t => {
  for (const { code, class: errorClass, subcode = null } of errorTable) {
    const pausesAfter = errorClass === 'pause_channel' ? 1 : null
    t.equal(classify(failed({ code, subcode })).pausesAfter, pausesAfter, `${code}`)
  }
})

t.test('codes that are not in the table follow the HTTP status', async t => {
  const rows: [Partial<Failure>, string, number | null][] = [
    [{ status: 400 }, 'permanent', null],
    [{ status: 404 }, 'permanent', null],
    [{ status: 302 }, 'permanent', null],
    [{ status: null }, 'permanent', null],
    [{ status: 400, isTransient: true }, 'retry', null],
    [{ status: null, isTransient: true }, 'retry', null],
    [{ status: 429 }, 'retry', null],
    [{ status: 500 }, 'retry', null],
    [{ status: 503 }, 'retry', null],
    [{ status: 599 }, 'retry', null],
    [{ status: 401 }, 'retry', 3],
    [{ status: 403 }, 'retry', 3],
    [{ status: 401, isTransient: true }, 'retry', null],
  ]
  for (const [failure, errorClass, pausesAfter] of rows)
    for (const code of [null, 999_999, 132_017, -1]) {
      const got = classify(failed({ ...failure, code }))
      t.equal(got.class, errorClass, JSON.stringify({ ...failure, code }))
      t.equal(got.pausesAfter, pausesAfter)
      t.equal(got.code, code)
    }
})

t.test('words a failure without a known code by its HTTP status', async t => {
  const busy = (status: number) =>
    ({
      class: 'retry',
      meaning: `The API failed or was too busy, without a code (HTTP ${status}).`,
      advice: retrying,
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
      { code: 77_777, meaning: 'The API refused it, with an unknown code.' },
    ],
    [{ status: null }, { meaning: 'The API refused it, without a code.' }],
  ]
  for (const [given, expected] of table) t.strictSame(classify(failed(given)), { ...unlisted, ...expected })
})

t.test('a gateway timeout may hide an acceptance, but a response from the API cannot', async t => {
  const isMaybeSent = (status: number | null, more: Partial<Failure> = {}) =>
    classify(failed({ status, ...more })).mayHaveBeenSent
  for (const status of [408, 502, 504, 520, 524, 599]) {
    t.equal(isMaybeSent(status), true, `${status}`)
    t.equal(isMaybeSent(status, { isTransient: true }), false)
    t.equal(isMaybeSent(status, { code: 77_777 }), false)
    t.equal(isMaybeSent(status, { code: 131000 }), false)
  }
  for (const status of [null, 400, 409, 429, 500, 501, 503, 505, 519]) t.equal(isMaybeSent(status), false, `${status}`)
})

t.test('describes codes that are not in the table', async t => {
  t.equal(classify(failed({ status: 502 })).meaning, 'The API failed or was too busy, without a code (HTTP 502).')
  t.equal(classify(failed({ code: 77 })).meaning, 'The API refused it, with an unknown code (HTTP 400).')
})

t.test('without a retry count, a failure counts as the first', t => {
  t.equal(classify(failed({ code: 131056 })).delaySeconds, classify(failed({ code: 131056 }), 0).delaySeconds)
  t.not(classify(failed({ code: 131056 })).delaySeconds, classify(failed({ code: 131056 }), 1).delaySeconds)
  t.end()
})

t.test('names the scope that a request needs only where a permission is missing', t => {
  const scoped = (code: number | null) => nameScope({ code, meaning: 'Denied.' }, 'messaging') !== 'Denied.'
  t.strictSame([3, 10, 200, 250, 299, 131005].filter(scoped), [3, 10, 200, 250, 299, 131005])
  t.strictSame([null, 0, 1, 4, 9, 11, 199, 300, 131006].filter(scoped), [])
  t.equal(
    nameScope({ code: 10, meaning: 'Denied.' }, 'messaging'),
    'Denied. It needs the scope whatsapp_business_messaging.',
  )
  t.end()
})

t.test('words a refusal by its code, or else by its HTTP status, with its meaning and advice', t => {
  const refused = (more: Partial<Failure>) => wordRefusal({ kind: 'refused', ...failed(more), status: 403 } as Refused)
  t.equal(
    refused({ code: 10 })
      .replace(/:.* It needs/, ': It needs')
      .split('. ')[0],
    'code 10: It needs the scope whatsapp_business_management',
  )
  t.match(refused({}), /^HTTP 403: The API refused it, without a code \(HTTP 403\)\. Run the check of the channel\.$/)
  t.end()
})
