import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { type Accounts, createAccounts, type DemoSecrets } from '../accounts/accounts.ts'
import type { ChannelAccount } from '../accounts/read-accounts.ts'
import { type Behaviour, defaultBehaviour } from '../basics/behaviour.ts'
import { type Clock, createClock } from '../basics/clock.ts'
import { createLimits, type Limits } from '../messages/limits.ts'
import { createMessageLog, type MessageLog } from '../messages/message-log.ts'
import { createScripts, type Outage, type Scripts } from '../trouble/scripts.ts'
import { type Callback, createCallback } from '../webhooks/callback.ts'
import { createInbox, type Inbox } from '../webhooks/inbox.ts'
import { createRequestLog, type RequestLog } from './request-log.ts'

/** The whole state of the simulator. It is in memory alone and ends with the process. */
export interface World {
  readonly clock: Clock
  readonly behaviour: Behaviour
  readonly accounts: Accounts
  readonly messages: MessageLog
  readonly inbox: Inbox
  /** The time when each person last wrote to each number, in milliseconds. */
  readonly lastInbound: Map<string, number>
  readonly requests: RequestLog
  readonly limits: Limits
  readonly scripts: Scripts
  readonly callback: Callback
  outage: Outage
  /** Connections that an outage leaves without a response. */
  readonly hanging: Set<Socket>
  readonly logger: FastifyBaseLogger
}

interface WorldOptions {
  secrets: DemoSecrets
  accounts: readonly ChannelAccount[]
  behaviour: Partial<Behaviour>
  logger: FastifyBaseLogger
}

export const createWorld = ({ secrets, accounts: others, behaviour: changed, logger }: WorldOptions): World => {
  const clock = createClock()
  const behaviour = { ...defaultBehaviour, ...changed }
  const accounts = createAccounts(secrets, others)
  const findNumber = (id: string) => accounts.numbers.get(id)
  return {
    clock,
    behaviour,
    accounts,
    messages: createMessageLog(),
    inbox: createInbox(1000),
    lastInbound: new Map(),
    requests: createRequestLog(2000, logger),
    limits: createLimits(),
    scripts: createScripts(),
    callback: createCallback({ behaviour, clock, logger, findNumber }),
    outage: null,
    hanging: new Set(),
    logger,
  }
}

/** Closes the connections that an outage left without a response. */
export const letGo = ({ hanging }: World): void => {
  for (const socket of hanging) socket.destroy()
  hanging.clear()
}

/** Stops everything in progress. */
export const forget = (world: World): void => {
  letGo(world)
  world.outage = null
  world.clock.reset()
  world.callback.reset()
}
