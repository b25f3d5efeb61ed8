import t from 'tap'
import type { Refused } from '../messaging-api/responses.ts'
import type { ClaimedMessage } from '../sending/claim.ts'
import { decide } from '../sending/decide.ts'
import { messageTo } from './fixture.ts'

const claimed = (more: Partial<ClaimedMessage> = {}): ClaimedMessage => ({
  tenant: 'demo',
  id: 'msg_1',
  phoneNumberId: '1',
  recipient: '94770000101',
  template: messageTo('').template,
  attempts: 0,
  fence: '1',
  plan: 'paid',
  holdsUntilOpen: false,
  conversation: undefined,
  templateHold: null,
  claimedAt: new Date(),
  isExempt: false,
  isMarketing: false,
  hours: null,
  supersededBy: null,
  traceparent: null,
  ...more,
})

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
  const { outcome, effects } = decide(claimed({ attempts }), result, () => 0)
  const { status, isAttempt, code, dueSeconds: seconds, restSeconds: rest } = outcome
  return { status, isAttempt, code, seconds, rest, effects: effects.map(({ kind }) => kind) }
}

const table: [string, Refused, number, object][] = [
  ['131016: by the schedule', refused(131016), 0, { status: 'queued', isAttempt: true, seconds: 5, effects: [] }],
  ['131016 once more', refused(131016), 3, { status: 'queued', isAttempt: true, seconds: 600 }],
  ['131016 after the last', refused(131016), 7, { status: 'failed', code: 131016, effects: [] }],
  ['131000 has five retries', refused(131000), 4, { status: 'queued' }],
  ['131000 has five retries only', refused(131000), 5, { status: 'failed' }],
  ['1 has three retries only', refused(1), 3, { status: 'failed' }],
  ['Retry-After', refused(2, { retryAfterSeconds: 90 }), 0, { status: 'queued', seconds: 90 }],
  ['131026: for good', refused(131026), 0, { status: 'failed', code: 131026, effects: [] }],
  ['132001: its template too', refused(132001), 0, { status: 'failed', effects: ['hold_template'] }],
  [
    '190: the number pauses',
    refused(190),
    6,
    { status: 'queued', isAttempt: false, seconds: 0, effects: ['pause_channel'] },
  ],
  ['100/33', refused(100, { subcode: 33 }), 0, { status: 'queued', isAttempt: false, effects: ['pause_channel'] }],
  ['131048: a day', refused(131048), 0, { status: 'queued', isAttempt: false, effects: ['rest_channel'] }],
  ['130429: slower', refused(130429), 0, { status: 'queued', isAttempt: false, seconds: 1, effects: ['slow_channel'] }],
  [
    '130429 that names a time',
    refused(130429, { retryAfterSeconds: 30 }),
    0,
    { status: 'queued', isAttempt: false, seconds: 30, effects: ['slow_channel', 'rest_channel'] },
  ],
  ['80007: the number rests', refused(80007), 0, { isAttempt: false, seconds: 900, effects: ['rest_channel'] }],
  ['131056: the person', refused(131056), 2, { status: 'queued', isAttempt: true, seconds: 16, rest: 16, effects: [] }],
  ['132069: an hour', refused(132069), 0, { status: 'queued', seconds: 3_600, effects: [] }],
  ['HTTP 500 without a code', refused(null, { status: 500 }), 0, { status: 'queued', isAttempt: true }],
  ['HTTP 502 without a code', refused(null, { status: 502 }), 0, { status: 'unknown', isAttempt: false }],
  ['HTTP 403 without a code', refused(null, { status: 403 }), 0, { status: 'queued', effects: ['count_denial'] }],
  ['HTTP 400 with an unknown code', refused(77_777), 0, { status: 'failed', code: 77_777 }],
]
for (const [what, result, attempts, expected] of table)
  t.test(what, async t => void t.match(decided(result, attempts), expected))

t.test('an acceptance brings the id of the API', async t => {
  const accepted = {
    kind: 'accepted',
    providerMessageId: 'wamid.1',
    messageStatus: 'accepted',
    servedVersion: null,
  } as const
  t.match(decide(claimed(), accepted, () => 0).outcome, {
    status: 'accepted',
    providerMessageId: 'wamid.1',
    isAttempt: false,
  })
})

t.test(
  'a send that was not written is retried by the schedule; one that was written is unknown for ten minutes',
  async t => {
    t.match(decided({ kind: 'not_written', reason: 'refused' }, 1), { status: 'queued', isAttempt: true, seconds: 30 })
    t.match(decided({ kind: 'no_response', reason: 'cut' }, 1), { status: 'unknown', isAttempt: false, seconds: 600 })
  },
)
