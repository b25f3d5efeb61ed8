import type pg from 'pg'
import { startBareFastify, tellBareFastify } from './bare-fastify.ts'
import { type BenchOptions, type TableRow, tell } from './bench.ts'
import type { Floor } from './bulk-calls.ts'
import { compare, type Measure } from './compare.ts'
import { type Load, measureLoad, withCost } from './cpu.ts'
import type { NotifierGround } from './notifier-ground.ts'
import { appSecret, idOf, insertMessages, removeMessages } from './notifier-messages.ts'
import { startTaskProcess } from './processes.ts'

/** The baselines. Fastify: a route that checks the signature alone; update: the rows alone, by one bare statement. */
export const measureWebhooks = async (
  ground: NotifierGround,
  options: BenchOptions,
  cleanUps: AsyncDisposableStack,
): Promise<TableRow[]> => {
  tell('webhooks: starting the notifier ...')
  await removeMessages(ground.superuser)
  const { url } = await ground.startNotifier(cleanUps, options.profileFolder)
  const bare = (await startBareFastify(cleanUps)).url
  await tellBareFastify(bare, 'secret', appSecret)
  const load: Load = startTaskProcess('load.ts', cleanUps)
  const floor: Floor = startTaskProcess('floor.ts', cleanUps)
  const table: TableRow[] = []
  for (const updatesPerCall of options.batches ?? [1, 100, 1000]) {
    const calls = { updatesPerCall, connections }
    const ours = measureUpdates(ground, load, url, calls)
    const fastify = measureSignatures(load, bare, calls)
    const floors = { Fastify: fastify, update: measureStatement(ground, floor, calls) }
    await ours(warmUpSeconds)
    const name = `webhooks: ${updatesPerCall} updates a call`
    const comparison = { name, unit: 'updates', unitsPerRequest: updatesPerCall, ours, floors, alsoHalf: true }
    table.push({ 'updates a call': updatesPerCall, connections, ...(await compare(comparison, options)) })
  }
  return table
}

const connections = 16
const warmUpSeconds = 1.5
/** More messages than can get their updates in a second. */
const messagesPerSecond = 40_000
const readMessages = 10_000

interface WebhookCalls {
  updatesPerCall: number
  connections: number
}

/** Throws unless every counted update is in the timeline of its message. */
export const measureUpdates =
  (
    { superuser }: Pick<NotifierGround, 'superuser'>,
    load: Load,
    url: string,
    { updatesPerCall, connections }: WebhookCalls,
  ): Measure =>
  async (seconds, requestsPerSecond) => {
    const messages = Math.max(messagesPerSecond * seconds, updatesPerCall * connections)
    await renewMessages(superuser, messages)
    const task = { work: { kind: 'webhooks', messages, updatesPerCall } as const, connections }
    const measured = await measureLoad({ load, url, superuser, task })(seconds, requestsPerSecond)
    const { rows } = await superuser.query(
      `select count(*)::integer as count from message_events
        where tenant_id = 'large' and status in ('delivered', 'read')`,
    )
    const expected = measured.requestMilliseconds.length * updatesPerCall
    if (rows[0].count !== expected) throw new Error(`${rows[0].count} updates were written, not ${expected}`)
    return measured
  }

/** Inserts so many messages that wait for updates, beside some that had theirs: Postgres plans by its statistics. */
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

const measureSignatures = (load: Load, url: string, { updatesPerCall, connections }: WebhookCalls): Measure => {
  const work = { kind: 'webhooks', messages: Number.MAX_SAFE_INTEGER, updatesPerCall } as const
  return measureLoad({ load, url, task: { work, connections } })
}

const statement = `
  with given as (
    select * from unnest($1::text[]) as given (message_id)
  ), told as (
    insert into message_events (tenant_id, message_id, status) select 'large', message_id, 'delivered' from given
  )
  update messages m set status = 'delivered', status_at = now() from given
  where m.tenant_id = 'large' and m.message_id = given.message_id`

const measureStatement =
  ({ superuser, databaseUrl }: NotifierGround, floor: Floor, { updatesPerCall, connections }: WebhookCalls): Measure =>
  async seconds => {
    const messages = Math.max(messagesPerSecond * seconds, updatesPerCall * connections)
    await renewMessages(superuser, messages)
    const values = Array.from({ length: Math.floor(messages / updatesPerCall) }, (_, call) => [
      `{${Array.from({ length: updatesPerCall }, (_, index) => idOf(call * updatesPerCall + index + 1)).join(',')}}`,
    ])
    const work = { kind: 'statement', text: statement, values } as const
    return withCost(() => floor({ databaseUrl, tenant: 'large', connections, seconds, work }), { superuser })
  }
