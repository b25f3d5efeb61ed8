import { randomInt } from 'node:crypto'
import { delivery } from './models/delivery/steps.ts'
import { type CreateModel, playHistories } from './models/history.ts'
import { joined } from './models/joined/steps.ts'
import { limit } from './models/limit/steps.ts'
import { message } from './models/message/steps.ts'
import { order } from './models/order/steps.ts'
import { person } from './models/person/steps.ts'
import { seed as sameSeed, type TrustOptions, type TrustPromise } from './promise.ts'

const models: Record<string, CreateModel> = { order, message, delivery, person, joined, limit }

/** `MODELS_ONLY='order message'` plays only these models. */
const chosen = process.env.MODELS_ONLY?.split(' ') ?? Object.keys(models)

const play = async (name: string, create: CreateModel, seed: number, options: TrustOptions): Promise<number[]> => {
  const { short, broken, report } = options
  const limits = short ? { histories: 5, seconds: 5 } : { histories: 500, seconds: 240 }
  const { failure, histories, steps } = await playHistories(await create(options), { seed, ...limits })
  const again = `npm run trust -- models ${short ? '--short ' : ''}--seed ${seed}`
  broken.require(failure === undefined, `${name}:\n${failure}\n  again: MODELS_ONLY=${name} ${again}`)
  report(`${name}: ${histories} histories, ${steps} steps`)
  return [histories, steps]
}

/** Returns the given seed; without one, the full form draws a random one. */
const chooseSeed = ({ seed, short }: TrustOptions): number => (seed === sameSeed && !short ? randomInt(2 ** 31) : seed)

export const promise: TrustPromise = {
  promise: 'In any order of events the services do what small models of their promises do',
  limit: '500 random histories of each model, or as many as four minutes allow: 0 differences',
  run: async options => {
    const seed = chooseSeed(options)
    const played: number[][] = []
    for (const [name, create] of Object.entries(models))
      if (chosen.includes(name)) played.push(await play(name, create, seed, options))
    const sum = (column: number): number => played.reduce((total, row) => total + (row[column] ?? 0), 0)
    return { models: played.length, histories: sum(0), steps: sum(1), seed }
  },
}
