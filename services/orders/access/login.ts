import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { BulkheadRejectedError } from 'cockatiel'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { createBulkheads } from './bulkheads.ts'
import { createLoginThrottle } from './login-throttle.ts'
import { createPasswordCheck } from './passwords.ts'
import { findMerchantByEmail, keepMerchant, type MerchantRow } from './queries.ts'
import { createToken, revokeOldestLogins } from './tokens.ts'

export interface LoginLimits {
  /** Lifetime of a token from a login. */
  tokenDays: number
  /** Wrong passwords a minute for one e-mail address of a tenant from one network, and from one network. */
  triesPerEmail: number
  triesPerAddress: number
}

/** Logins in progress, which hold some memory each; further ones are refused. */
const maxLogins = { network: 32, merchant: 64, tenant: 128, process: 256 }

/**
 * Passwords hashed at once. A hash takes 19 MiB and a thread; half of libuv's four threads stay free. One at a time per
 * network and per merchant keeps the throttle's counts exact and the queues fair.
 */
const maxHashes = { network: 1, merchant: 1, tenant: 2, process: 2 }

/** Clients side by side have a token each; a client that logs in at every run leaves its old ones unused. */
const maxLiveLogins = 50

/** What a login needs. */
export const createLoginDependencies = (pool: pg.Pool, limits: LoginLimits) => ({
  pool,
  tokenDays: limits.tokenDays,
  throttle: createLoginThrottle(limits.triesPerEmail, limits.triesPerAddress),
  isPassword: createPasswordCheck(),
  logins: createBulkheads(maxLogins, 0),
  hashes: createBulkheads(maxHashes, Number.POSITIVE_INFINITY),
  /** One token of a merchant at a time, so that each login sees those of the others. */
  tokens: createBulkheads({ merchant: 1 }, Number.POSITIVE_INFINITY),
})

export type LoginDependencies = ReturnType<typeof createLoginDependencies>

export interface Login {
  readonly tenant: string
  readonly email: string
  readonly password: string
  /** The network that the request came from. */
  readonly network: string
  readonly requestId?: string | undefined
}

export type LoggedIn =
  | { kind: 'logged_in'; token: string; expiresAt: Date; merchant: MerchantRow }
  /** No such tenant, no such active merchant, or another password: the caller cannot tell which. */
  | { kind: 'invalid_credentials' }
  | { kind: 'too_many'; retryAfterSeconds: number }
  | { kind: 'busy' }

/** The keys of bulkheads and throttle are what a login claims, so they do not reveal which merchants exist. */
const keysOf = ({ network, tenant, email }: Login) => ({
  network,
  tenant,
  merchant: `${tenant} ${email.trim().toLowerCase()}`,
  process: '',
})
type Keys = ReturnType<typeof keysOf>

/** Creates a token for the merchant with that e-mail address and password. */
export const logIn = async (dependencies: LoginDependencies, login: Login): Promise<LoggedIn> => {
  const keys = keysOf(login)
  const retryAfterSeconds = dependencies.throttle.secondsSpent(keys)
  if (retryAfterSeconds > 0) return { kind: 'too_many', retryAfterSeconds }
  try {
    return await dependencies.logins(keys, () => check(dependencies, login, keys))
  } catch (error) {
    if (error instanceof BulkheadRejectedError) return { kind: 'busy' }
    throw error
  }
}

/** Matches no password, and takes as long to check as a merchant's. */
const dummyHash = `argon2id$${'A'.repeat(22)}$${'A'.repeat(43)}`

const check = async (dependencies: LoginDependencies, login: Login, keys: Keys): Promise<LoggedIn> => {
  const { tenant, email, password } = login
  const found = await inTenant(dependencies.pool, tenant, (tx: Tx) => findMerchantByEmail(tx, tenant, email))
  const merchant = found?.is_active ? found : undefined
  const refusal = await dependencies.hashes(keys, async (): Promise<LoggedIn | undefined> => {
    const retryAfterSeconds = dependencies.throttle.secondsSpent(keys)
    if (retryAfterSeconds > 0) return { kind: 'too_many', retryAfterSeconds }
    const isRight = await dependencies.isPassword(password, merchant?.password_hash ?? dummyHash)
    dependencies.throttle.count(keys, isRight)
    return isRight ? undefined : { kind: 'invalid_credentials' }
  })
  if (refusal) return refusal
  return merchant
    ? dependencies.tokens(keys, () => issueToken(dependencies, login, merchant))
    : { kind: 'invalid_credentials' }
}

const issueToken = async (dependencies: LoginDependencies, login: Login, merchant: MerchantRow): Promise<LoggedIn> => {
  const { tenant, requestId } = login
  const merchantId = merchant.merchant_id
  const expiresAt = new Date(Date.now() + dependencies.tokenDays * 86_400_000)
  const token = await inTenant(dependencies.pool, tenant, async (tx: Tx) => {
    const current = await keepMerchant(tx, tenant, merchantId)
    // An operator changed the password or deactivated the merchant meanwhile.
    if (!current?.is_active || current.password_hash !== merchant.password_hash) return undefined
    await revokeOldestLogins(tx, tenant, merchantId, maxLiveLogins - 1)
    const { id, token } = await createToken(tx, tenant, { merchantId, fromLogin: true }, expiresAt)
    await audit(tx, tenant, { kind: 'merchant', name: merchantId, tokenId: id, requestId }, 'merchant.logged_in', id)
    return token
  })
  return token === undefined ? { kind: 'invalid_credentials' } : { kind: 'logged_in', token, expiresAt, merchant }
}
