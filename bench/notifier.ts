import { type Bench, type TableRow, tell } from './bench.ts'
import { type Costed, compare, type Measure } from './compare.ts'
import { postgresCpuSeconds } from './cpu.ts'
import { measureFairShare } from './fair-share.ts'
import type { NotifierFloorMeasurement, NotifierFloorTask } from './notifier-floor.ts'
import { type NotifierGround, setAnswerLatency, startNotifierGround } from './notifier-ground.ts'
import { countAccepted, queueMessages, removeMessages } from './notifier-messages.ts'
import { type RunTask, startTaskProcess } from './processes.ts'
import type { QueueTask } from './queue-process.ts'
import type { Measurement } from './repeat.ts'
import { measureWebhooks } from './webhooks.ts'

/** The queue beside a bare loop, with an API that answers at once and one that takes its time; its fair share; webhooks. */
export const notifier: Bench = {
  summary: 'messages/s from queued to accepted, beside a bare undici loop; how fair the queue is; webhooks',
  run: async (options, cleanUps) => {
    tell('notifier: starting Postgres and the simulator ...')
    const ground = await startNotifierGround(cleanUps)
    const queue = startTaskProcess<QueueTask, Measurement>('queue-process.ts', cleanUps, options.profileFolder)
    const floor = startTaskProcess<NotifierFloorTask, NotifierFloorMeasurement>('notifier-floor.ts', cleanUps)
    tell(
      `notifier: the floor uses undici ${(await floor({ apiUrl: ground.apiUrl, window: 1, messages: 1 })).undiciVersion}`,
    )
    const speed: TableRow[] = []
    const fairness: TableRow[] = []
    for (const latency of answerLatencies) {
      await setAnswerLatency(ground, latency)
      for (const window of options.connections ?? [64]) {
        const cell = { ground, queue, floor, window, pace: { perSecond: 500, messages: 0 } }
        const name = `notifier: answers after ${latency} ms, window ${window}`
        await measureQueue(cell)(warmUpSeconds)
        speed.push({ 'answer ms': latency, window, ...(await compareWithFloor(name, cell, options)) })
        const share = await measureFairShare(
          `${name}, fair share`,
          ground,
          runQueueOf(cell),
          Math.min(fairRounds, options.rounds),
        )
        fairness.push({ 'answer ms': latency, window, ...share })
      }
    }
    return [...speed, ...fairness, ...(await measureWebhooks(ground, options, cleanUps))]
  },
}

const answerLatencies = [0, 50]
/** Until the compiler has seen enough. */
const warmUpSeconds = 3
/** At most: each queues 100,000 messages first. */
const fairRounds = 3

interface Cell {
  ground: NotifierGround
  queue: RunTask<QueueTask, Measurement>
  floor: RunTask<NotifierFloorTask, NotifierFloorMeasurement>
  window: number
  /** How fast the queue was, and how many messages it had: the floor gets as many. */
  pace: { perSecond: number; messages: number }
}

const compareWithFloor = async (
  name: string,
  cell: Cell,
  options: { rounds: number; seconds: number },
): Promise<TableRow> => {
  const sides = { ours: measureQueue(cell), floors: { 'bare loop': measureFloor(cell) } }
  const row = await compare({ name, unit: 'messages', unitsPerCall: 1, ...sides }, options)
  // Nobody calls the queue, and the floor has no Postgres.
  const { 'load us': _load, 'bare loop Postgres us': _floor, ...figures } = row
  return figures
}

const runQueueOf =
  ({ queue, ground, window }: Cell) =>
  ({ tenant, messages }: Pick<QueueTask, 'tenant' | 'messages'>): Promise<Measurement> => {
    const { databaseUrl, credentialsKeys, apiUrl } = ground
    return queue({ databaseUrl, credentialsKeys, apiUrl, window, tenant, messages })
  }

/** As many messages as should take that long. Throws unless all of them are stored as accepted. */
const measureQueue = (cell: Cell): Measure => {
  const { superuser } = cell.ground
  return async (seconds): Promise<Costed> => {
    const messages = Math.ceil(cell.pace.perSecond * seconds)
    await removeMessages(superuser)
    await queueMessages(superuser, 'large', messages)
    const before = await postgresCpuSeconds(superuser)
    const measured = await runQueueOf(cell)({ tenant: 'large', messages })
    const postgresSeconds = (await postgresCpuSeconds(superuser)) - before
    const accepted = await countAccepted(superuser, 'large')
    if (accepted !== messages) throw new Error(`${accepted} of ${messages} messages were accepted`)
    cell.pace = { perSecond: messages / measured.seconds, messages }
    return { ...measured, nodeSeconds: measured.cpuSeconds, postgresSeconds }
  }
}

const measureFloor = (cell: Cell): Measure => {
  const { apiUrl } = cell.ground
  return async (): Promise<Costed> => {
    const measured = await cell.floor({ apiUrl, window: cell.window, messages: cell.pace.messages })
    return { ...measured, nodeSeconds: measured.cpuSeconds, postgresSeconds: Number.NaN }
  }
}
