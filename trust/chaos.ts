import { wrongClock } from './chaos/bed.ts'
import { flaky } from './chaos/endpoints.ts'
import { planFaults } from './chaos/plan.ts'
import { hasDone, playProfile } from './chaos/profile.ts'
import { seed as sameSeed, type TrustPromise } from './promise.ts'

export const promise: TrustPromise = {
  promise:
    'With several failures at once every response is true, everything acknowledged is kept, and nothing happens twice or unasked',
  limit:
    'up to four faults at once for 10 min, 3 seeds, two processes of each service: 0 violations of this page and the README',
  run: t => {
    const { short, seed } = t
    const seconds = (t.minutes ?? (short ? 0.2 : 200 / 60)) * 60
    const seeds = short || seed !== sameSeed ? [seed] : [seed, seed + 1, seed + 2]
    const all = seconds * 1000
    return playProfile(
      t,
      {
        name: 'chaos',
        bed: {
          pairs: ['orders', 'notifier'],
          joinsParcels: true,
          ownPostgres: ['orders', 'notifier'],
          environment: wrongClock,
          pauseSeconds: 1,
          rate: 200,
          endpoints: { flaky },
        },
        crew: { merchants: 4, clerks: 2, accountants: 1, agents: 3, customers: 1 },
        plan: chance => [
          [{ where: 'endpoints', kind: 'unsteady', at: 0, lasts: all }],
          ...planFaults(Math.floor(chance() * 2 ** 31), all, short ? 3_000 : 8_000).map(fault => [fault]),
        ],
        seconds,
        isEnough: hasDone(short ? 10 : 20),
      },
      seeds,
    )
  },
}
