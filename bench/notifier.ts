import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { control } from '../trust/courier.ts'
import type { BenchOptions, Cell, Tools } from './bench.ts'
import { measureCost } from './cpu.ts'
import { rounded } from './figures.ts'
import { countAccepted, insertMessages, removeMessages } from './notifier-messages.ts'
import type { Measurement } from './repeat.ts'
import { webhookCell } from './webhooks.ts'

/** Limits the messages that the bare loop has in flight, to as many as the queue has. */
const inFlight = 64

/**
 * Measures from the first to the last queued message that the running service sends, beside a bare loop that sends as
 * many requests at once and stores nothing.
 */
export const queueCell = ({ apiUrl, load }: Tools, latency: number): Cell => {
  const behave = () => control(apiUrl, '/behaviour', { answer_latency_ms: latency }, 'PUT')
  return {
    name: `queue, responses after ${latency} ms`,
    service: 'notifier',
    unit: 'messages',
    unitsPerRequest: 1,
    measure: async ({ superuser, url }) => {
      let perSecond = 500
      return async seconds => {
        await behave()
        const messages = Math.ceil(perSecond * seconds)
        await removeMessages(superuser)
        await insertMessages(superuser, 'large', messages, 'queued')
        const measured = await measureCost(() => drain(superuser, messages), { url, superuser })
        perSecond = messages / measured.seconds
        return measured
      }
    },
    floors: async () => ({
      'bare loop': async seconds => {
        await behave()
        const work = { kind: 'messages' } as const
        return measureCost(() => load({ url: apiUrl, work, connections: inFlight, seconds }), {})
      },
    }),
  }
}

const stallSeconds = 30

const drain = async (superuser: pg.Client, messages: number): Promise<Measurement> => {
  const end = performance.now() + stallSeconds * 1000
  while ((await countAccepted(superuser)) < messages) {
    if (performance.now() > end) throw new Error(`${messages} messages were not sent within ${stallSeconds} s`)
    await delay(50)
  }
  const { rows } = await superuser.query(
    `select extract(epoch from max(happened_at) - min(happened_at))::float as seconds
     from message_events where status = 'accepted'`,
  )
  // The time of a single message is unknown.
  const requestMilliseconds = Array.from({ length: messages }, () => Number.NaN)
  return { seconds: rounded(rows[0].seconds, 6), requestMilliseconds, cpuSeconds: Number.NaN }
}

export const notifier = ({ batches = [1] }: BenchOptions, tools: Tools): Cell[] => [
  ...[0, 50].map(latency => queueCell(tools, latency)),
  ...batches.map(updates => webhookCell(tools, updates)),
]
