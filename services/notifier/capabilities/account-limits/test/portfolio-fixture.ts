import { inAllTenants } from '@courier/shared/postgres/all-tenants.ts'
import type { Test } from 'tap'
import { readDue } from '../../../core/channels/prove.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { createFixture, messageTo, until } from '../../../test/fixture.ts'
import { accountLimits } from '../capability.ts'
import { openRoom } from '../defer-for-room.ts'

export const phone = (index: number): string => `077${String(1_000_000 + index)}`

export const wabaId = '102290129340398'

/** Reads all numbers that are due, with their limits. One read skips a number that a running queue has locked. */
export const readDueLimits = async (reader: Parameters<typeof readDue>[0]): Promise<void> => {
  const points = accountLimits.channel ? [accountLimits.channel] : []
  const due = () =>
    inAllTenants(reader.pool, (tx: Tx) => tx.rows('select from channels where portfolio_due_at <= now() limit 1'))
  await until('all numbers are read', async () => {
    await readDue({ ...reader, points })
    return (await due()).length === 0
  })
}

/** Prepares a number whose portfolio may reach `limit` people a day, and a queue that a test starts. */
export const prepareLimit = async (t: Test, limit = 25) =>
  limitPortfolio(await createFixture(t, { isRunning: false, wabaId }), limit)

/** Limits the portfolio of a number that is prepared already. */
export const limitPortfolio = async <Fixture extends Awaited<ReturnType<typeof createFixture>>>(
  fixture: Fixture,
  limit: number,
) => {
  const { accept, control, rows, pool, queue } = fixture
  control.behave({ portfolio_limit: limit })
  await readDueLimits(fixture)
  /** Moves everything that has happened a day back, for the platform too. */
  const passDay = async () => {
    await rows(`update portfolio_people set reached_at = reached_at - interval '24 hours'`)
    control.behave({ portfolio_limit: limit })
    await openRoom(pool)
  }
  const left = () => rows(`select message_id as id from messages where status = 'accepted' order by message_id`)
  const isIdle = async () =>
    (await rows(`select from messages where status = 'sending' or status = 'queued' and due_at <= now()`)).length === 0
  const settled = (accepted: number) =>
    until(`${accepted} left`, async () => (await left()).length === accepted && (await isIdle()), 120)
  const failed = () => control.messages({ limit: 10_000 }).filter(({ status }) => status === 'failed').length
  /** Accepts messages to as many people, from that one on. */
  const acceptTo = async (first: number, count: number): Promise<string[]> => {
    const ids: string[] = []
    for (let index = first; index < first + count; index += 50) {
      const size = Math.min(50, first + count - index)
      ids.push(...(await accept(...Array.from({ length: size }, (_, each) => messageTo(phone(index + each))))))
    }
    return ids
  }
  return { ...fixture, acceptTo, passDay, left, isIdle, settled, failed, start: () => queue.start() }
}

/** Sends `count` messages through a limit of `limit` a day, and checks that all leave in order, and none fails. */
export const leaveDayByDay = async (t: Test, limit: number, count: number): Promise<void> => {
  const { acceptTo, control, rows, passDay, left, settled, failed, start } = await prepareLimit(t, limit)
  const ids = (await acceptTo(0, count)).toSorted()
  start()
  for (let day = 1; day <= count / limit; day++) {
    await settled(day * limit)
    t.same(
      (await left()).map(({ id }) => id),
      ids.slice(0, day * limit),
      `day ${day}`,
    )
    t.equal(failed(), 0)
    t.same(await rows('select used from portfolios'), [{ used: limit }])
    await passDay()
  }
  t.equal(control.messages({ limit: 10_000 }).length, count)
  t.same(await rows('select from portfolio_waiting'), [])
}
