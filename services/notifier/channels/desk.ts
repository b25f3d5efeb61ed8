import { inTenant } from '@courier/shared/database.ts'
import { DomainError } from '@courier/shared/http/errors.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { MessagingApi } from '../messaging-api/client.ts'
import { findChannel } from './queries.ts'
import { type createTokenKeeper, findSecrets } from './secrets.ts'
import type { Keyring } from './vault.ts'
import { type Channel, type ChannelRow, showChannels } from './view.ts'

/** What the calls about channels work with. */
export interface Desk {
  readonly pool: pg.Pool
  readonly keyring: Keyring
  readonly api: MessagingApi
  readonly tokens: ReturnType<typeof createTokenKeeper>
}

/** The tenant's channel; throws 404 for any other text. */
export const requireChannel = async (tx: Tx, tenant: string, phoneNumberId: string): Promise<ChannelRow> => {
  const isId = /^[0-9]{1,32}$/.test(phoneNumberId)
  const channel = isId ? await findChannel(tx, tenant, phoneNumberId) : undefined
  if (!channel) throw new DomainError('not_found', 'There is no such channel.')
  return channel
}

export const readChannel = (pool: pg.Pool, tenant: string, phoneNumberId: string): Promise<Channel> =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const [channel] = await showChannels(tx, tenant, [await requireChannel(tx, tenant, phoneNumberId)])
    return channel as Channel
  })

/** The newest access token of a number, straight from the database; `isNext` while it has not worked yet. */
export const newestToken = async (
  tx: Tx,
  keyring: Keyring,
  tenant: string,
  phoneNumberId: string,
): Promise<{ accessToken: string; isNext: boolean } | undefined> => {
  const secrets = await findSecrets(tx, keyring, tenant, phoneNumberId, 'access_token')
  const accessToken = secrets.get('next') ?? secrets.get('current')
  return accessToken === undefined ? undefined : { accessToken, isNext: secrets.has('next') }
}
