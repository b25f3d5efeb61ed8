import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Change } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, required } from '@courier/shared/errors/field-errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import type { Keyring } from '@courier/shared/vault.ts'
import { sql } from 'kysely'
import { releaseAllHeld } from '../conversations/queries.ts'
import type { ChannelRow, Tx } from '../database/tables.ts'
import type { ChannelChange } from './fields.ts'
import { findChannel, updateChannel } from './queries.ts'
import { type ChannelDependencies, storeSecret } from './secrets.ts'
import { type Channel, readChannel } from './view.ts'

type PutResult =
  | { kind: 'stored'; isNew: boolean; changed: string[]; channel: Channel }
  | { kind: 'refused'; errors: FieldErrors }

export const putChannel = async (
  { pool, keyring, tokens, points }: ChannelDependencies,
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
    return { kind: 'stored', isNew, changed, channel: (await readChannel(tx, tenant, id, points)) as Channel }
  })
  if (result.kind === 'stored') tokens.forget(tenant, id)
  return result
}

/**
 * Creates unproven channels, or changes existing ones; returns the changes. The caller holds `lockTenant`. Messages are
 * locked before numbers, and all of the tenant's numbers in their order:
 * docs/contributors/decisions.md#order-of-locks.
 */
export const storeChannels = async (tx: Tx, keyring: Keyring, tenant: string, wanted: readonly ChannelChange[]) => {
  const paid = wanted.filter(({ plan }) => plan === 'paid').map(({ phone_number_id }) => phone_number_id)
  if (paid.length > 0) await releaseAllHeld(tx, tenant, paid)
  await sql`select from channels where tenant_id = ${tenant} order by phone_number_id for no key update`.execute(tx)
  const changes: Change[] = []
  for (const channel of wanted) changes.push(...(await storeChannel(tx, keyring, tenant, channel)))
  return changes
}

/** Stores a channel. A new one needs an access token; it gets webhooks only with an app secret and a verify token. */
const storeChannel = async (tx: Tx, keyring: Keyring, tenant: string, wanted: ChannelChange): Promise<Change[]> => {
  const { phone_number_id: id, name, plan, waba_id, default: is_default, messages_per_second: rate } = wanted
  const current = await findChannel(tx, tenant, id)
  if (!current && wanted.access_token === undefined) throw new Error(`channel ${id} has no access token`)
  const demoted = is_default ? await demoteOthers(tx, tenant, id) : []
  const verify_token_hash = wanted.verify_token === undefined ? undefined : hash(wanted.verify_token)
  const differing = Object.entries({ name, plan, waba_id, is_default, rate, verify_token_hash }).filter(
    ([column, value]) => value !== undefined && !isDeepStrictEqual(value, current?.[column as keyof ChannelRow]),
  )
  const changes = Object.fromEntries(differing)
  const created = { ...newChannel, name: id, ...changes, tenant_id: tenant, phone_number_id: id }
  if (!current) await tx.insertInto('channels').values(created).execute()
  else if (differing.length > 0) await updateChannel(tx, tenant, id, changes)
  const secrets = await storeSecrets(tx, keyring, tenant, wanted)
  if (!current) return [...demoted, toChange(id, 'added')]
  return [...demoted, ...(differing.length > 0 ? [toChange(id, 'changed')] : []), ...secrets]
}

/** Is the platform's limit for a number that was not raised. */
export const defaultMessagesPerSecond = 80

/** An empty hash stands for no verify token. */
const noHash = Buffer.alloc(0)
const defaults = { waba_id: null, rate: defaultMessagesPerSecond, is_default: false, verify_token_hash: noHash }
const newChannel = { ...defaults, plan: 'paid' as const }

const toChange = (id: string, change: Change['change']): Change => ({ kind: 'channel', id, change })

const hash = (verifyToken: string): Buffer => createHash('sha256').update(verifyToken).digest()

/** Demotes the other channels: a tenant has one default channel at most. */
const demoteOthers = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<Change[]> => {
  const rows = await query<{ phone_number_id: string }>(tx)`
    update channels set is_default = false where tenant_id = ${tenant} and phone_number_id <> ${phoneNumberId}
      and is_default
    returning phone_number_id`
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
