import { type Reaction, startWebhookReceiver } from '../../services/orders/test/webhook-receiver.ts'
import { createChance } from '../../test/chance.ts'
import type { TrustOptions } from '../promise.ts'

/** Chooses an endpoint's reaction to a request while the endpoint is disturbed. */
export type Reactions = (chance: () => number) => Reaction

/** Fails, loses its response or responds late, each now and then. */
export const flaky: Reactions = chance => {
  const luck = chance()
  if (luck < 0.03) return { status: 500 }
  return luck < 0.06 ? { isLost: true } : { milliseconds: luck < 0.1 ? 300 : 0 }
}

/** Starts receivers of webhooks, with the reactions of each while it is disturbed. */
export const startEndpoints = (t: TrustOptions, reactions: Readonly<Record<string, Reactions>>) => {
  const chance = createChance(t.seed)
  const start = async ([name, react]: [string, Reactions]) => {
    const receiver = Object.assign(await startWebhookReceiver(t), { name, id: '' })
    const reactAs = (react: () => Reaction) => void Object.assign(receiver, { react })
    return Object.assign(receiver, { disturb: () => reactAs(() => react(chance)), calm: () => reactAs(() => ({})) })
  }
  return Promise.all(Object.entries(reactions).map(start))
}
