import type { Keyring } from '@courier/shared/vault.ts'
import type pg from 'pg'
import type { MessagingApi } from '../messaging-api/client.ts'
import type { TokenKeeper } from './secrets.ts'

/** Dependencies of the actions on channels. */
export interface ChannelDependencies {
  readonly pool: pg.Pool
  readonly keyring: Keyring
  readonly api: MessagingApi
  readonly tokens: TokenKeeper
}
