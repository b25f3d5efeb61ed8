import fc from 'fast-check'
import t from 'tap'
import { deferUntil, isTimeZone, nextAllowed, rememberAllowed, waitsFor } from './hours.ts'

const [berlin, newYork, colombo] = ['Europe/Berlin', 'America/New_York', 'Asia/Colombo']

const table: [timeZone: string, from: string, to: string, now: string, next: string][] = [
  // Asia/Colombo has +05:30 all year.
  [colombo, '08:00', '20:00', '2026-11-22T02:29:59.999Z', '2026-11-22T02:30:00.000Z'],
  [colombo, '08:00', '20:00', '2026-11-22T02:30:00.000Z', '2026-11-22T02:30:00.000Z'],
  [colombo, '08:00', '20:00', '2026-11-22T14:29:59.999Z', '2026-11-22T14:29:59.999Z'],
  [colombo, '08:00', '20:00', '2026-11-22T14:30:00.000Z', '2026-11-23T02:30:00.000Z'],
  [colombo, '08:00', '20:00', '2026-11-22T18:31:00.000Z', '2026-11-23T02:30:00.000Z'],
  // The hours pass midnight.
  [colombo, '20:00', '02:00', '2026-11-22T14:29:00.000Z', '2026-11-22T14:30:00.000Z'],
  [colombo, '20:00', '02:00', '2026-11-22T20:29:59.000Z', '2026-11-22T20:29:59.000Z'],
  [colombo, '20:00', '02:00', '2026-11-22T20:30:00.000Z', '2026-11-23T14:30:00.000Z'],
  // The hours last the whole day, and until midnight.
  [colombo, '00:00', '24:00', '2026-11-22T18:30:00.000Z', '2026-11-22T18:30:00.000Z'],
  [colombo, '00:00', '24:00', '2026-11-22T18:29:59.999Z', '2026-11-22T18:29:59.999Z'],
  [colombo, '12:00', '24:00', '2026-11-22T18:29:59.999Z', '2026-11-22T18:29:59.999Z'],
  [colombo, '12:00', '24:00', '2026-11-22T18:30:00.000Z', '2026-11-23T06:30:00.000Z'],
  // The dates are a leap day and the end of a year.
  [colombo, '08:00', '20:00', '2028-02-28T15:00:00.000Z', '2028-02-29T02:30:00.000Z'],
  [colombo, '08:00', '20:00', '2028-02-29T15:00:00.000Z', '2028-03-01T02:30:00.000Z'],
  [berlin, '08:00', '20:00', '2026-12-31T23:30:00.000Z', '2027-01-01T07:00:00.000Z'],
  ['Pacific/Kiritimati', '08:00', '20:00', '2026-12-31T10:30:00.000Z', '2026-12-31T18:00:00.000Z'],
  // Clocks skip 02:00 to 03:00: a night is an hour shorter.
  [berlin, '08:00', '20:00', '2026-03-28T19:00:00.000Z', '2026-03-29T06:00:00.000Z'],
  [berlin, '08:00', '20:00', '2026-03-29T18:00:00.000Z', '2026-03-30T06:00:00.000Z'],
  [newYork, '08:00', '20:00', '2026-03-08T01:00:00.000Z', '2026-03-08T12:00:00.000Z'],
  // Clocks skip the beginning, the end, and both.
  [berlin, '02:30', '08:00', '2026-03-28T22:00:00.000Z', '2026-03-29T01:00:00.000Z'],
  [newYork, '02:30', '08:00', '2026-03-08T06:59:59.999Z', '2026-03-08T07:00:00.000Z'],
  [berlin, '01:00', '02:30', '2026-03-29T00:59:59.999Z', '2026-03-29T00:59:59.999Z'],
  [berlin, '01:00', '02:30', '2026-03-29T01:00:00.000Z', '2026-03-29T23:00:00.000Z'],
  [berlin, '02:10', '02:50', '2026-03-29T00:30:00.000Z', '2026-03-30T00:10:00.000Z'],
  [berlin, '02:10', '02:50', '2026-03-28T12:00:00.000Z', '2026-03-30T00:10:00.000Z'],
  // Clocks show 02:00 to 03:00 twice: a night is an hour longer.
  [berlin, '08:00', '20:00', '2026-10-24T18:00:00.000Z', '2026-10-25T07:00:00.000Z'],
  [newYork, '08:00', '20:00', '2026-11-01T00:30:00.000Z', '2026-11-01T13:00:00.000Z'],
  [berlin, '02:30', '08:00', '2026-10-24T22:00:00.000Z', '2026-10-25T00:30:00.000Z'],
  [berlin, '02:30', '08:00', '2026-10-25T01:00:00.000Z', '2026-10-25T01:30:00.000Z'],
  [berlin, '01:00', '02:30', '2026-10-25T00:30:00.000Z', '2026-10-25T01:00:00.000Z'],
  [newYork, '22:00', '01:30', '2026-11-01T05:30:00.000Z', '2026-11-01T06:00:00.000Z'],
  // Clocks change by half an hour, and skip a whole day.
  ['Australia/Lord_Howe', '02:15', '08:00', '2026-10-03T14:00:00.000Z', '2026-10-03T15:30:00.000Z'],
  ['Pacific/Apia', '08:00', '20:00', '2011-12-30T08:00:00.000Z', '2011-12-30T18:00:00.000Z'],
]
for (const [timeZone, from, to, now, next] of table)
  t.equal(
    nextAllowed(new Date(now), { between: [from, to], timeZone }).toISOString(),
    next,
    `${timeZone} ${from}-${to} ${now}`,
  )

