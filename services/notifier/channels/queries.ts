import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { type Selectable, sql, type UpdateObject } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'

export type ChannelRow = Selectable<Tables['channels']>

export const isPhoneNumberId = (text: string): boolean => /^[0-9]{1,32}$/.test(text)

/** Finds the tenant's channel with that id, which may be any text. */
export const findChannel = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<ChannelRow | undefined> =>
  isPhoneNumberId(phoneNumberId)
    ? tx
        .selectFrom('channels')
        .selectAll()
        .where(eb => eb.and({ tenant_id: tenant, phone_number_id: phoneNumberId }))
        .executeTakeFirst()
    : undefined

type Changes = UpdateObject<Tables, 'channels'>

/** Changes the tenant's channel with that id; the code that uses it may narrow the query further. */
const changeOne = (tx: Tx, tenant: string, phoneNumberId: string, changes: Changes) =>
  tx
    .updateTable('channels')
    .set(changes)
    .where(eb => eb.and({ tenant_id: tenant, phone_number_id: phoneNumberId }))
    .returning('phone_number_id')

export const updateChannel = async (
  tx: Tx,
  tenant: string,
  phoneNumberId: string,
  changes: Changes,
): Promise<boolean> => (await changeOne(tx, tenant, phoneNumberId, changes).execute()).length > 0

/** Stops a number's sending; its messages stay queued. An existing pause keeps its reason. */
export const pauseChannel = (tx: Tx, tenant: string, phoneNumberId: string, code: number | null, reason: string) =>
  changeOne(tx, tenant, phoneNumberId, { state: 'paused', paused_code: code, paused_reason: reason })
    .where('state', '=', 'active')
    .execute()

export const resumeChannel = async (tx: Tx, tenant: string, phoneNumberId: string, by: Actor): Promise<void> => {
  const resumed = { state: 'active', paused_code: null, paused_reason: null, not_before: null } as const
  if (await updateChannel(tx, tenant, phoneNumberId, resumed))
    await audit(tx, tenant, by, 'channel.resumed', phoneNumberId)
}

export const restChannel = (tx: Tx, tenant: string, phoneNumberId: string, seconds: number) =>
  updateChannel(tx, tenant, phoneNumberId, {
    not_before: sql<Date>`greatest(not_before, now() + make_interval(secs => ${seconds}))`,
  })

/** Lowers the number's rate and pauses it briefly (130429); the rate recovers gradually. */
export const slowChannel = (
  tx: Tx,
  tenant: string,
  phoneNumberId: string,
  { slowedRate, restSeconds }: { slowedRate: number; restSeconds: number },
) =>
  changeOne(tx, tenant, phoneNumberId, {
    slowed_rate: slowedRate,
    slowed_at: sql<Date>`now()`,
    not_before: sql<Date>`now() + make_interval(secs => ${restSeconds})`,
  })
    // A burst of refusals slows it once: messages sent before the pause add no information.
    .where(({ eb, or }) => or([eb('not_before', 'is', null), eb('not_before', '<=', sql<Date>`now()`)]))
    .execute()
