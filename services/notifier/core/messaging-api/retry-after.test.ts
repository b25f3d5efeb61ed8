import t from 'tap'
import { readWaitSeconds } from './responses.ts'

const now = new Date('2026-11-21T10:00:00Z')
const usage = (...minutes: unknown[]): string =>
  JSON.stringify({ 1: minutes.map(estimated_time_to_regain_access => ({ estimated_time_to_regain_access })) })

t.test('reads Retry-After as seconds and as a date', async t => {
  const rows: [string, number | null][] = [
    ['5', 5],
    [' 120 ', 120],
    ['0', null],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['', null],
    ['Sat, 21 Nov 2026 10:00:30 GMT', 30],
    ['Sat, 21 Nov 2026 09:59:00 GMT', null],
    ['Xyz, nothing', null],
    ['999999999', 259_200],
    ['99999999999999999999', null],
  ]
  for (const [header, seconds] of rows) t.equal(readWaitSeconds({ 'retry-after': header }, now), seconds, header)
})

t.test('reads the longest time to regain access, in seconds', async t => {
  const rows: [string, number | null][] = [
    [usage(0), null],
    [usage(7), 420],
    [usage(0, 12, 3), 720],
    [usage('9', null, {}), null],
    ['{"1":[{"type":"whatsapp"}],"2":[{"estimated_time_to_regain_access":1}]}', 60],
    [usage(1e9), 259_200],
    [usage(-4), null],
    ['{}', null],
    ['[]', null],
    ['null', null],
    ['{"1":null}', null],
    ['{"1":"x"}', null],
    ['not json', null],
    ['', null],
  ]
  for (const [header, seconds] of rows)
    t.equal(readWaitSeconds({ 'x-business-use-case-usage': header }, now), seconds, header)
})

t.test('the longer of the two waits counts', async t => {
  t.equal(readWaitSeconds({}, now), null)
  t.equal(readWaitSeconds({ 'retry-after': '30', 'x-business-use-case-usage': usage(1) }, now), 60)
  t.equal(readWaitSeconds({ 'retry-after': '90', 'x-business-use-case-usage': [usage(1), 'x'] }, now), 90)
})

t.test('a date counts from the response’s own date, whatever our clock shows', t => {
  const headers = { date: 'Sat, 21 Nov 2026 10:00:00 GMT', 'retry-after': 'Sat, 21 Nov 2026 10:00:30 GMT' }
  for (const hours of [-30, 0, 30]) t.equal(readWaitSeconds(headers, new Date(now.getTime() + hours * 3_600_000)), 30)
  t.equal(readWaitSeconds({ ...headers, date: 'x' }, now), 30)
  t.end()
})
