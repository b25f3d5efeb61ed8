import { createHmac } from 'node:crypto'
import { percentile, rounded } from '../bench/figures.ts'
import { messageTo, phoneNumberId } from '../services/notifier/test/stage.ts'
import { envelope, status } from '../services/notifier/test/webhooks-stage.ts'
import { chanceOf } from '../test/chance.ts'
import { type NotifierStage, stageNotifier } from './notifier-stage.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'

const copies = 3
const connections = 16
const maxP99Milliseconds = 250
const life = ['sent', 'delivered', 'read'] as const

interface Update {
  id: string
  status: string
}

/** Half of the updates are of a message of their own, the others of messages that get all three. */
const makeUpdates = (count: number): Update[] => {
  const own = Array.from({ length: Math.ceil(count / 2) }, (_, n) => ({ id: `own${n}`, status: life[n % 3] as string }))
  const lives = Math.floor((count - own.length) / life.length)
  const of = Array.from({ length: lives }, (_, n) => life.map(status => ({ id: `life${n}`, status })))
  return [...own, ...of.flat()]
}

const shuffle = <Item>(items: readonly Item[], chance: () => number): Item[] =>
  items
    .map(item => ({ item, place: chance() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item)

/** Posts each update with a call of its own. Returns what each answer took, in milliseconds. */
const tell = async ({ notifier }: NotifierStage, updates: Update[], broken: Broken): Promise<number[]> => {
  const waiting = [...updates]
  const milliseconds: number[] = []
  const work = async (): Promise<void> => {
    for (let update = waiting.pop(); update; update = waiting.pop()) {
      const { id } = update
      const told = status({ id: `wamid.${id}`, status: update.status, biz_opaque_callback_data: id })
      const body = JSON.stringify(envelope({ statuses: [told] }, phoneNumberId))
      const signature = createHmac('sha256', 'demo-app-secret').update(body).digest('hex')
      const headers = { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` }
      const started = performance.now()
      const answer = await fetch(`${notifier.url}/webhooks/messaging`, { method: 'POST', headers, body })
      await answer.arrayBuffer()
      milliseconds.push(performance.now() - started)
      broken.require(answer.status === 200, `a webhook was answered with ${answer.status}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, work))
  return milliseconds
}

const checkTimelines = async ({ rows }: NotifierStage, updates: readonly Update[], broken: Broken) => {
  const events = await rows('select message_id, status from message_events order by event_id')
  const timelines = Map.groupBy(events, row => String(row.message_id))
  const placeOf = (row: Record<string, unknown>) => life.indexOf(row.status as (typeof life)[number])
  let [wrongCount, wentBack] = [0, 0]
  for (const id of new Set(updates.map(({ id }) => id))) {
    const places = (timelines.get(id) ?? []).map(placeOf)
    if (new Set(places).size !== places.length || (id.startsWith('own') && places.length !== 1)) wrongCount++
    if (places.some((place, index) => index > 0 && place <= (places[index - 1] as number))) wentBack++
  }
  const last = await rows(
    `select count(*)::int as count from messages where message_id like 'life%' and status <> 'read'`,
  )
  broken.require(wrongCount === 0, `${wrongCount} messages have an update twice in their timeline, or not at all`)
  broken.require(wentBack === 0, `${wentBack} messages went back`)
  broken.require(last[0]?.count === 0, `${last[0]?.count} messages did not end as read`)
  return { 'wrong timelines': wrongCount, 'gone back': wentBack }
}

const run = async (t: TrustOptions): Promise<Outcome> => {
  const broken = new Broken()
  const stage = await stageNotifier(t)
  const updates = makeUpdates(t.short ? 500 : 10_000)
  await stage.rows(
    `insert into messages (tenant_id, message_id, phone_number_id, recipient, template, status, due_at, expires_at)
     select 'demo', id, $2, '94770000101', $3, 'accepted', now(), now() + interval '1 day' from unnest($1::text[]) id`,
    [[...new Set(updates.map(({ id }) => id))], phoneNumberId, messageTo('').template],
  )
  const all = shuffle(Array.from({ length: copies }, () => updates).flat(), chanceOf(t.seed))
  const started = performance.now()
  const milliseconds = await tell(stage, all, broken)
  const seconds = (performance.now() - started) / 1000
  const p99 = percentile(milliseconds, 0.99)
  broken.require(t.short || p99 < maxP99Milliseconds, `the p99 of the answers was ${p99} ms`)
  const timelines = await checkTimelines(stage, updates, broken)
  const perSecond = rounded(all.length / seconds)
  const measured = { webhooks: updates.length, copies, ...timelines, 'p99 ms': rounded(p99, 1), 'per s': perSecond }
  return { measured, broken: broken.sentences }
}

export const webhookStorm: TrustPromise = {
  name: 'webhook-storm',
  promise: 'A webhook that comes three times, in any order, is in the timeline once and moves no message back',
  limit: '10,000 webhooks x3, shuffled: 0 doubles, 0 back, p99 of the answer below 250 ms',
  run,
}
