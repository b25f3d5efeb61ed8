import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, required } from '@courier/shared/errors/field-errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant } from '@courier/shared/postgres/database.ts'
import type { Tx } from '../database/tables.ts'
import type { ChannelChange } from './fields.ts'
import { findChannel } from './queries.ts'
import type { ChannelDependencies } from './secrets.ts'
import { storeChannels } from './store.ts'
import { type Channel, readChannel } from './view.ts'

type PutResult =
  | { kind: 'stored'; isNew: boolean; changed: string[]; channel: Channel }
  | { kind: 'refused'; errors: FieldErrors }

/** Creates or changes a channel; returns which of the two, the changes, and the channel. */
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
