import { setTimeout as delay } from 'node:timers/promises'
import { rounded } from '../bench/figures.ts'
import { freePort } from '../dev/ports.ts'
import { startProxy } from '../dev/tcp-proxy.ts'
import { eventually } from '../test/courier.ts'
import { acceptances, type Courier, countByStatus, handOver, stageCourier } from './courier-stage.ts'
import type { Broken, TrustPromise } from './promise.ts'

const count = 100
const settleSeconds = 1

/** A hundred sends whose responses are lost; then the API reports each. Returns the longest time in seconds. */
const loseAnswers = async (courier: Courier, broken: Broken): Promise<number> => {
  for (const kind of ['lost', 'half'])
    await courier.control('/scripts', { times: count / 2, trouble: { kind, accepted: true } })
  const ids = await handOver(courier, count)
  const isOver = ({ queued = 0, sending = 0 }: Record<string, number>) => queued + sending === 0
  const counts = await eventually('every send is over', () => countByStatus(courier), isOver, 60)
  broken.require(counts.unknown === count, `${JSON.stringify(counts)} after ${count} lost responses`)
  const arrived = await acceptances(courier)
  let longest = 0
  for (const id of ids) {
    const [message, again] = arrived.get(id) ?? []
    broken.require(message !== undefined && again === undefined, `${id} did not arrive once`)
    const started = performance.now()
    await courier.control('/statuses', { message_id: message?.id, status: 'delivered' })
    const look = () => courier.rows('notifier', 'select status from messages where message_id = $1', [id])
    const isSettled = ([row]: Record<string, unknown>[]) => row?.status === 'delivered'
    while (!isSettled(await look()) && performance.now() - started < 30_000) await delay(10)
    longest = Math.max(longest, (performance.now() - started) / 1000)
  }
  broken.require(longest < settleSeconds, `a webhook took ${longest} s to settle its message`)
  return longest
}

/** A hundred sends to an API whose connections break and that takes no new one for a while. */
const refuseConnections = async (
  courier: Courier,
  way: { cut: () => Promise<void>; restore: () => Promise<void> },
  broken: Broken,
): Promise<number> => {
  const accepted = async () => (await courier.control('')).accepted
  const before = await accepted()
  await way.cut()
  const ids = await handOver(courier, count, count)
  const tried = () =>
    courier.rows('notifier', 'select 1 from messages where attempts > 0 and message_id = any($1)', [ids])
  await eventually('every send was tried', tried, ({ length }) => length === count, 30)
  broken.require((await accepted()) === before, 'a message went through a connection that was cut')
  await way.restore()
  await eventually('all have left', accepted, number => number >= before + count, 60)
  const arrived = await acceptances(courier)
  const once = ids.filter(id => arrived.get(id)?.length === 1).length
  broken.require(once === count, `${once} of ${count} messages whose connection was refused were sent once`)
  const { unknown = 0 } = await countByStatus(courier)
  broken.require(unknown === 0, `${unknown} messages are unknown although nothing was written`)
  return once
}

export const promise: TrustPromise = {
  promise:
    'A send whose response is lost is unknown until a webhook settles it; one that was never written is sent once',
  limit: '100 lost responses: all unknown, each settled within 1 s; 100 connections refused: all sent once',
  run: async t => {
    const simulatorPort = await freePort()
    const way = await startProxy({ host: '127.0.0.1', port: simulatorPort })
    t.teardown(way.close)
    const courier = await stageCourier(t, {
      simulatorPort,
      notifier: { MESSAGING_API_URL: `http://127.0.0.1:${way.port}` },
      // Statuses that the simulator plans by itself come long after.
      simulator: { SIMULATOR_DELAY_FACTOR: '100' },
    })
    const longest = await loseAnswers(courier, t.broken)
    const once = await refuseConnections(courier, way, t.broken)
    return { 'responses lost': count, 'settled within s': rounded(longest, 2), 'refused and sent once': once }
  },
}
