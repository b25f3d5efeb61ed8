import { type Bench, type TableRow, tell } from './bench.ts'
import { compare, type Measure } from './compare.ts'
import { withCost } from './cpu.ts'
import type { NotifierFloorTask } from './notifier-floor.ts'
import { type NotifierGround, setAnswerLatency, startNotifierGround } from './notifier-ground.ts'
import { countAccepted, insertMessages, removeMessages } from './notifier-messages.ts'
import { type RunTask, startTaskProcess } from './processes.ts'
import type { QueueTask } from './queue-process.ts'
import type { Measurement } from './repeat.ts'
import { measureWebhooks } from './webhooks.ts'

/** Measures the queue beside a bare loop, with an API that responds at once and one that takes its time; and webhooks. */
export const notifier: Bench = {
  summary: 'messages/s from queued to accepted, beside a bare undici loop; webhooks',
  run: async (options, cleanUps) => {
    tell('notifier: starting Postgres and the simulator ...')
    const ground = await startNotifierGround(cleanUps)
    const queue = startTaskProcess<QueueTask, Measurement>('queue-process.ts', cleanUps, options.profileFolder)
    const floor = startTaskProcess<NotifierFloorTask, Measurement>('notifier-floor.ts', cleanUps)
    const speed: TableRow[] = []
    for (const latency of answerLatencies) {
      await setAnswerLatency(ground.apiUrl, latency)
      for (const window of options.connections ?? [64]) {
        const cell = { ground, queue, floor, window, pace: { perSecond: 500, messages: 0 } }
        const name = `notifier: responses after ${latency} ms, window ${window}`
        await measureQueue(cell)(warmUpSeconds)
        speed.push({ 'response ms': latency, window, ...(await compareWithFloor(name, cell, options)) })
      }
    }
    return [...speed, ...(await measureWebhooks(ground, options, cleanUps))]
  },
}

const answerLatencies = [0, 50]
/** Warms up until the compiler has seen enough. */
const warmUpSeconds = 3

interface Cell {
  ground: NotifierGround
  queue: RunTask<QueueTask, Measurement>
  floor: RunTask<NotifierFloorTask, Measurement>
  window: number
  /** The speed of the queue and its number of messages: the baseline gets as many. */
  pace: { perSecond: number; messages: number }
}

const compareWithFloor = async (
  name: string,
  cell: Cell,
  options: { rounds: number; seconds: number },
): Promise<TableRow> => {
  const sides = { ours: measureQueue(cell), floors: { 'bare loop': measureFloor(cell) } }
  const row = await compare({ name, unit: 'messages', unitsPerRequest: 1, ...sides }, options)
  // The queue gets no requests, and the baseline has no Postgres.
  const { 'load us': _load, 'bare loop Postgres us': _floor, ...figures } = row
  return figures
}

/** Sends as many messages as should take that long. Throws unless all of them are stored as accepted. */
const measureQueue = (cell: Cell): Measure => {
  const { superuser, databaseUrl, credentialsKeys, apiUrl } = cell.ground
  return async seconds => {
    const messages = Math.ceil(cell.pace.perSecond * seconds)
    await removeMessages(superuser)
    await insertMessages(superuser, 'large', messages, 'queued')
    const task = { databaseUrl, credentialsKeys, apiUrl, window: cell.window, messages }
    const measured = await withCost(() => cell.queue(task), { superuser })
    const accepted = await countAccepted(superuser)
    if (accepted !== messages) throw new Error(`${accepted} of ${messages} messages were accepted`)
    cell.pace = { perSecond: messages / measured.seconds, messages }
    return measured
  }
}

const measureFloor = (cell: Cell): Measure => {
  const { apiUrl } = cell.ground
  return () => withCost(() => cell.floor({ apiUrl, window: cell.window, messages: cell.pace.messages }), {})
}