t.test('the next time is within the hours, and no earlier quarter of an hour is', t => {
  const formats = new Map(
    [berlin, newYork, colombo, 'Australia/Lord_Howe'].map(timeZone => [
      timeZone,
      new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
    ]),
  )
  const clockOf = (time: Date, timeZone: string): string => formats.get(timeZone)?.format(time) ?? ''
  const isWithin = (time: Date, timeZone: string, [from, to]: [string, string]): boolean => {
    const clock = clockOf(time, timeZone)
    return from < to ? from <= clock && clock < to : from <= clock || clock < to
  }
  const aClock = fc
    .integer({ min: 0, max: 95 })
    .map(
      quarter => `${String(Math.floor(quarter / 4)).padStart(2, '0')}:${String((quarter % 4) * 15).padStart(2, '0')}`,
    )
  const aDay = fc.constantFrom('2026-03-28', '2026-03-29', '2026-10-25', '2026-03-08', '2026-11-01', '2026-12-31')
  const property = fc.property(
    fc.constantFrom(...formats.keys()),
    fc.tuple(aClock, aClock).filter(([from, to]) => from !== to),
    aDay,
    fc.integer({ min: 0, max: 1439 }),
    (timeZone, between, day, minute) => {
      const now = new Date(Date.parse(`${day}T00:00:00Z`) + minute * 60_000)
      const next = nextAllowed(now, { between, timeZone })
      if (!isWithin(next, timeZone, between)) return false
      for (let time = now.getTime(); time < next.getTime(); time += 900_000)
        if (isWithin(new Date(time), timeZone, between)) return false
      return true
    },
  )
  fc.assert(property, { numRuns: 200, seed: 1 })
  t.end()
})

t.test('accepts the names of time zones, but no offsets or abbreviations', t => {
  for (const name of [colombo, 'UTC', 'Asia/Kolkata', 'Etc/GMT-5', 'America/Argentina/Ushuaia'])
    t.equal(isTimeZone(name), true, name)
  for (const name of ['', 'Colombo', '+05:30', 'IST', 'ACT', 'Asia/Nowhere', 'Asia/Colombo\u0000'])
    t.equal(isTimeZone(name), false, name)
  t.end()
})

t.test('nothing is sent in the last half minute of the hours', t => {
  const noon = Date.parse('2026-11-21T12:00:00Z')
  const until = (from: string, to: string, milliseconds = 0) =>
    deferUntil(new Date(noon + milliseconds), { between: [from, to], timeZone: 'UTC' })?.toISOString()
  t.equal(until('08:00', '20:00'), undefined)
  t.equal(until('08:00', '12:01', 29_999), undefined)
  t.equal(until('08:00', '12:01', 30_000), '2026-11-22T08:00:00.000Z')
  t.equal(until('12:00', '12:01'), undefined)
  t.equal(until('12:00', '20:00', -1), '2026-11-21T12:00:00.000Z')
  t.equal(until('00:00', '24:00', 12 * 3_600_000 - 1), undefined)
  t.end()
})

t.test('the cache returns the computed time, for each time and hours', t => {
  const allowed = rememberAllowed()
  const days = { between: ['08:00', '20:00'], timeZone: colombo } as const
  const nights = { between: ['20:00', '08:00'], timeZone: colombo } as const
  const times = ['2026-11-22T02:00:00Z', '2026-11-22T15:00:00Z'].map(time => new Date(time))
  for (const now of times)
    for (const hours of [days, nights]) {
      const next = allowed(now, hours)
      t.strictSame(next, nextAllowed(now, hours))
      t.equal(allowed(new Date(now), { ...hours }), next)
    }
  t.end()
})

t.test('a timeline names the hours for which a message waits', t => {
  t.equal(
    waitsFor({ between: ['08:00', '24:00'], timeZone: colombo }),
    'waits: messages are sent from 08:00 to 24:00 (Asia/Colombo)',
  )
  t.end()
})
