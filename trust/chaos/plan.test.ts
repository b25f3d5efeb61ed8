import t from 'tap'
import { planFaults } from './plan.ts'

t.test('a seed has one plan, with at most four faults at once and one per target', async t => {
  for (const seed of [1, 2, 3]) {
    const plan = planFaults(seed, 200_000, 14_000)
    t.strictSame(plan, planFaults(seed, 200_000, 14_000))
    const during = plan.map(({ at }) => plan.filter(other => other.at <= at && at <= other.at + other.lasts))
    t.ok(Math.max(...during.map(({ length }) => length)) === 4)
    t.ok(during.every(faults => new Set(faults.map(({ where }) => where)).size === faults.length))
    t.ok(plan.every(({ at, lasts }) => at + lasts <= 200_000))
  }
  t.notSame(planFaults(1, 200_000, 14_000), planFaults(2, 200_000, 14_000))
})
