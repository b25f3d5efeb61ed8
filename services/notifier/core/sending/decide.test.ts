import t, { type Test } from 'tap'
import { claimedMessage } from '../../test/fixture.ts'
import type { Refused } from '../messaging-api/responses.ts'
import { decide } from './decide.ts'

const refused = (code: number | null, more: Partial<Refused> = {}): Refused => ({
  kind: 'refused',
  status: 400,
  code,
  subcode: null,
  details: '',
  isTransient: false,
  retryAfterSeconds: null,
  servedVersion: null,
  ...more,
})

const decided = (result: Parameters<typeof decide>[1], attempts = 0) => {
  const { outcome, effects } = decide(claimedMessage({ attempts }), result, () => 0)
  const { status, isAttempt, code, dueSeconds: seconds, restSeconds: rest } = outcome
  return { status, isAttempt, code, seconds, rest, effects: effects.map(({ kind }) => kind) }
}

const table: [string, Refused, number, object][] = [
  ['131016 is retried on schedule', refused(131016), 0, { status: 'queued', isAttempt: true, seconds: 5, effects: [] }],
  ['131016 is retried once more', refused(131016), 3, { status: 'queued', isAttempt: true, seconds: 600 }],
  ['131016 fails after the last retry', refused(131016), 7, { status: 'failed', code: 131016, effects: [] }],
  ['131000 has five retries', refused(131000), 4, { status: 'queued' }],
  ['131000 has only five retries', refused(131000), 5, { status: 'failed' }],
  ['1 has only three retries', refused(1), 3, { status: 'failed' }],
  ['Retry-After delays the retry', refused(2, { retryAfterSeconds: 90 }), 0, { status: 'queued', seconds: 90 }],
  ['131026 fails for good', refused(131026), 0, { status: 'failed', code: 131026, effects: [] }],
  ['132001 holds its template too', refused(132001), 0, { status: 'failed', effects: ['hold_template'] }],
  [
    '190 pauses the number',
    refused(190),
    6,
    { status: 'queued', isAttempt: false, seconds: 0, effects: ['pause_channel'] },
  ],
  [
    '100/33 pauses the number',
    refused(100, { subcode: 33 }),
    0,
    { status: 'queued', isAttempt: false, effects: ['pause_channel'] },
  ],
  [
    '131048 rests the number for a day',
    refused(131048),
    0,
    { status: 'queued', isAttempt: false, effects: ['rest_channel'] },
  ],
  [
    '130429 slows the number',
    refused(130429),
    0,
    { status: 'queued', isAttempt: false, seconds: 1, effects: ['slow_channel'] },
  ],
  [
    '130429 that names a time also rests the number',
    refused(130429, { retryAfterSeconds: 30 }),
    0,
    { status: 'queued', isAttempt: false, seconds: 30, effects: ['slow_channel', 'rest_channel'] },
  ],
  ['80007 rests the number', refused(80007), 0, { isAttempt: false, seconds: 900, effects: ['rest_channel'] }],
  [
    '131056 rests the person',
    refused(131056),
    2,
    { status: 'queued', isAttempt: true, seconds: 16, rest: 16, effects: [] },
  ],
  ['132069 waits an hour', refused(132069), 0, { status: 'queued', seconds: 3_600, effects: [] }],
  ['HTTP 500 without a code is retried', refused(null, { status: 500 }), 0, { status: 'queued', isAttempt: true }],
  ['HTTP 502 without a code is unknown', refused(null, { status: 502 }), 0, { status: 'unknown', isAttempt: false }],
  [
    'HTTP 403 without a code counts as a denial',
    refused(null, { status: 403 }),
    0,
    { status: 'queued', effects: ['count_denial'] },
  ],
  ['HTTP 400 with an unknown code fails', refused(77_777), 0, { status: 'failed', code: 77_777 }],
]
for (const [what, result, attempts, expected] of table)
  t.test(what, async t => void t.match(decided(result, attempts), expected))

const because = (meaning: string, code: number | null = null) => ({ code, meaning, detail: meaning })

/** Returns the whole decision about a message; requires that its outcome is about that message. */
const whole = (t: Test, result: Parameters<typeof decide>[1], random = 0, attempts = 0) => {
  const message = claimedMessage({ attempts })
  const { outcome, effects } = decide(message, result, () => random)
  const { message: about, ...rest } = outcome
  t.equal(about, message)
  return { ...rest, effects }
}

t.test('an acceptance stores the API’s id, and as detail any API status but `accepted`', async t => {
  const accepted = { kind: 'accepted', providerMessageId: 'wamid.1', servedVersion: null } as const
  const expected = { status: 'accepted', providerMessageId: 'wamid.1', isAttempt: false, effects: [] }
  t.strictSame(whole(t, { ...accepted, messageStatus: 'accepted' }), expected)
  const detail = 'held_for_quality_assessment'
  t.strictSame(whole(t, { ...accepted, messageStatus: detail }), { ...expected, detail })
})

