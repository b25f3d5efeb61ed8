import { setTimeout as delay } from 'node:timers/promises'
import { chanceOf } from '../../test/chance.ts'
import type { Bed } from './bed.ts'
import { agent } from './clients/agent.ts'
import { clerk } from './clients/clerk.ts'
import type { Act, Chance, Known } from './clients/client.ts'
import { customer } from './clients/customer.ts'
import { merchant } from './clients/merchant.ts'
import type { Evidence, Press } from './evidence.ts'
import type { Happened } from './faults.ts'
import type { Recorder } from './record.ts'

/** All clients at once, each doing one thing after the other. What they choose follows from the seed and from what they get. */
export const startClients = (bed: Bed, recorder: Recorder, seed: number, log: Happened[]) => {
  const known: Known[] = []
  const presses: Press[] = []
  const texts: Evidence['texts'] = []
  const stops: Evidence['stops'] = []
  let isOver = false
  const keep = async (act: Act, chance: Chance): Promise<void> => {
    for (let n = 0; !isOver; n++) {
      await act(n)
      await delay(20 + chance() * 300)
    }
  }
  const start = (create: (chance: Chance) => Act, n: number): Promise<void> => {
    const chance = chanceOf(seed * 100 + n)
    return keep(create(chance), chance)
  }
  const working = Promise.all([
    ...[0, 1, 2, 3].map(n => start(chance => merchant({ bed, recorder, who: `merchant${n}`, chance, known }), n)),
    ...[4, 5].map(n => start(chance => clerk({ bed, recorder, who: `clerk${n}`, chance, known }), n)),
    ...[6, 7, 8].map(n => start(chance => agent({ bed, recorder, who: `agent${n}`, chance, known }), n)),
    start(chance => customer(bed, chance, { presses, texts, stops }, log), 9),
  ])
  // Awaited later; until then whoever runs the faults looks for a failure.
  working.catch(() => undefined)
  const finish = async (): Promise<void> => {
    isOver = true
    await working
  }
  const stop = (): void => {
    isOver = true
  }
  return { presses, texts, stops, working, finish, stop }
}
