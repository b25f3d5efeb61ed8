import t from 'tap'
import { leaveDayByDay } from './test/portfolio-fixture.ts'

t.test('of 1,000 messages at a limit of 250 people a day, 250 leave each day, in order, and none fails', t =>
  leaveDayByDay(t, 250, 1_000),
)
