import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { rateLimited } from '@courier/shared/edge/limits.ts'
import { type HttpError, invalid } from '@courier/shared/errors/errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant, withoutDoubt } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { createLoginThrottle } from './login-throttle.ts'
import { createPasswordCheck } from './passwords.ts'
import { createToken, type Holder } from './tokens.ts'

export interface LoginLimits {
  /** Sets the lifetime of tokens from merchants' logins; `staffHours` sets it for staff. */
  tokenDays: number
  staffHours: number
  /**
   * Limits wrong passwords a minute from one network for one e-mail address of a tenant; `triesPerAddress` limits all
   * from the network.
   */
  triesPerEmail: number
  triesPerAddress: number
}

export interface Account {
  readonly password_hash: string
  readonly is_active: boolean
}

/** Finds and describes the accounts that may log in at one endpoint: merchants or staff. */
export interface Accounts<Row extends Account> {
  readonly kind: 'merchant' | 'staff'
  /** Finds an account by its e-mail address. `isShared` keeps the row from changing until the transaction ends. */
  readonly find: (tx: Tx, tenant: string, email: string, isShared: boolean) => Promise<Row | undefined>
  readonly toHolder: (account: Row) => Holder
  readonly nameActor: (account: Row) => string
}

/**
 * Limits the logins that wait for each key of the levels below: the programs of an office may log in at the same
 * moment, and a company's people when their day begins. Further logins are refused.
 */
const maxWaiting = 512

/**
 * Limits the passwords checked at once. A hash takes 19 MiB and a thread; half of libuv's four threads stay free. One
 * check at a time per network and per account keeps the throttle's counts exact and the queues fair.
 */
const maxChecks = { network: 1, account: 1, tenant: 2, process: 2 }

/** Describes a login whose password is right. */
export interface RightPassword {
  readonly tenant: string
  readonly holder: Holder
  readonly code: string | undefined
  readonly requestId: string | undefined
}

/** Returns the response to a login that counts as a wrong one, and undefined for a right one; throws other refusals. */
export type CheckLogin = (login: RightPassword) => Promise<HttpError | undefined>

/**
 * Creates the dependencies of logins. Merchants and staff share them, which limits how many passwords are hashed at
 * once.
 */
export const createLogins = (pool: pg.Pool, limits: LoginLimits, checkLogin: CheckLogin) => ({
  pool,
  checkLogin,
  tokenSeconds: { merchant: limits.tokenDays * 86_400, staff: limits.staffHours * 3_600 },
  throttle: createLoginThrottle(limits.triesPerEmail, limits.triesPerAddress),
  isPassword: createPasswordCheck(),
  inTurn: createBulkheads(maxChecks, maxWaiting),
})

export type Logins = ReturnType<typeof createLogins>

interface Login {
  readonly tenant: string
  readonly email: string
  readonly password: string
  /** Is for `checkLogin`, which may want more than a password. */
  readonly code?: string | undefined
  /** Identifies the network that the request came from. */
  readonly network: string
  readonly requestId?: string | undefined
}

/**
 * Lists the keys of the bulkheads and the throttle. They come only from what a login claims and from its network, so
 * they do not reveal which accounts exist. In one tenant, the keys of merchants and of staff differ.
 */
const listKeys = (kind: 'merchant' | 'staff', { network, tenant, email }: Login) => ({
  network,
  tenant: `${kind}:${tenant}`,
  account: `${kind}:${tenant} ${email.trim().toLowerCase()}`,
  process: '',
})

const tooMany = 'Too many logins at once. Repeat the request.'
const wrongCredentials = 'These credentials do not match our records.'

/**
 * Creates the one refusal for an unknown tenant, a missing or inactive account and a wrong password: the client cannot
 * tell which it is.
 */
export const refuseLogin = () => invalid({ email: [wrongCredentials] }, { message: wrongCredentials })

/** Creates a token for the account with that e-mail address and password. Throws the error response of a refusal. */
export const logIn = async <Row extends Account>(logins: Logins, accounts: Accounts<Row>, login: Login) =>
  issueToken(logins, accounts, login, await checkPassword(logins, accounts, login))

/** Returns the account with that e-mail address and password. Throws the error response of a refusal. */
export const checkPassword = <Row extends Account>(
  logins: Omit<Logins, 'tokenSeconds'>,
  accounts: Accounts<Row>,
  login: Login,
): Promise<Row> => {
  const keys = listKeys(accounts.kind, login)
  return logins.inTurn(keys, () => check(logins, accounts, login, keys)).catch(refuseBusy(tooMany))
}

/** Matches no password, and takes as long to check as an account's hash. */
const dummyHash = `argon2id$${'A'.repeat(22)}$${'A'.repeat(43)}`

const check = async <Row extends Account>(
  { pool, throttle, isPassword, checkLogin }: Omit<Logins, 'tokenSeconds'>,
  accounts: Accounts<Row>,
  { tenant, email, password, code, requestId }: Login,
  keys: ReturnType<typeof listKeys>,
): Promise<Row> => {
  const retryAfterSeconds = throttle.secondsSpent(keys)
  if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds)
  const account = await inTenant(pool, tenant, (tx: Tx) => accounts.find(tx, tenant, email, false)).catch(withoutDoubt)
  const isCorrect = await isPassword(password, account?.is_active ? account.password_hash : dummyHash)
  const refusal =
    isCorrect && account
      ? await checkLogin({ tenant, holder: accounts.toHolder(account), code, requestId })
      : refuseLogin()
  throttle.count(keys, !refusal)
  if (refusal || !account) throw refusal
  return account
}

const issueToken = <Row extends Account>(
  logins: Logins,
  accounts: Accounts<Row>,
  { tenant, email, requestId }: Login,
  { password_hash }: Row,
) =>
  inTenant(logins.pool, tenant, async (tx: Tx) => {
    const account = await accounts.find(tx, tenant, email, true)
    // Somebody changed the password or deactivated the account meanwhile.
    if (!account?.is_active || account.password_hash !== password_hash) throw refuseLogin()
    const { kind, toHolder, nameActor } = accounts
    const by = { kind, name: nameActor(account), requestId }
    return { ...(await startSession(tx, tenant, logins.tokenSeconds[kind], toHolder(account), by)), account }
  })

/** Creates the token of a login, whose holder the caller has locked. */
export const startSession = async (
  tx: Tx,
  tenant: string,
  seconds: number,
  holder: Holder,
  by: Actor & { kind: 'merchant' | 'staff' },
) => {
  const end = sql<Date>`now() + make_interval(secs => ${seconds})`
  const { id: tokenId, token, expiresAt } = await createToken(tx, tenant, { ...holder, from_login: true }, end)
  await audit(tx, tenant, { ...by, tokenId }, `${by.kind}.logged_in`, tokenId)
  return { token, expiresAt }
}
