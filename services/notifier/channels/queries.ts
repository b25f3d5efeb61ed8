import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { type Selectable, sql } from 'kysely'
import type { Tables, Tx } from '../database/tables.ts'

/** A number that messages may be sent from. */
export interface SendingChannel {
  readonly phoneNumberId: string
  readonly name: string
  readonly plan: 'free' | 'paid'
  readonly isDefault: boolean
  readonly wabaId: string | null
}

/** The numbers of a tenant, as messages are checked against them. */
export const findSendingChannels = async (tx: Tx, tenant: string): Promise<SendingChannel[]> => {
  const rows = await tx
    .selectFrom('channels')
    .select(['phone_number_id', 'name', 'plan', 'is_default', 'waba_id'])
    .where('tenant_id', '=', tenant)
    .orderBy('phone_number_id')
    .execute()
  return rows.map(row => ({
    phoneNumberId: row.phone_number_id,
    name: row.name,
    plan: row.plan,
    isDefault: row.is_default,
    wabaId: row.waba_id,
  }))
}

export type ChannelRow = Selectable<Tables['channels']>

/** The tenant's channel of that id, which may be any text. */
export const findChannel = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<ChannelRow | undefined> =>
  /^[0-9]{1,32}$/.test(phoneNumberId)
    ? tx
        .selectFrom('channels')
        .selectAll()
        .where('tenant_id', '=', tenant)
        .where('phone_number_id', '=', phoneNumberId)
        .executeTakeFirst()
    : undefined

export const findChannels = (tx: Tx, tenant: string) =>
  tx.selectFrom('channels').selectAll().where('tenant_id', '=', tenant).orderBy('phone_number_id').execute()

/** Stops a number's sending; its messages stay queued. A pause that is there already keeps its reason. */
export const pauseChannel = (tx: Tx, tenant: string, phoneNumberId: string, code: number | null, reason: string) =>
  tx
    .updateTable('channels')
    .set({ state: 'paused', paused_code: code, paused_reason: reason })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .where('state', '=', 'active')
    .returning('phone_number_id')
    .execute()

/** Lets a number send again: lifts its pause, and its rest. */
export const resumeChannel = async (tx: Tx, tenant: string, phoneNumberId: string, by: Actor) => {
  const resumed = await tx
    .updateTable('channels')
    .set({ state: 'active', paused_code: null, paused_reason: null, not_before: null })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .returning('phone_number_id')
    .execute()
  if (resumed.length > 0) await audit(tx, tenant, by, 'channel.resumed', phoneNumberId)
}

/** No send of the number before that time. */
export const restChannel = (tx: Tx, tenant: string, phoneNumberId: string, seconds: number) =>
  tx
    .updateTable('channels')
    .set({ not_before: sql<Date>`greatest(not_before, now() + make_interval(secs => ${seconds}))` })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .execute()

/** Lowers the number's rate and pauses it briefly (130429); the rate recovers by itself. */
export const slowChannel = (
  tx: Tx,
  tenant: string,
  phoneNumberId: string,
  { slowedRate, restSeconds }: { slowedRate: number; restSeconds: number },
) =>
  tx
    .updateTable('channels')
    .set({
      slowed_rate: slowedRate,
      slowed_at: sql<Date>`now()`,
      not_before: sql<Date>`now() + make_interval(secs => ${restSeconds})`,
    })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    // A burst of refusals slows it once: messages sent before the pause began add no information.
    .where(({ eb, or }) => or([eb('not_before', 'is', null), eb('not_before', '<=', sql<Date>`now()`)]))
    .execute()
