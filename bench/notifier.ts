import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { control } from '../trust/courier.ts'
import type { BenchOptions, Cell, Tools } from './bench.ts'
import { measureCost, measureLoad } from './cpu.ts'
import { countAccepted, formatId, insertMessages, removeMessages } from './notifier-messages.ts'
import type { Measure, Measurement } from './repeat.ts'
import { roundTo } from './statistics.ts'

/** Limits the bare loop to as many messages in flight as the queue has. */
const inFlight = 64

/**
 * Measures the time from the first to the last queued message that the API accepts from the service, beside a bare loop
 * that sends as many requests at once and stores nothing.
 */
export const createQueueCell = ({ apiUrl, load }: Tools, latency: number): Cell => {
  const behave = () => control(apiUrl, '/behaviour', { answer_latency_ms: latency }, 'PUT')
  return {
    name: `queue, responses after ${latency} ms`,
    service: 'notifier',
    unit: 'messages',
    unitsPerRequest: 1,
    measure: async ({ superuser, url, pid }) => {
      let perSecond = 500
      return async seconds => {
        await behave()
        const messages = Math.ceil(perSecond * seconds)
        await removeMessages(superuser)
        await insertMessages(superuser, 'large', messages, 'queued')
        const measured = await measureCost(() => drain(superuser, messages), { url, pid, superuser })
        perSecond = messages / measured.seconds
        return measured
      }
    },
    baselines: async () => ({
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
  return { seconds: roundTo(rows[0].seconds, 6), requestMilliseconds, cpuSeconds: Number.NaN }
}

const connections = 16
/** Exceeds the number of messages that can get their updates in a second. */
const messagesPerSecond = 40_000
/** Is enough for the statistics of Postgres; a short measurement changes fewer rows, and needs fewer beside them. */
const countRead = (seconds: number): number => Math.min(10_000, Math.ceil(10_000 * seconds))

/** Measures webhooks, beside a route that only checks signatures and beside a statement that only writes the rows. */
const createWebhookCell = ({ load, bareFastify }: Tools, updatesPerRequest: number): Cell => {
  const countMessages = (seconds: number): number =>
    Math.max(messagesPerSecond * seconds, updatesPerRequest * connections)
  const updates = updatesPerRequest === 1 ? 'one update' : `${updatesPerRequest} updates`
  return {
    name: `webhooks of ${updates}, connections ${connections}`,
    service: 'notifier',
    unit: 'updates',
    unitsPerRequest: updatesPerRequest,
    measure: async side => async seconds => {
      const messages = countMessages(seconds)
      await renewMessages(side.superuser, messages, seconds)
      const work = { kind: 'webhooks', messages, updatesPerRequest } as const
      const measured = await measureLoad(load, side, work, connections)(seconds)
      await expectUpdates(side.superuser, measured.requestMilliseconds.length * updatesPerRequest)
      return measured
    },
    baselines: async side => {
      const url = await bareFastify()
      const work = { kind: 'webhooks', messages: Number.MAX_SAFE_INTEGER, updatesPerRequest } as const
      const update: Measure = async seconds => {
        const messages = countMessages(seconds)
        await renewMessages(side.superuser, messages, seconds)
        const values = Array.from({ length: Math.floor(messages / updatesPerRequest) }, (_, call) => [
          `{${Array.from({ length: updatesPerRequest }, (_, index) =>
            formatId(call * updatesPerRequest + index + 1),
          ).join(',')}}`,
        ])
        const work = { kind: 'statement', tenant: 'large', text: statement, values } as const
        return measureLoad(load, side, work, connections)(seconds)
      }
      return { Fastify: measureLoad(load, { url }, work, connections), update }
    },
  }
}

/** Requires that the timelines have as many updates as the client sent. */
const expectUpdates = async (superuser: pg.Client, expected: number): Promise<void> => {
  const { rows } = await superuser.query(
    `select count(*)::integer as count from message_events
      where tenant_id = 'large' and status in ('delivered', 'read')`,
  )
  if (rows[0].count !== expected) throw new Error(`${rows[0].count} updates were written, not ${expected}`)
}

/** Inserts `count` messages that await updates, and some that have all of them: Postgres plans by its statistics. */
const renewMessages = async (superuser: pg.Client, count: number, seconds: number): Promise<void> => {
  await removeMessages(superuser)
  await insertMessages(superuser, 'small', countRead(seconds), 'accepted')
  await superuser.query(`
    with reported as (
      insert into message_events (tenant_id, message_id, status)
      select tenant_id, message_id, report from messages, unnest(array['sent', 'delivered', 'read']) as report
    )
    update messages set status = 'read'`)
  await insertMessages(superuser, 'large', count, 'accepted')
  await superuser.query('analyze messages, message_events')
}

const statement = `
  with given as (
    select * from unnest($1::text[]) as given (message_id)
  ), reported as (
    insert into message_events (tenant_id, message_id, status) select 'large', message_id, 'delivered' from given
  )
  update messages m set status = 'delivered', status_at = now() from given
  where m.tenant_id = 'large' and m.message_id = given.message_id`

export const notifier = ({ batches = [1] }: BenchOptions, tools: Tools): Cell[] => [
  ...[0, 50].map(latency => createQueueCell(tools, latency)),
  ...batches.map(updates => createWebhookCell(tools, updates)),
]
