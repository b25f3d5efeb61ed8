import { planKills } from './chaos/plan.ts'
import { playProfile } from './chaos/profile.ts'
import type { TrustPromise } from './promise.ts'

export const promise: TrustPromise = {
  promise:
    "A customer's press of a button acts at most once, no acknowledged press is lost through kills, and a forged, stale or foreign one does nothing",
  limit:
    'kill -9 of either service x60 during 2,000 presses, some repeated, with duplicated, late, forged, stale and foreign webhooks: each action once, each outcome one message, nothing else',
  run: t =>
    playProfile(t, {
      name: 'presses',
      bed: { joinsParcels: true, simulator: { SIMULATOR_DELAY_FACTOR: t.short ? '0.1' : '1' } },
      crew: { merchants: 2, clerks: 2, customers: t.short ? 3 : 8, people: t.short ? 60 : 500 },
      plan: chance => [planKills(chance, t.short ? 2 : 60, t.short ? 1_500 : 1_000, ['orders-1', 'notifier-1'])],
      sendSeconds: 3,
      isEnough: ({ presses }) => presses.length >= (t.short ? 12 : 2_000),
      judge: ({ evidence: { presses, acted, texts, identities = [], messages } }, { broken, short }) => {
        const done = acted.filter(({ outcome }) => outcome === 'done' || outcome === 'asked').length
        broken.require(done > 0, 'no press did anything')
        const known = identities.filter(({ knownAs }) => knownAs !== null).length
        broken.require(known > 0, 'no user id was paired with a number')
        const joined = messages.filter(({ joinedTo }) => joinedTo).length
        broken.require(short || joined > 0, 'no parcels shared a message')
        return {
          presses: presses.length,
          actions: acted.length,
          'addresses written': texts.length,
          'user ids': identities.length,
          'with a number': known,
          'parcels in another message': joined,
        }
      },
    }),
}
