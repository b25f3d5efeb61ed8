import type { FastifyBaseLogger } from 'fastify'
import { type Accounts, createAccounts, type DemoSecrets } from './accounts/accounts.ts'
import { type Behaviour, defaultBehaviour } from './behaviour.ts'
import { type Clock, createClock } from './clock.ts'
import { type CallLog, createCallLog } from './graph/calls.ts'
import { createLimits, type Limits } from './send/limits.ts'
import { createMessageLog, type MessageLog } from './send/message-log.ts'
import type { Outage } from './trouble/outage.ts'
import { createScripts, type Scripts } from './trouble/scripts.ts'
import { type Callback, createCallback } from './webhooks/callback.ts'
import { createInbox, type Inbox } from './webhooks/inbox.ts'

/** Everything that the simulator knows. It is in memory alone and ends with the process. */
export interface World {
  readonly clock: Clock
  readonly behaviour: Behaviour
  readonly accounts: Accounts
  readonly messages: MessageLog
  readonly inbox: Inbox
  readonly calls: CallLog
  readonly limits: Limits
  readonly scripts: Scripts
  readonly callback: Callback
  outage: Outage
  /** What lets go of each answer that is held back, by an outage or because it is slow. */
  readonly held: Set<() => void>
  readonly logger: FastifyBaseLogger
}

export interface WorldOptions {
  secrets: DemoSecrets
  behaviour: Partial<Behaviour>
  logger: FastifyBaseLogger
  /** How many messages are remembered. */
  keptMessages: number
}

export const createWorld = ({ secrets, behaviour: changed, logger, keptMessages }: WorldOptions): World => {
  const clock = createClock()
  const behaviour = { ...defaultBehaviour, ...changed }
  const accounts = createAccounts(secrets)
  const findNumber = (id: string) => accounts.numbers.get(id)
  return {
    clock,
    behaviour,
    accounts,
    messages: createMessageLog(keptMessages),
    inbox: createInbox(1000),
    calls: createCallLog(2000, logger),
    limits: createLimits(),
    scripts: createScripts(),
    callback: createCallback({ behaviour, clock, logger, findNumber }),
    outage: null,
    held: new Set(),
    logger,
  }
}

/** Lets go of the answers that are held back. */
export const letGo = (world: World): void => {
  for (const release of [...world.held]) release()
}

/** Stops all that is under way and forgets all that came. */
export const forget = (world: World): void => {
  letGo(world)
  world.outage = null
  world.clock.reset()
  world.callback.reset()
  world.messages.clear()
  world.inbox.clear()
  world.calls.clear()
  world.limits.clear()
  world.scripts.clear()
}

/** As `forget`, and everything is as it was at the start: accounts and behaviour. */
export const reset = (world: World, { secrets, behaviour }: WorldOptions): void => {
  forget(world)
  Object.assign(world.behaviour, defaultBehaviour, behaviour)
  Object.assign(world.accounts, createAccounts(secrets))
}
