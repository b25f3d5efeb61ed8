import { type Reaction, startWebhookReceiver } from '../../services/orders/test/webhook-receiver.ts'
import { createChance } from '../../test/chance.ts'
import type { TrustOptions } from '../promise.ts'

/** Lists the reactions of an endpoint to a request while it is disturbed. */
export type Reactions = (chance: () => number) => Reaction

/** Fails at times, responds late, and loses its responses. */
export const flaky: Reactions = chance => {
  const luck = chance()
  if (luck < 0.03) return { status: 500 }
  return luck < 0.06 ? { isLost: true } : { milliseconds: luck < 0.1 ? 300 : 0 }
}

/** Starts receivers of webhooks; `disturb` and `calm` say how they react. */
export const startEndpoints = async (t: TrustOptions, reactions: Readonly<Record<string, Reactions>>) => {
  const names = Object.keys(reactions)
  const receivers = await Promise.all(names.map(() => startWebhookReceiver(t)))
  const chance = createChance(t.seed)
  const react = (choose: (name: string) => () => Reaction): void => {
    for (const [n, name] of names.entries()) Object.assign(receivers[n] as object, { react: choose(name) })
  }
  return {
    names,
    receivers,
    ids: [] as string[],
    disturb: () => react(name => () => reactions[name]?.(chance) ?? {}),
    calm: () => react(() => () => ({})),
  }
}
