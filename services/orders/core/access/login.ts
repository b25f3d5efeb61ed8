import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { rateLimited } from '@courier/shared/edge/limits.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { audit } from '@courier/shared/postgres/audit.ts'
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

/**
 * Creates the dependencies of logins. Merchants and staff share them, which limits how many passwords are hashed at
 * once.
 */
export const createLogins = (pool: pg.Pool, limits: LoginLimits) => ({
  pool,
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
export const logIn = async <Row extends Account>(logins: Logins, accounts: Accounts<Row>, login: Login) => {
  const keys = listKeys(accounts.kind, login)
  const account = await logins.inTurn(keys, () => check(logins, accounts, login, keys)).catch(refuseBusy(tooMany))
  return issueToken(logins, accounts, login, account)
}

/** Matches no password, and takes as long to check as an account's hash. */
const dummyHash = `argon2id$${'A'.repeat(22)}$${'A'.repeat(43)}`

const check = async <Row extends Account>(
  { pool, throttle, isPassword }: Logins,
  accounts: Accounts<Row>,
  { tenant, email, password }: Login,
  keys: ReturnType<typeof listKeys>,
): Promise<Row> => {
  const retryAfterSeconds = throttle.secondsSpent(keys)
  if (retryAfterSeconds > 0) throw rateLimited(retryAfterSeconds)
  const account = await inTenant(pool, tenant, (tx: Tx) => accounts.find(tx, tenant, email, false)).catch(withoutDoubt)
  const isCorrect = await isPassword(password, account?.is_active ? account.password_hash : dummyHash)
  throttle.count(keys, isCorrect)
  if (!isCorrect || !account) throw refuseLogin()
  return account
}

const issueToken = <Row extends Account>(
  { pool, tokenSeconds }: Logins,
  { kind, find, toHolder, nameActor }: Accounts<Row>,
  { tenant, email, requestId }: Login,
  { password_hash }: Row,
) =>
  inTenant(pool, tenant, async (tx: Tx) => {
    const account = await find(tx, tenant, email, true)
    // Somebody changed the password or deactivated the account meanwhile.
    if (!account?.is_active || account.password_hash !== password_hash) throw refuseLogin()
    const holder = { ...toHolder(account), from_login: true }
    const end = sql<Date>`now() + make_interval(secs => ${tokenSeconds[kind]})`
    const { id: tokenId, token, expiresAt } = await createToken(tx, tenant, holder, end)
    await audit(tx, tenant, { kind, name: nameActor(account), tokenId, requestId }, `${kind}.logged_in`, tokenId)
    return { token, expiresAt, account }
  })
