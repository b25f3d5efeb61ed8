import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { createAccounts, type DemoSecrets } from '../accounts/accounts.ts'
import type { ChannelAccount } from '../accounts/read-accounts.ts'
import { type Behaviour, defaultBehaviour } from '../basics/behaviour.ts'
import { createClock } from '../basics/clock.ts'
import { createRing } from '../basics/ring.ts'
import { createMessageLog } from '../messages/message.ts'
import { createScripts, type Outage } from '../trouble/trouble.ts'
import { createCallback } from '../webhooks/callback.ts'
import { createRequestLog } from './request-log.ts'

interface WorldOptions {
  secrets: DemoSecrets
  accounts: readonly ChannelAccount[]
  behaviour: Partial<Behaviour>
  logger: FastifyBaseLogger
}

export interface InboundView {
  id: string
  phone_number_id: string
  from: string
  type: string
  text: string
  at: string
}

/** Creates the whole state of the simulator, which is only in memory and ends with the process. */
export const createWorld = ({ secrets, accounts: others, behaviour: changed, logger }: WorldOptions) => {
  const clock = createClock()
  const behaviour: Behaviour = { ...defaultBehaviour, ...changed }
  const accounts = createAccounts(secrets, others)
  return {
    clock,
    behaviour,
    accounts,
    messages: createMessageLog(),
    inbox: createRing<InboundView>(1000),
    /** Holds the time when each person last wrote to each number, in milliseconds. */
    lastInbound: new Map<string, number>(),
    /** Holds the conversations that another responder answers. */
    others: new Set<string>(),
    requests: createRequestLog(2000, logger),
    /** Holds when templates outside an open window last reached each person, in milliseconds. */
    reached: new Map<string, number>(),
    /** Holds the ids of the service messages that were free, by number and month. */
    serviceMessages: new Map<string, Set<string>>(),
    /** Holds the times of the last messages of each number, in milliseconds, to limit its throughput. */
    sentAt: new Map<string, { times: number[]; next: number }>(),
    scripts: createScripts(),
    callback: createCallback({ behaviour, clock, logger, findNumber: id => accounts.numbers.get(id) }),
    outage: null as Outage,
    /** Holds the connections that an outage leaves without a response. */
    hanging: new Set<Socket>(),
  }
}
export type World = ReturnType<typeof createWorld>

/** Closes the connections that an outage left without a response. */
export const cutHanging = ({ hanging }: World): void => {
  for (const socket of hanging) socket.destroy()
  hanging.clear()
}

export const forget = (world: World): void => {
  cutHanging(world)
  world.outage = null
  world.clock.reset()
  world.callback.reset()
}
