import type pg from 'pg'
import { tellBareFastify } from './bare-fastify.ts'
import type { Cell, Tools } from './bench.ts'
import { measureCost, measureLoad } from './cpu.ts'
import { appSecret, formatId, insertMessages, removeMessages } from './notifier-messages.ts'
import type { Measure } from './repeat.ts'

const connections = 16
/** Exceeds the number of messages that can get their updates in a second. */
const messagesPerSecond = 40_000
const readMessages = 10_000

/** Measures webhooks, beside a route that only checks signatures and beside a statement that only writes the rows. */
export const webhookCell = ({ load, floor, bareFastify }: Tools, updatesPerRequest: number): Cell => {
  const messagesFor = (seconds: number): number =>
    Math.max(messagesPerSecond * seconds, updatesPerRequest * connections)
  const updates = updatesPerRequest === 1 ? 'one update' : `${updatesPerRequest} updates`
  return {
    name: `webhooks of ${updates}, connections ${connections}`,
    service: 'notifier',
    unit: 'updates',
    unitsPerRequest: updatesPerRequest,
    measure: async side => async seconds => {
      const messages = messagesFor(seconds)
      await renewMessages(side.superuser, messages)
      const work = { kind: 'webhooks', messages, updatesPerRequest } as const
      const measured = await measureLoad(load, side, work, connections)(seconds)
      await expectUpdates(side.superuser, measured.requestMilliseconds.length * updatesPerRequest)
      return measured
    },
    floors: async ({ superuser, databaseUrl }) => {
      const url = await bareFastify()
      await tellBareFastify(url, 'secret', appSecret)
      const work = { kind: 'webhooks', messages: Number.MAX_SAFE_INTEGER, updatesPerRequest } as const
      const update: Measure = async seconds => {
        const messages = messagesFor(seconds)
        await renewMessages(superuser, messages)
        const values = Array.from({ length: Math.floor(messages / updatesPerRequest) }, (_, call) => [
          `{${Array.from({ length: updatesPerRequest }, (_, index) =>
            formatId(call * updatesPerRequest + index + 1),
          ).join(',')}}`,
        ])
        const task = { databaseUrl, tenant: 'large', connections, seconds, work: { text: statement, values } }
        return measureCost(() => floor(task), { superuser })
      }
      return { Fastify: measureLoad(load, { url }, work, connections), update }
    },
  }
}

/** Requires that the timelines have as many updates as were counted. */
const expectUpdates = async (superuser: pg.Client, expected: number): Promise<void> => {
  const { rows } = await superuser.query(
    `select count(*)::integer as count from message_events
      where tenant_id = 'large' and status in ('delivered', 'read')`,
  )
  if (rows[0].count !== expected) throw new Error(`${rows[0].count} updates were written, not ${expected}`)
}

/** Inserts `count` messages that await updates, and some that had theirs: Postgres plans by its statistics. */
const renewMessages = async (superuser: pg.Client, count: number): Promise<void> => {
  await removeMessages(superuser)
  await insertMessages(superuser, 'small', readMessages, 'accepted')
  await superuser.query(`
    with told as (
      insert into message_events (tenant_id, message_id, status)
      select tenant_id, message_id, told from messages, unnest(array['sent', 'delivered', 'read']) as told
    )
    update messages set status = 'read'`)
  await insertMessages(superuser, 'large', count, 'accepted')
  await superuser.query('analyze messages, message_events')
}

const statement = `
  with given as (
    select * from unnest($1::text[]) as given (message_id)
  ), told as (
    insert into message_events (tenant_id, message_id, status) select 'large', message_id, 'delivered' from given
  )
  update messages m set status = 'delivered', status_at = now() from given
  where m.tenant_id = 'large' and m.message_id = given.message_id`
