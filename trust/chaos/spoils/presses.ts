import type * as presses from '../checks/presses.ts'
import type * as processes from '../checks/processes.ts'
import { any, change, double, remove, type Spoils } from './spoil.ts'

export const spoilsOfPresses: Record<keyof typeof presses | keyof typeof processes, Spoils> = {
  pressesActOnce: {
    'a press acts twice': ({ acted }) => double(acted, any),
    'a press is stored twice': ({ actions }) => double(actions, any),
  },
  noPressIsLost: {
    'a press is lost': ({ presses }) => double(presses, any, { index: 9 }),
    'a press is lost, and one of its two webhooks was given up': ({ presses, givenUp }) => {
      double(presses, any, { index: 9, inbound: 'wamid.1', copies: 2 })
      givenUp.push({ at: 0, status: null, message: null, inbound: 'wamid.1' })
    },
  },
  ordersAndNotifierAgree: {
    'the outcome is another one': ({ actions }) => change(actions, any, { outcome: null }),
    'orders acts on what nobody pressed': ({ acted }) => double(acted, any, { id: 'msg_1 1' }),
  },
  customersStepsAreTheirs: {
    'an order is cancelled twice by one press': ({ timeline }) => double(timeline, ({ by }) => by === 'customer'),
    'what a customer did is not in the timeline': ({ timeline }) => remove(timeline, ({ by }) => by === 'customer'),
  },
  processesEndOnlyWhenAsked: {
    'a process ends by itself': ({ exits }) => double(exits, any, { by: null, status: 1, line: 'process.failed' }),
    'a process does not wait for Postgres': ({ exits }) =>
      change(exits, ({ by }) => by === null, { lastedSeconds: 20 }),
  },
  sigtermEndsWithStatusZero: {
    'SIGTERM ends a process with status 1': ({ exits }) => change(exits, ({ by }) => by === 'SIGTERM', { status: 1 }),
  },
  webhooksAreAccepted: {
    'a webhook is refused until it is given up': ({ givenUp, readyAt }) =>
      givenUp.push({ at: readyAt + 1, status: 500, message: 'msg_1', inbound: null }),
  },
}
