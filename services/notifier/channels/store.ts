import { createHash } from 'node:crypto'
import type { Change } from '@courier/shared/changes.ts'
import { inTenant } from '@courier/shared/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'
import { findChannel } from './queries.ts'
import { storeSecret } from './secrets.ts'
import type { Keyring, SecretKind } from './vault.ts'

/** What a channel is to be; what is left out stays as it is. Secrets are in the clear. */
export interface ChannelWish {
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

type NewChannel = ChannelWish & Required<Pick<ChannelWish, 'name' | 'plan' | 'verifyToken'>>

/** The fields that a new channel cannot do without, as callers name them. */
export const missingIn = (wish: ChannelWish): string[] =>
  (
    [
      ['name', wish.name],
      ['plan', wish.plan],
      ['access_token', wish.accessToken],
      ['app_secret', wish.appSecret],
      ['verify_token', wish.verifyToken],
    ] as const
  ).flatMap(([field, value]) => (value === undefined ? [field] : []))

/**
 * Creates the channel or changes it, and tells what differs. Hold `lockTenant`. Throws for a new channel that lacks what
 * `missingIn` names.
 */
export const storeChannel = async (tx: Tx, keyring: Keyring, tenant: string, wish: ChannelWish): Promise<Change[]> => {
  const { phoneNumberId } = wish
  const current = await findChannel(tx, tenant, phoneNumberId)
  const demoted = wish.isDefault ? await demoteOthers(tx, tenant, phoneNumberId) : []
  if (current)
    return [
      ...demoted,
      ...(await change(tx, tenant, wish, current)),
      ...(await storeSecrets(tx, keyring, tenant, wish)),
    ]
  if (missingIn(wish).length > 0) throw new Error(`channel ${phoneNumberId} cannot be made of what was given`)
  await insert(tx, tenant, wish as NewChannel)
  await storeSecrets(tx, keyring, tenant, wish)
  return [...demoted, { kind: 'channel', id: phoneNumberId, change: 'added' }]
}

const insert = (tx: Tx, tenant: string, wish: NewChannel) =>
  tx
    .insertInto('channels')
    .values({
      tenant_id: tenant,
      phone_number_id: wish.phoneNumberId,
      name: wish.name as string,
      plan: wish.plan as 'free' | 'paid',
      is_default: wish.isDefault ?? false,
      waba_id: wish.wabaId ?? null,
      verify_token_hash: hashOf(wish.verifyToken as string),
      rate: wish.messagesPerSecond ?? defaultMessagesPerSecond,
    })
    .execute()

type Row = NonNullable<Awaited<ReturnType<typeof findChannel>>>

const change = async (tx: Tx, tenant: string, wish: ChannelWish, current: Row): Promise<Change[]> => {
  const wanted = {
    name: wish.name,
    plan: wish.plan,
    is_default: wish.isDefault,
    waba_id: wish.wabaId,
    rate: wish.messagesPerSecond,
    verify_token_hash: wish.verifyToken === undefined ? undefined : hashOf(wish.verifyToken),
  }
  const differing = Object.entries(wanted).filter(
    ([column, value]) => value !== undefined && !isSame(value, current[column as keyof typeof wanted]),
  )
  if (differing.length === 0) return []
  await tx
    .updateTable('channels')
    .set(Object.fromEntries(differing))
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', wish.phoneNumberId)
    .execute()
  // What waited for a conversation need not wait any longer.
  if (wish.plan === 'paid' && current.plan === 'free') await releaseAllHeld(tx, tenant, wish.phoneNumberId)
  return [{ kind: 'channel', id: wish.phoneNumberId, change: 'changed' }]
}

const releaseAllHeld = (tx: Tx, tenant: string, phoneNumberId: string) =>
  sql`
    with released as (
      update messages set status = 'queued', status_at = now(), due_at = now()
      where tenant_id = ${tenant} and phone_number_id = ${phoneNumberId} and status = 'held'
      returning tenant_id, message_id
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

const storeSecrets = async (tx: Tx, keyring: Keyring, tenant: string, wish: ChannelWish): Promise<Change[]> => {
  const { phoneNumberId } = wish
  const secrets: [SecretKind, string | undefined][] = [
    ['access_token', wish.accessToken],
    ['app_secret', wish.appSecret],
    ['pin', wish.pin],
  ]
  const changes: Change[] = []
  for (const [kind, text] of secrets) {
    if (text === undefined) continue
    const stored = await storeSecret(tx, keyring, { tenant, phoneNumberId, kind }, text)
    if (stored !== 'unchanged') changes.push({ kind: kind.replace('_', ' '), id: phoneNumberId, change: stored })
  }
  return changes
}

/** Those of the numbers that another tenant has: row-level security hides them from the tenant's own transactions. */
export const findForeignNumbers = async (
  pool: pg.Pool,
  tenant: string,
  phoneNumberIds: readonly string[],
): Promise<string[]> => {
  const rows = await inTenant<Tables, { phone_number_id: string }[]>(pool, '*', tx =>
    tx
      .selectFrom('channels')
      .select('phone_number_id')
      .where('phone_number_id', '=', sql<string>`any(${phoneNumberIds}::text[])`)
      .where('tenant_id', '<>', tenant)
      .execute(),
  )
  return rows.map(row => row.phone_number_id)
}

/** Another tenant made a channel of the number a moment ago. */
export const isNumberTaken = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === '23505'
