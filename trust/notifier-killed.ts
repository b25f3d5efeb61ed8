import { setTimeout as delay } from 'node:timers/promises'
import { chanceOf } from '../test/chance.ts'
import { eventually } from '../test/courier.ts'
import { acceptances, countByStatus, handOver, type NotifierStage, stageNotifier } from './notifier-stage.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'

/** Slow enough that each kill finds sends under way. */
const answerMilliseconds = 30

/** Waits until nothing is queued or on its way. */
const settle = async (stage: NotifierStage, isShort: boolean): Promise<void> => {
  const counts = () => countByStatus(stage)
  await eventually('nothing is queued', counts, ({ queued = 0 }) => queued === 0, 300)
  // The sends of a dead process are given up after 32 s. The short form moves that time to now: what a living process
  // has under way is answered within a second.
  if (isShort) {
    await delay(1_000)
    await stage.rows(`update messages set due_at = now() where status = 'sending'`)
  }
  await eventually('nothing is on its way', counts, ({ sending = 0 }) => sending === 0, 60)
}

/** Kills it under way, again and again. Returns how many messages were still queued at the end. */
const killOften = async (stage: NotifierStage, kills: number, seed: number): Promise<number> => {
  const chance = chanceOf(seed)
  for (let round = 0; round < kills; round++) {
    await delay(200 + chance() * 700)
    await stage.notifier.stop('SIGKILL')
    stage.notifier.start()
    await stage.notifier.ready()
  }
  return (await countByStatus(stage)).queued ?? 0
}

const checkArrivals = async ({ rows, control }: NotifierStage, ids: readonly string[], broken: Broken) => {
  const stored = await rows('select message_id, status from messages')
  const statusOf = new Map(stored.map(({ message_id, status }) => [String(message_id), String(status)]))
  const counts = acceptances(control)
  const stuck = ids.filter(id => !['accepted', 'unknown'].includes(statusOf.get(id) ?? '')).length
  const lost = ids.filter(id => statusOf.get(id) === 'accepted' && !counts.has(id)).length
  const doubled = [...counts.values()].filter(times => times > 1).length
  const unknown = stored.filter(({ status }) => status === 'unknown').length
  broken.require(stored.length === ids.length, `${ids.length} messages were taken, ${stored.length} are stored`)
  broken.require(stuck === 0, `${stuck} messages are neither accepted nor unknown`)
  broken.require(lost === 0, `${lost} messages that are called accepted never arrived`)
  broken.require(doubled === 0, `${doubled} messages arrived twice`)
  return { messages: ids.length, arrived: counts.size, unknown, lost: stuck + lost, doubled }
}

const run = async (t: TrustOptions): Promise<Outcome> => {
  const broken = new Broken()
  const [kills, count, rate] = t.short ? [3, 600, 200] : [20, 10_000, 400]
  const stage = await stageNotifier(t, { rate, behaviour: { answer_latency_ms: answerMilliseconds } })
  const ids = await handOver(stage, count)
  const left = await killOften(stage, kills, t.seed)
  broken.require(left > 0, 'all messages had left before the last kill')
  t.report(`the notifier was killed ${kills} times, ${left} of ${count} messages are left`)
  await settle(stage, t.short)
  // What would be sent by itself would leave within a few polls of the queue.
  await delay(2_000)
  return { measured: { kills, ...(await checkArrivals(stage, ids, broken)) }, broken: broken.sentences }
}

export const notifierKilled: TrustPromise = {
  name: 'notifier-killed',
  promise:
    'When the notifier is killed, each message is accepted once or unknown; none is lost or sent again by itself',
  limit: 'kill -9 x20 with 10,000 messages in the queue: 0 lost, 0 doubled',
  run,
}
