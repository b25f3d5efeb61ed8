import { createHash } from 'node:crypto'
import type { Change } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, required } from '@courier/shared/errors/field-errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import type { Tx } from '../database/tables.ts'
import type { ChannelChange } from './fields.ts'
import { type ChannelRow, findChannel, updateChannel } from './queries.ts'
import { type ChannelDependencies, storeSecret } from './secrets.ts'
import { type Channel, readChannel } from './view.ts'

export const defaultMessagesPerSecond = 80

type PutResult =
  | { kind: 'stored'; isNew: boolean; changed: string[]; channel: Channel }
  | { kind: 'refused'; errors: FieldErrors }

export const putChannel = async (
  { pool, keyring, tokens }: ChannelDependencies,
  tenant: string,
  change: ChannelChange,
  by: Actor,
): Promise<PutResult> => {
  const { phone_number_id: id, name = '', verify_token = '' } = change
  const bad = Object.entries({ name, verify_token }).filter(([, text]) => isBadText(text))
  const errors = Object.fromEntries(bad.map(([field]) => [field, [badText(field)]]))
  if (bad.length > 0) return { kind: 'refused', errors }
  const result = await inTenant(pool, tenant, async (tx: Tx): Promise<PutResult> => {
    await lockTenant(tx, tenant)
    const isNew = (await findChannel(tx, tenant, id)) === undefined
    if (isNew && change.access_token === undefined)
      return { kind: 'refused', errors: { access_token: [required('access_token')] } }
    const changes = await storeChannels(tx, keyring, tenant, [change])
    if (changes.length > 0) await audit(tx, tenant, by, isNew ? 'channel.created' : 'channel.changed', id)
    const changed = changes.map(({ kind, id }) => `${kind} ${id}`)
    return { kind: 'stored', isNew, changed, channel: (await readChannel(tx, tenant, id)) as Channel }
  })
  if (result.kind === 'stored') tokens.forget(tenant, id)
  return result
}

/**
 * Creates unproven channels, or changes existing ones; returns the changes. Hold `lockTenant`. Messages are locked
 * before numbers, and all of the tenant's numbers in their order: docs/contributors/decisions.md#order-of-locks.
 */
export const storeChannels = async (tx: Tx, keyring: Keyring, tenant: string, wanted: readonly ChannelChange[]) => {
  const paid = wanted.filter(({ plan }) => plan === 'paid').map(({ phone_number_id }) => phone_number_id)
  if (paid.length > 0) await releaseAllHeld(tx, tenant, paid)
  await sql`select from channels where tenant_id = ${tenant} order by phone_number_id for no key update`.execute(tx)
  const changes: Change[] = []
  for (const channel of wanted) changes.push(...(await storeChannel(tx, keyring, tenant, channel)))
  return changes
}

/** Stores a channel. A new one needs an access token; it gets webhooks with app secret and verify token only. */
const storeChannel = async (tx: Tx, keyring: Keyring, tenant: string, wanted: ChannelChange): Promise<Change[]> => {
  const { phone_number_id: id } = wanted
  const current = await findChannel(tx, tenant, id)
  const demoted = wanted.default ? await demoteOthers(tx, tenant, id) : []
  if (!current) await insert(tx, tenant, wanted)
  const changed = current && (await change(tx, tenant, wanted, current)) ? [toChange(id, 'changed')] : []
  const secrets = await storeSecrets(tx, keyring, tenant, wanted)
  return [...demoted, ...(current ? [...changed, ...secrets] : [toChange(id, 'added')])]
}

const toChange = (id: string, change: Change['change']): Change => ({ kind: 'channel', id, change })

const insert = (tx: Tx, tenant: string, wanted: ChannelChange) => {
  const { phone_number_id, name = phone_number_id, plan = 'paid', waba_id = null, verify_token } = wanted
  if (wanted.access_token === undefined) throw new Error(`channel ${phone_number_id} has no access token`)
  // The hash of no token is empty.
  const verify_token_hash = verify_token === undefined ? Buffer.alloc(0) : hash(verify_token)
  const rate = wanted.messages_per_second ?? defaultMessagesPerSecond
  const is_default = wanted.default ?? false
  return tx
    .insertInto('channels')
    .values({ tenant_id: tenant, phone_number_id, name, plan, waba_id, verify_token_hash, rate, is_default })
    .execute()
}

const change = async (tx: Tx, tenant: string, wanted: ChannelChange, current: ChannelRow): Promise<boolean> => {
  const { name, plan, waba_id, default: is_default, messages_per_second: rate, verify_token } = wanted
  const differing = Object.entries({ name, plan, is_default, waba_id, rate }).filter(
    ([column, value]) => value !== undefined && value !== current[column as keyof ChannelRow],
  )
  const tokenHash = verify_token === undefined ? current.verify_token_hash : hash(verify_token)
  if (!tokenHash.equals(current.verify_token_hash)) differing.push(['verify_token_hash', tokenHash as never])
  if (differing.length === 0) return false
  return updateChannel(tx, tenant, wanted.phone_number_id, Object.fromEntries(differing))
}

/** Queues messages held for a conversation, which they no longer need once a free number is paid. */
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

const hash = (verifyToken: string): Buffer => createHash('sha256').update(verifyToken).digest()

/** Demotes the other channels: a tenant has one default channel at most. */
const demoteOthers = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Change[]> => {
  const { rows } = await sql<{ phone_number_id: string }>`
    update channels set is_default = false where tenant_id = ${tenant} and phone_number_id <> ${phoneNumberId} and is_default
    returning phone_number_id`.execute(tx)
  return rows.map(({ phone_number_id }) => toChange(phone_number_id, 'changed'))
}

const storeSecrets = async (tx: Tx, keyring: Keyring, tenant: string, wanted: ChannelChange): Promise<Change[]> => {
  const { phone_number_id: id } = wanted
  const changes: Change[] = []
  for (const kind of ['access_token', 'app_secret', 'pin'] as const) {
    const text = wanted[kind]
    if (text === undefined) continue
    const stored = await storeSecret(tx, keyring, { tenant, phoneNumberId: id, kind }, text)
    if (stored === 'unchanged') continue
    // A new token may prove a number that the old one did not.
    if (kind === 'access_token') await updateChannel(tx, tenant, id, { proof_due_at: sql<Date>`now()`, proof_tries: 0 })
    changes.push({ kind: kind.replace('_', ' '), id, change: stored })
  }
  return changes
}
