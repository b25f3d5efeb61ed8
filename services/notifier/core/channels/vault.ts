import { type Keyring, keysProblem, openAs, readKeys, type Sealed, sealAs } from '@courier/shared/vault.ts'

export const secretKinds = ['access_token', 'app_secret', 'pin'] as const
type SecretKind = (typeof secretKinds)[number]

/** Identifies a secret. A sealed secret opens only with its own reference. */
export interface SecretRef {
  readonly tenant: string
  readonly phoneNumberId: string
  readonly kind: SecretKind
}

const setting = 'CREDENTIALS_KEYS'
export const readKeyring = (text: string): Keyring => readKeys(setting, text)
export const keyringProblem = (text: string): string | undefined => keysProblem(setting, text)

/** Stored secrets are bound to these texts, which must never change. */
const reference = ({ tenant, phoneNumberId, kind }: SecretRef) => ['courier credentials 1', tenant, phoneNumberId, kind]

export const seal = (keyring: Keyring, ref: SecretRef, text: string): Sealed => sealAs(keyring, reference(ref), text)

export const open = (keyring: Keyring, ref: SecretRef, keyId: string, sealed: Buffer): string =>
  openAs(keyring, reference(ref), { keyId, sealed })

/** Returns the end of a secret, by which people recognise it; empty for a short one, such as a PIN. */
export const last4 = (text: string): string => (text.length < 16 ? '' : text.slice(-4))