t.test(
  'a send that was not written is retried on schedule; one without a response is unknown for ten minutes',
  async t => {
    t.strictSame(whole(t, { kind: 'not_written', reason: 'refused' }, 0, 1), {
      ...{ ...because('refused'), status: 'queued', isAttempt: true, dueSeconds: 30, effects: [] },
    })
    t.strictSame(whole(t, { kind: 'not_written', reason: 'refused' }, 0, 7), {
      ...{ ...because('refused'), status: 'failed', isAttempt: true, effects: [] },
    })
    t.strictSame(whole(t, { kind: 'no_response', reason: 'cut' }, 0, 1), {
      ...{ status: 'unknown', isAttempt: false, dueSeconds: 600, detail: 'cut: it may have been sent', effects: [] },
    })
  },
)

const queued = (dueSeconds: number, isAttempt: boolean) => ({ status: 'queued', isAttempt, dueSeconds })
const throttled = 'The number sends faster than its throughput allows.'
const maintained = 'The account is in maintenance for about a minute.'
const denied = 'The API refused it, without a code (HTTP 403).'

const decisions: [string, Refused, number, object][] = [
  [
    'a message that fails, with the reason',
    refused(131026),
    0,
    {
      ...because('The person cannot be reached: not on the app, or on one too old.', 131026),
      ...{ status: 'failed', isAttempt: true, effects: [] },
    },
  ],
  [
    'a person who wants no marketing',
    refused(131050),
    0,
    {
      ...because('The person wants no marketing messages from us.', 131050),
      ...{ status: 'failed', isAttempt: true, effects: [{ kind: 'stop_marketing', code: 131050 }] },
    },
  ],
  [
    'a template that is held',
    refused(132001),
    0,
    {
      ...because('The template is missing in this language or not approved.', 132001),
      ...{ status: 'failed', isAttempt: true, effects: [{ kind: 'hold_template', code: 132001 }] },
    },
  ],
  [
    'a number that is paused',
    refused(190),
    0,
    {
      ...because('The access token is expired, invalid or revoked.', 190),
      ...queued(0, false),
      effects: [{ kind: 'pause_channel', code: 190, reason: 'The access token is expired, invalid or revoked.' }],
    },
  ],
  [
    'a number that rests for a day',
    refused(131048),
    0,
    {
      ...because('Too many people blocked or reported the number.', 131048),
      ...queued(0, false),
      effects: [{ kind: 'rest_channel', code: 131048, seconds: 86_400 }],
    },
  ],
  [
    'a number that is slowed, with the shortest delay',
    refused(130429),
    0,
    { ...because(throttled, 130429), ...queued(1, false), effects: [{ kind: 'slow_channel' }] },
  ],
  [
    'a number that is slowed, with a random delay',
    refused(130429),
    0.5,
    { ...because(throttled, 130429), ...queued(3, false), effects: [{ kind: 'slow_channel' }] },
  ],
  [
    'a number that is slowed for a time that the API names',
    refused(130429, { retryAfterSeconds: 30 }),
    0.5,
    {
      ...because(throttled, 130429),
      ...queued(30, false),
      effects: [{ kind: 'slow_channel' }, { kind: 'rest_channel', code: 130429, seconds: 30 }],
    },
  ],
  [
    'a number that rests for a minute',
    refused(131057),
    0,
    {
      ...because(maintained, 131057),
      ...queued(60, false),
      effects: [{ kind: 'rest_channel', code: 131057, seconds: 60 }],
    },
  ],
  [
    'a 429 that names no time',
    refused(null, { status: 429 }),
    0,
    { ...because('The API failed or was too busy, without a code (HTTP 429).'), ...queued(5, true), effects: [] },
  ],
  [
    'a recipient who rests',
    refused(131056),
    0,
    {
      ...because('Too many messages to this person in a short time.', 131056),
      ...{ ...queued(1, true), restSeconds: 1, effects: [] },
    },
  ],
  [
    'a denial that counts',
    refused(null, { status: 403 }),
    0,
    {
      ...because(denied),
      ...queued(5, true),
      effects: [{ kind: 'count_denial', limit: 3, code: null, reason: denied }],
    },
  ],
  [
    'a failure that is retried',
    refused(2),
    0.5,
    { ...because('The API is down or overloaded.', 2), ...queued(5.5, true), effects: [] },
  ],
]
for (const [what, result, random, expected] of decisions)
  t.test(`decides in full about ${what}`, async t => void t.strictSame(whole(t, result, random), expected))

t.test('a denial counts with its code', async t => {
  t.match(whole(t, refused(77_777, { status: 401 })).effects, [{ kind: 'count_denial', code: 77_777 }])
})

t.test('a pause for a missing permission names the scope', async t => {
  const { effects } = decide(claimedMessage(), refused(10), () => 0)
  t.match(effects, [{ kind: 'pause_channel', reason: /It needs the scope whatsapp_business_messaging\.$/ }])
})
