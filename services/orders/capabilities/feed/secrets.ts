import { randomBytes } from 'node:crypto'
import { type Keyring, openAs, type Sealed, sealAs } from '@courier/shared/vault.ts'
import { Webhook } from 'standardwebhooks'

/** Creates a secret in the form that merchants get (Standard Webhooks). */
export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`

/** Returns the texts that a stored secret is bound to; they never change. */
const reference = (tenant: string, endpointId: string) => ['courier webhooks 1', tenant, endpointId]

export const sealSecret = (keyring: Keyring, tenant: string, endpointId: string, secret: string): Sealed =>
  sealAs(keyring, reference(tenant, endpointId), secret)

/** Opens a stored secret. Throws VaultError. */
export const openSecret = (keyring: Keyring, tenant: string, endpointId: string, sealed: Sealed): string =>
  openAs(keyring, reference(tenant, endpointId), sealed)

/** Selects the secrets that sign for an endpoint now. */
export const secretColumns = `key_id, sealed_secret, previous_secret,
  case when previous_until > now() then previous_key_id end as previous_key_id`

export interface SecretRow {
  readonly key_id: string
  readonly sealed_secret: Buffer
  readonly previous_key_id: string | null
  readonly previous_secret: Buffer
}

/** Returns the secrets of a row, the newest first. */
export const secretsIn = ({ key_id, sealed_secret, previous_key_id, previous_secret }: SecretRow): Sealed[] => [
  { keyId: key_id, sealed: sealed_secret },
  ...(previous_key_id === null ? [] : [{ keyId: previous_key_id, sealed: previous_secret }]),
]

export const signHeaders = (secrets: readonly string[], messageId: string, body: string, at: Date) => ({
  'content-type': 'application/json',
  'user-agent': 'Courier-Webhooks',
  'webhook-id': messageId,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': secrets.map(secret => new Webhook(secret).sign(messageId, at, body)).join(' '),
})
