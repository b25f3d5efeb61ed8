import t from 'tap'
import { messageStatuses } from '../database/tables.ts'
import { isForward, type Report, type ReportedStatus, reportedStatuses, settle, updateKey } from './settle.ts'

t.test('a report moves a message only forward', async t => {
  t.strictSame(reportedStatuses, ['sent', 'delivered', 'read', 'failed'])
  const moves: Record<(typeof messageStatuses)[number], ReportedStatus[]> = {
    queued: ['sent', 'delivered', 'read', 'failed'],
    held: ['sent', 'delivered', 'read', 'failed'],
    sending: ['sent', 'delivered', 'read', 'failed'],
    accepted: ['sent', 'delivered', 'read', 'failed'],
    sent: ['delivered', 'read', 'failed'],
    delivered: ['read'],
    read: [],
    failed: ['delivered', 'read'],
    unknown: ['sent', 'delivered', 'read', 'failed'],
    cancelled: ['sent', 'delivered', 'read', 'failed'],
    expired: ['sent', 'delivered', 'read', 'failed'],
  }
  for (const from of messageStatuses)
    t.strictSame(
      reportedStatuses.filter(to => isForward(from, to)),
      moves[from],
      from,
    )
})

const report = (status: ReportedStatus, second = 0, more: Partial<Report> = {}): Report => ({
  status,
  at: new Date(Date.UTC(2026, 1, 20, 9, 0, second)),
  providerMessageId: 'wamid.1',
  errorCode: null,
  errorMeaning: null,
  ...more,
})

t.test('reports in any order result in the most complete timeline', async t => {
  const steps = (...reports: Report[]) => settle('accepted', reports).map(({ status }) => status)
  t.strictSame(steps(report('failed'), report('read'), report('delivered'), report('sent'), report('read')), [
    'sent',
    'delivered',
    'read',
  ])
  t.strictSame(steps(report('failed'), report('sent')), ['sent', 'failed'])
  t.strictSame(steps(report('read', 1), report('delivered', 5)), ['delivered', 'read'])
  t.strictSame(steps(), [])
  t.strictSame(settle('read', [report('sent'), report('failed')]), [])
})

t.test('the earliest report of a status counts, as received', async t => {
  const early = report('sent', 1, { providerMessageId: 'early' })
  t.strictSame(settle('accepted', [report('sent', 2), early]), [early])
  t.strictSame(settle('accepted', [early, report('sent', 2)]), [early])
})

t.test('a report that the timeline already has changes nothing, even after a resend', async t => {
  const first = report('failed', 1)
  const key = updateKey(first.status, first.at)
  t.equal(key, `failed ${first.at.getTime()}`)
  t.strictSame(settle('queued', [first], new Set([key])), [])
  const second = report('failed', 2)
  t.strictSame(settle('queued', [first, second], new Set([key])), [second])
  t.strictSame(settle('queued', [report('sent', 1)], new Set([key])).length, 1)
})
