import { setTimeout as delay } from 'node:timers/promises'
import { createChance } from '../../test/chance.ts'
import type { Bed } from './bed.ts'
import { accountant } from './clients/accountant.ts'
import { agent } from './clients/agent.ts'
import { clerk } from './clients/clerk.ts'
import type { Act, Chance, Client, Common, Crew } from './clients/client.ts'
import { customer } from './clients/customer.ts'
import { merchant } from './clients/merchant.ts'
import { rider } from './clients/rider.ts'
import type { Happened } from './faults.ts'
import type { Recorder } from './record.ts'

const roles = { merchant, clerk, accountant, agent, customer, rider }

/**
 * Starts all clients. Each performs one act after another or, with `everyMs`, starts an act at each interval. Their
 * choices depend on the seed and on the responses.
 */
export const startClients = (bed: Bed, recorder: Recorder, crew: Crew, seed: number, log: Happened[]) => {
  const common: Common = { bed, recorder, crew, log, known: [], made: { presses: [], texts: [], stops: [] } }
  const { pauseMs = 170, everyMs } = crew
  let isOver = false
  const keepActing = async (act: Act, chance: Chance): Promise<void> => {
    const running: Promise<unknown>[] = []
    for (let n = 0; !isOver; n++) {
      if (everyMs === undefined) await act(n)
      else running.push(act(n))
      await delay(everyMs ?? pauseMs / 8 + (chance() * pauseMs * 7) / 4)
    }
    await Promise.all(running)
  }
  let count = 0
  const start = (role: keyof typeof roles): Promise<void>[] =>
    Array.from({ length: crew[`${role}s`] ?? 0 }, (_, n) => {
      const chance = createChance(seed * 100 + count++)
      const client: Client = { ...common, who: `${role}${n}`, chance }
      return keepActing(roles[role](client), chance)
    })
  const working = Promise.all((Object.keys(roles) as (keyof typeof roles)[]).flatMap(start))
  // Callers await the clients' work later: a failure before that must not end the process.
  working.catch(() => undefined)
  const stop = (): void => {
    isOver = true
  }
  const finish = async (): Promise<void> => {
    stop()
    await working
  }
  return { ...common.made, working, finish, stop }
}
