import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Measure } from './compare.ts'
import { postgresCpuSeconds, sumOfCpuSeconds } from './cpu.ts'
import type { Target } from './measure-load.ts'
import type { NotifierGround } from './notifier-ground.ts'
import { queueMessages, removeMessages } from './notifier-messages.ts'

const messagesPerSecond = 2000
const stallSeconds = 60

/**
 * The queues of running services: from the first message that leaves until all are stored as accepted. Throws when they
 * do not get there.
 */
export const measureService =
  ({ superuser }: NotifierGround, { processes }: Target): Measure =>
  async wishedSeconds => {
    const messages = Math.ceil(messagesPerSecond * wishedSeconds)
    await removeMessages(superuser)
    const before = await sumOfCpuSeconds(processes)
    const postgresBefore = await postgresCpuSeconds(superuser)
    await queueMessages(superuser, 'large', messages)
    await until(async () => (await countLeft(superuser)).queued < messages)
    const start = performance.now()
    await until(async () => (await countLeft(superuser)).open === 0)
    const seconds = (performance.now() - start) / 1000
    const postgresSeconds = (await postgresCpuSeconds(superuser)) - postgresBefore
    const nodeSeconds = (await sumOfCpuSeconds(processes)) - before
    const callMilliseconds = new Array(messages).fill(Number.NaN)
    return { seconds, callMilliseconds, cpuSeconds: Number.NaN, nodeSeconds, postgresSeconds }
  }

const countLeft = async (superuser: pg.Client): Promise<{ queued: number; open: number }> => {
  const { rows } = await superuser.query(
    `select count(*) filter (where status = 'queued')::integer as queued,
      count(*) filter (where status <> 'accepted')::integer as open from messages`,
  )
  return rows[0]
}

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  const deadline = performance.now() + stallSeconds * 1000
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`the queue did not finish within ${stallSeconds} s`)
    await delay(20)
  }
}
