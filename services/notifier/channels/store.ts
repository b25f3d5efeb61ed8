import { createHash } from 'node:crypto'
import type { Change } from '@courier/shared/cli/changes.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import { type ChannelRow, findChannel } from './queries.ts'
import { storeSecret } from './secrets.ts'
import type { SecretKind } from './vault.ts'

/** The fields of a channel to set; what is left out stays as it is. Secrets are in the clear. */
export interface ChannelChange {
  readonly phoneNumberId: string
  readonly name?: string | undefined
  readonly plan?: 'free' | 'paid' | undefined
  readonly isDefault?: boolean | undefined
  readonly wabaId?: string | null | undefined
  readonly messagesPerSecond?: number | undefined
  readonly verifyToken?: string | undefined
  readonly accessToken?: string | undefined
  readonly appSecret?: string | undefined
  readonly pin?: string | undefined
}

export const defaultMessagesPerSecond = 80

/**
 * Creates channels, unproven, or changes them; returns what changed. Hold `lockTenant`. Messages are locked before numbers, and
 * all of the tenant's numbers in their order: docs/contributors/decisions.md#order-of-locks.
 */
export const storeChannels = async (
  tx: Tx,
  keyring: Keyring,
  tenant: string,
  wanted: readonly ChannelChange[],
): Promise<Change[]> => {
  const paid = wanted.filter(({ plan }) => plan === 'paid').map(({ phoneNumberId }) => phoneNumberId)
  if (paid.length > 0) await releaseAllHeld(tx, tenant, paid)
  await sql`select from channels where tenant_id = ${tenant} order by phone_number_id for no key update`.execute(tx)
  const changes: Change[] = []
  for (const channel of wanted) changes.push(...(await storeChannel(tx, keyring, tenant, channel)))
  return changes
}

/**
 * Creates the channel or changes it. A new one needs an access token;
 * without app secret and verify token it sends, and has no webhooks.
 */
const storeChannel = async (tx: Tx, keyring: Keyring, tenant: string, wanted: ChannelChange): Promise<Change[]> => {
  const { phoneNumberId } = wanted
  const current = await findChannel(tx, tenant, phoneNumberId)
  const demoted = wanted.isDefault ? await demoteOthers(tx, tenant, phoneNumberId) : []
  if (current)
    return [
      ...demoted,
      ...(await change(tx, tenant, wanted, current)),
      ...(await storeSecrets(tx, keyring, tenant, wanted)),
    ]
  if (wanted.accessToken === undefined) throw new Error(`channel ${phoneNumberId} has no access token`)
  await insert(tx, tenant, wanted)
  await storeSecrets(tx, keyring, tenant, wanted)
  return [...demoted, { kind: 'channel', id: phoneNumberId, change: 'added' }]
}

const insert = (tx: Tx, tenant: string, wanted: ChannelChange) =>
  tx
    .insertInto('channels')
    .values({
      tenant_id: tenant,
      phone_number_id: wanted.phoneNumberId,
      name: wanted.name ?? wanted.phoneNumberId,
      plan: wanted.plan ?? 'paid',
      is_default: wanted.isDefault ?? false,
      waba_id: wanted.wabaId ?? null,
      // No token has an empty hash.
      verify_token_hash: wanted.verifyToken === undefined ? Buffer.alloc(0) : hashOf(wanted.verifyToken),
      rate: wanted.messagesPerSecond ?? defaultMessagesPerSecond,
    })
    .execute()

const change = async (tx: Tx, tenant: string, wanted: ChannelChange, current: ChannelRow): Promise<Change[]> => {
  const columns = {
    name: wanted.name,
    plan: wanted.plan,
    is_default: wanted.isDefault,
    waba_id: wanted.wabaId,
    rate: wanted.messagesPerSecond,
    verify_token_hash: wanted.verifyToken === undefined ? undefined : hashOf(wanted.verifyToken),
  }
  const differing = Object.entries(columns).filter(
    ([column, value]) => value !== undefined && !isSame(value, current[column as keyof typeof columns]),
  )
  if (differing.length === 0) return []
  await tx
    .updateTable('channels')
    .set(Object.fromEntries(differing))
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', wanted.phoneNumberId)
    .execute()
  return [{ kind: 'channel', id: wanted.phoneNumberId, change: 'changed' }]
}

/** Messages held for a conversation need none once a free number is paid. */
const releaseAllHeld = (tx: Tx, tenant: string, phoneNumberIds: readonly string[]) =>
  sql`
    with held as (
      select m.message_id from messages m join channels c using (tenant_id, phone_number_id)
      where m.tenant_id = ${tenant} and m.phone_number_id = any(${phoneNumberIds}::text[]) and m.status = 'held' and c.plan = 'free'
      order by m.message_id
      for update of m
    ), released as (
      update messages m set status = 'queued', status_at = now(), due_at = now()
      from held where m.tenant_id = ${tenant} and m.message_id = held.message_id
      returning m.tenant_id, m.message_id
    )
    insert into message_events (tenant_id, message_id, status, detail)
    select tenant_id, message_id, 'queued', 'the channel is paid now' from released`.execute(tx)

const isSame = (a: unknown, b: unknown): boolean => (Buffer.isBuffer(a) && Buffer.isBuffer(b) ? a.equals(b) : a === b)

/** As `isVerifyToken` compares it. */
const hashOf = (verifyToken: string): Buffer => createHash('sha256').update(verifyToken).digest()

/** A tenant has one default channel at most. */
const demoteOthers = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Change[]> => {
  const rows = await tx
    .updateTable('channels')
    .set({ is_default: false })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '<>', phoneNumberId)
    .where('is_default', '=', true)
    .returning('phone_number_id')
    .execute()
  return rows.map(row => ({ kind: 'channel', id: row.phone_number_id, change: 'changed' }))
}

/** A new token may prove what the old one did not. */
const proveSoon = (tx: Tx, tenant: string, phoneNumberId: string) =>
  tx
    .updateTable('channels')
    .set({ proof_due_at: sql<Date>`now()`, proof_tries: 0 })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .where('proven_at', 'is', null)
    .execute()

const storeSecrets = async (tx: Tx, keyring: Keyring, tenant: string, wanted: ChannelChange): Promise<Change[]> => {
  const { phoneNumberId } = wanted
  const secrets: [SecretKind, string | undefined][] = [
    ['access_token', wanted.accessToken],
    ['app_secret', wanted.appSecret],
    ['pin', wanted.pin],
  ]
  const changes: Change[] = []
  for (const [kind, text] of secrets) {
    if (text === undefined) continue
    const stored = await storeSecret(tx, keyring, { tenant, phoneNumberId, kind }, text)
    if (stored === 'unchanged') continue
    if (kind === 'access_token') await proveSoon(tx, tenant, phoneNumberId)
    changes.push({ kind: kind.replace('_', ' '), id: phoneNumberId, change: stored })
  }
  return changes
}
