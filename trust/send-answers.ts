import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { eventually } from '../test/courier.ts'
import { acceptances, countByStatus, handOver, type NotifierStage, stageNotifier } from './notifier-stage.ts'
import { Broken, type Outcome, type TrustOptions, type TrustPromise } from './promise.ts'

const count = 100
const settleSeconds = 1
/** Statuses planned by the simulator itself come long after. */
const neverInTime = { delay_factor: 100 }

/** A hundred sends whose answers are lost; then the API tells of each. Returns the longest time in seconds. */
const loseAnswers = async (stage: NotifierStage, broken: Broken): Promise<number> => {
  const { control, rows } = stage
  control.script({ times: count / 2, trouble: { kind: 'lost', accepted: true } })
  control.script({ times: count / 2, trouble: { kind: 'half', accepted: true } })
  const ids = await handOver(stage, count)
  const isOver = ({ queued = 0, sending = 0 }: Record<string, number>) => queued + sending === 0
  const counts = await eventually('every send is over', () => countByStatus(stage), isOver, 60)
  broken.require(counts.unknown === count, `${JSON.stringify(counts)} after ${count} lost answers`)
  const messages = control.messages({ limit: 50_000 })
  let longest = 0
  const started = new Map<string, number>()
  for (const { id, biz_opaque_callback_data } of messages) {
    started.set(String(biz_opaque_callback_data), performance.now())
    control.status({ message_id: id, status: 'delivered' })
  }
  const open = new Set(ids)
  const end = performance.now() + 30_000
  while (open.size > 0 && performance.now() < end) {
    for (const { message_id } of await rows(`select message_id from messages where status = 'delivered'`)) {
      if (!open.delete(String(message_id))) continue
      longest = Math.max(longest, (performance.now() - (started.get(String(message_id)) ?? 0)) / 1000)
    }
    await delay(10)
  }
  broken.require(open.size === 0, `${open.size} messages stayed unknown although a webhook told of them`)
  broken.require(longest < settleSeconds, `a webhook took ${longest} s to settle its message`)
  const resent = [...acceptances(control).values()].filter(times => times > 1).length
  broken.require(resent === 0, `${resent} messages with a lost answer were sent again`)
  return longest
}

/** A hundred sends to an API whose connections break and that takes no new one for a second. */
const refuseConnections = async (
  stage: NotifierStage,
  way: { cut: () => Promise<void>; restore: () => Promise<void> },
  broken: Broken,
): Promise<number> => {
  const { control, rows } = stage
  const before = control.summary().accepted
  await way.cut()
  const ids = await handOver(stage, count, count)
  const tried = () => rows('select count(*)::int as count from messages where attempts > 0')
  await eventually('every send was tried', tried, ([row]) => row?.count === count, 30)
  broken.require(control.summary().accepted === before, 'a message went through a connection that was cut')
  await way.restore()
  const wanted = `select message_id from messages where status not in ('queued', 'sending') and message_id = any($1)`
  await eventually(
    'all have left',
    () => rows(wanted, [ids]),
    found => found.length === count,
    60,
  )
  const counts = acceptances(control)
  const once = ids.filter(id => counts.get(id) === 1).length
  broken.require(once === count, `${once} of ${count} messages whose connection was refused were sent once`)
  const { unknown = 0 } = await countByStatus(stage)
  broken.require(unknown === 0, `${unknown} messages are unknown although nothing was written`)
  return once
}

const run = async (t: TrustOptions): Promise<Outcome> => {
  const broken = new Broken()
  const target = { host: '127.0.0.1', port: 0 }
  const way = await startProxy(target)
  t.teardown(way.close)
  const stage = await stageNotifier(t, {
    apiPort: way.port,
    onSimulator: port => {
      target.port = port
    },
    behaviour: neverInTime,
    withWebhooks: true,
  })
  const longest = await loseAnswers(stage, broken)
  const once = await refuseConnections(stage, way, broken)
  const measured = { 'answers lost': count, 'settled within s': rounded(longest, 2), 'refused and sent once': once }
  return { measured, broken: broken.sentences }
}

export const sendAnswers: TrustPromise = {
  name: 'send-answers',
  promise: 'A send whose answer is lost is unknown until a webhook settles it; one that was never written is sent once',
  limit: '100 lost answers: all unknown, each settled within 1 s; 100 connections refused: all sent once',
  run,
}
