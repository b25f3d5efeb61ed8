import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { query } from '@courier/shared/postgres/database.ts'
import { sql, type UpdateObject } from 'kysely'
import type { ChannelRow, Tables, Tx } from '../database/tables.ts'

export const isPhoneNumberId = (text: string): boolean => /^[0-9]{1,32}$/.test(text)

/** Finds the tenant's channel with that id, which may be any text. */
export const findChannel = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<ChannelRow | undefined> => {
  if (!isPhoneNumberId(phoneNumberId)) return undefined
  const rows = await query<ChannelRow>(tx)`
    select * from channels where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}`
  return rows[0]
}

type Changes = UpdateObject<Tables, 'channels'>

/** Changes the tenant's channel with that id; returns false if there is none. */
export const updateChannel = async (tx: Tx, tenant: string, phoneNumberId: string, changes: Changes) => {
  const updating = tx
    .updateTable('channels')
    .set(changes)
    .where(eb => eb.and({ tenant_id: tenant, phone_number_id: phoneNumberId }))
  return (await updating.executeTakeFirst()).numUpdatedRows > 0n
}

/**
 * Stops a number's sending; its messages stay queued. An existing pause keeps its reason. Returns the number's row, or
 * no row if the number was paused before.
 */
export const pauseChannel = (tx: Tx, tenant: string, phoneNumberId: string, code: number | null, reason: string) =>
  query(tx)`
    update channels set state = 'paused', paused_code = ${code}, paused_reason = ${reason}
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId} and state = 'active' returning phone_number_id`

/** Ends a pause or rest. From then on, waiting for earlier messages counts: `not_before` keeps the time. */
export const resumeChannel = async (tx: Tx, tenant: string, phoneNumberId: string, by: Actor): Promise<void> => {
  const resumed = { state: 'active', paused_code: null, paused_reason: null, not_before: sql<Date>`now()` } as const
  if (await updateChannel(tx, tenant, phoneNumberId, resumed))
    await audit(tx, tenant, by, 'channel.resumed', phoneNumberId)
}

export const restChannel = (tx: Tx, tenant: string, phoneNumberId: string, seconds: number) =>
  updateChannel(tx, tenant, phoneNumberId, {
    not_before: sql<Date>`greatest(not_before, now() + make_interval(secs => ${seconds}))`,
  })

/** Lowers the number's rate and rests the number briefly, after error 130429; the rate recovers gradually. */
export const slowChannel = (
  tx: Tx,
  tenant: string,
  phoneNumberId: string,
  { slowedRate, restSeconds }: { slowedRate: number; restSeconds: number },
) =>
  sql`
    update channels
    set slowed_rate = ${slowedRate}, slowed_at = now(), not_before = now() + make_interval(secs => ${restSeconds})
    where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId}
      -- A burst of refusals slows the number once: messages sent before the rest add no information.
      and (not_before is null or not_before <= now())`.execute(tx)
