import { createBulkheads } from '@courier/shared/edge/bulkheads.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { BulkheadRejectedError } from 'cockatiel'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import type { Account, Accounts } from './accounts.ts'
import { createLoginThrottle } from './login-throttle.ts'
import { createPasswordCheck } from './passwords.ts'
import { createToken } from './tokens.ts'

export interface LoginLimits {
  /** Lifetime of a token from a login of a merchant, and of staff. */
  tokenDays: number
  staffHours: number
  /** Wrong passwords a minute for one e-mail address of a tenant from one network, and from one network. */
  triesPerEmail: number
  triesPerAddress: number
}

/** The logins in progress, which hold some memory each. */
const maxLogins = { network: 32, account: 64, tenant: 128, process: 256 }

/**
 * Logins that wait at each of these levels, so that the programs of an office may log in at the same moment; further
 * ones are refused.
 */
const maxWaiting = 96

/**
 * Passwords hashed at once. A hash takes 19 MiB and a thread; half of libuv's four threads stay free. One at a time per
 * network and per account keeps the throttle's counts exact and the queues fair.
 */
const maxHashes = { network: 1, account: 1, tenant: 2, process: 2 }

/**
 * Creates the dependencies of logins. Merchants and staff share one, which limits how many passwords are hashed at
 * once.
 */
export const createLoginDependencies = (pool: pg.Pool, limits: LoginLimits) => ({
  pool,
  tokenSeconds: { merchant: limits.tokenDays * 86_400, staff: limits.staffHours * 3_600 },
  throttle: createLoginThrottle(limits.triesPerEmail, limits.triesPerAddress),
  isPassword: createPasswordCheck(),
  logins: createBulkheads(maxLogins, maxWaiting),
  hashes: createBulkheads(maxHashes, Number.POSITIVE_INFINITY),
})

export type LoginDependencies = ReturnType<typeof createLoginDependencies>

interface Login {
  readonly tenant: string
  readonly email: string
  readonly password: string
  /** Returns the network that the request came from. */
  readonly network: string
  readonly requestId?: string | undefined
}

export type LoggedIn<Row> =
  | { kind: 'logged_in'; token: string; expiresAt: Date; account: Row }
  /** The tenant or an active account does not exist, or the password is wrong: the client cannot tell which. */
  | { kind: 'invalid_credentials' }
  | { kind: 'too_many'; retryAfterSeconds: number }
  | { kind: 'busy' }

/**
 * The keys of bulkheads and throttle are the claims of a login, so they do not reveal which accounts exist. In one
 * tenant, the keys of merchants and of staff differ.
 */
const keysOf = (kind: Accounts<Account>['kind'], { network, tenant, email }: Login) => ({
  network,
  tenant: `${kind}:${tenant}`,
  account: `${kind}:${tenant} ${email.trim().toLowerCase()}`,
  process: '',
})
type Keys = ReturnType<typeof keysOf>

/** Creates a token for the account with that e-mail address and password. */
export const logIn = async <Row extends Account>(
  dependencies: LoginDependencies,
  accounts: Accounts<Row>,
  login: Login,
): Promise<LoggedIn<Row>> => {
  const keys = keysOf(accounts.kind, login)
  const retryAfterSeconds = dependencies.throttle.secondsSpent(keys)
  if (retryAfterSeconds > 0) return { kind: 'too_many', retryAfterSeconds }
  try {
    return await dependencies.logins(keys, () => check(dependencies, accounts, login, keys))
  } catch (error) {
    if (error instanceof BulkheadRejectedError) return { kind: 'busy' }
    throw error
  }
}

/** Matches no password, and takes as long to check as an account's hash. */
const dummyHash = `argon2id$${'A'.repeat(22)}$${'A'.repeat(43)}`

const check = async <Row extends Account>(
  dependencies: LoginDependencies,
  accounts: Accounts<Row>,
  login: Login,
  keys: Keys,
): Promise<LoggedIn<Row>> => {
  const { tenant, email, password } = login
  const found = await inTenant(dependencies.pool, tenant, (tx: Tx) => accounts.find(tx, tenant, email))
  const account = found?.is_active ? found : undefined
  const refusal = await dependencies.hashes(keys, async (): Promise<LoggedIn<Row> | undefined> => {
    const retryAfterSeconds = dependencies.throttle.secondsSpent(keys)
    if (retryAfterSeconds > 0) return { kind: 'too_many', retryAfterSeconds }
    const isRight = await dependencies.isPassword(password, account?.password_hash ?? dummyHash)
    dependencies.throttle.count(keys, isRight)
    return isRight ? undefined : { kind: 'invalid_credentials' }
  })
  if (refusal) return refusal
  return account ? issueToken(dependencies, accounts, login, account) : { kind: 'invalid_credentials' }
}

const issueToken = async <Row extends Account>(
  { pool, tokenSeconds }: LoginDependencies,
  accounts: Accounts<Row>,
  { tenant, requestId }: Login,
  account: Row,
): Promise<LoggedIn<Row>> => {
  const { kind } = accounts
  const end = sql<Date>`now() + make_interval(secs => ${tokenSeconds[kind]})`
  return inTenant(pool, tenant, async (tx: Tx) => {
    const current = await accounts.keep(tx, tenant, account)
    // An operator changed the password or deactivated the account meanwhile.
    if (!current?.is_active || current.password_hash !== account.password_hash) return { kind: 'invalid_credentials' }
    const { id: tokenId, token, expiresAt } = await createToken(tx, tenant, accounts.toHolder(current), end)
    const actor = { kind, name: accounts.toName(current), tokenId, requestId }
    await audit(tx, tenant, actor, `${kind}.logged_in`, tokenId)
    return { kind: 'logged_in', token, expiresAt, account: current }
  })
}
