import type { Call } from './chaos/history.ts'
import { planTroubles } from './chaos/plan.ts'
import { playProfile } from './chaos/profile.ts'
import type { TrustPromise } from './promise.ts'

const countLost = (history: readonly Call[]): number =>
  history.filter(({ what, status }) => what === 'book' && status === 0).length

export const promise: TrustPromise = {
  promise: 'A request repeated with its key after a lost response takes effect once',
  limit: '1,000 lost or half responses, half requests and resets: 0 duplicates, one response for each key',
  run: t => {
    const least = t.short ? 60 : 1_000
    return playProfile(t, {
      name: 'repeated-requests',
      bed: { isWithoutMessages: true },
      crew: { merchants: 8, onlyBooks: true, pauseMs: 30, repeats: 1 },
      plan: (chance, history) => [planTroubles(chance, 'clients-orders', 120, () => countLost(history) >= least)],
      judge: ({ evidence: { history } }) => ({ 'responses lost': countLost(history) }),
    })
  },
}
