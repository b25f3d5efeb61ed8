import { roundTo } from '../bench/statistics.ts'
import type { Call } from './chaos/history.ts'
import type { Fault } from './chaos/plan.ts'
import { hasDone, milliseconds, playProfile } from './chaos/profile.ts'
import type { TrustPromise } from './promise.ts'

const maxStopSeconds = 10

/**
 * Selects what a busy machine makes of a request, restart or not: it waited in vain for a connection of Postgres or a
 * statement, two seconds at least.
 */
const isBusy = (call: Call): boolean => call.code === 'unavailable' && milliseconds(call) >= 2_000

export const promise: TrustPromise = {
  promise: 'SIGTERM under load breaks no request, and a rolling restart of two processes fails none',
  limit: 'x40: 0 failed requests, exit within 10 s',
  run: t =>
    playProfile(t, {
      name: 'restarts',
      bed: { pairs: ['orders'], isWithoutMessages: true },
      crew: t.short ? { merchants: 4, clerks: 1, pauseMs: 100 } : { merchants: 8, clerks: 2, pauseMs: 30 },
      // The link from the clients is a load balancer: it passes a refused connection to the other process.
      plan: () => [
        Array.from({ length: t.short ? 3 : 40 }, (_, n): Fault => {
          return { where: n % 2 ? 'orders-2' : 'orders-1', kind: 'restart', at: 500, lasts: 0, isAwaited: true }
        }),
      ],
      isEnough: hasDone(t.short ? 50 : 5_000),
      judge: ({ evidence: { history, exits } }, { broken, short }) => {
        const failed = history.filter(call => call.status === 0 || (call.status >= 500 && !(short && isBusy(call))))
        // Beside other tests a client may be so late that its idle connection was closed.
        const allowed = short ? history.length / 100 : 0
        for (const { what, name, status, code } of failed.length > allowed ? failed : [])
          broken.add(`${what} ${name} failed while the processes were restarted: ${status} ${code}`)
        const longest = Math.max(...exits.map(({ stoppedSeconds }) => stoppedSeconds))
        broken.require(longest < maxStopSeconds, `SIGTERM took ${longest} s`)
        return { failed: failed.length, 'longest stop s': roundTo(longest, 2) }
      },
    }),
}
