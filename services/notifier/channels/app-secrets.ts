import type { AppSecretsOf } from '../webhooks/verify.ts'
import { findSecrets } from './secrets.ts'
import type { Keyring } from './vault.ts'

/** The app secrets of a number, both of a rotation: its webhooks are signed with either. */
export const appSecretsOf =
  (keyring: Keyring): AppSecretsOf =>
  async (tx, tenant, phoneNumberId) => [
    ...(await findSecrets(tx, keyring, tenant, phoneNumberId, 'app_secret')).values(),
  ]
