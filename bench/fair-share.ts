import { setTimeout as delay } from 'node:timers/promises'
import { type TableRow, tell } from './bench.ts'
import { median, rounded } from './figures.ts'
import type { NotifierGround } from './notifier-ground.ts'
import { countAccepted, queueMessages, removeMessages } from './notifier-messages.ts'
import type { QueueTask } from './queue-process.ts'

const ofLarge = 100_000
const ofSmall = 500

/** Runs the queue until so many messages of the tenant are accepted. */
export type RunQueue = (wish: Pick<QueueTask, 'tenant' | 'messages'>) => Promise<unknown>

/**
 * Lets the queue work on many messages of a large tenant for a second, then queues a few of a small one: how long until
 * those are accepted, and how many of the large one's meanwhile. Medians of the rounds.
 */
export const measureFairShare = async (
  name: string,
  ground: NotifierGround,
  runQueue: RunQueue,
  rounds: number,
): Promise<TableRow> => {
  const measured: Share[] = []
  for (let round = 1; round <= rounds; round++) {
    tell(`${name}, round ${round} of ${rounds}`)
    measured.push(await measureOnce(ground, runQueue))
  }
  const medianOf = (figure: keyof Share): number => median(measured.map(share => share[figure]))
  return {
    'ahead, large tenant': ofLarge,
    'behind, small tenant': ofSmall,
    'small accepted after s': rounded(medianOf('seconds'), 2),
    'large accepted meanwhile': medianOf('large'),
  }
}

interface Share {
  seconds: number
  large: number
}

const measureOnce = async (ground: NotifierGround, runQueue: RunQueue): Promise<Share> => {
  const { superuser } = ground
  await removeMessages(superuser)
  await queueMessages(superuser, 'large', ofLarge)
  const running = runQueue({ tenant: 'small', messages: ofSmall })
  const share = async (): Promise<Share> => {
    await delay(1_000)
    const before = await countAccepted(superuser, 'large')
    await queueMessages(superuser, 'small', ofSmall)
    const start = performance.now()
    while ((await countAccepted(superuser, 'small')) < ofSmall) await delay(10)
    const seconds = (performance.now() - start) / 1000
    return { seconds, large: (await countAccepted(superuser, 'large')) - before }
  }
  // A queue that fails ends the wait.
  const failed = running.then(() => new Promise<never>(() => {}))
  const result = await Promise.race([share(), failed])
  await running
  return result
}
