import { audit } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { isPassword } from './passwords.ts'
import { findMerchantByEmail, type MerchantRow } from './queries.ts'
import { createToken } from './tokens.ts'
import { createWaitingRoom, RoomFull, type WaitingRoom } from './waiting-room.ts'
import { createWrongTries, type WrongTries } from './wrong-tries.ts'

export interface LoginLimits {
  /** How many days a token made by a login lives. */
  tokenDays: number
  /** Wrong tries in a minute of one e-mail address of a tenant, and of one network address. */
  triesPerEmail: number
  triesPerAddress: number
}

/** What logging in needs. */
export interface LoginDesk {
  readonly pool: pg.Pool
  readonly tokenDays: number
  readonly ofEmail: WrongTries
  readonly ofAddress: WrongTries
  /** Every login under way has a seat here, else it is turned away. */
  readonly seats: WaitingRoom
  /** Where passwords are hashed: 19 MiB and a thread each, and half of libuv's four threads stay for others. */
  readonly hashing: WaitingRoom
}

const maxLogins = 64
const maxHashes = 2

export const createLoginDesk = (pool: pg.Pool, limits: LoginLimits): LoginDesk => ({
  pool,
  tokenDays: limits.tokenDays,
  ofEmail: createWrongTries(limits.triesPerEmail),
  ofAddress: createWrongTries(limits.triesPerAddress),
  seats: createWaitingRoom(maxLogins, 0),
  hashing: createWaitingRoom(maxHashes, maxLogins),
})

export interface Login {
  readonly tenant: string
  readonly email: string
  readonly password: string
  /** The network address that the call came from. */
  readonly address: string
  readonly requestId?: string | undefined
}

export type LoggedIn =
  | { kind: 'logged_in'; token: string; expiresAt: Date; merchant: MerchantRow }
  /** No such tenant, no such merchant, or another password: nobody learns which. */
  | { kind: 'wrong' }
  | { kind: 'too_many'; retryAfterSeconds: number }
  | { kind: 'busy' }

/** Makes a token for the merchant of that e-mail address and password. Wrong tries are limited. */
export const logIn = async (desk: LoginDesk, login: Login): Promise<LoggedIn> => {
  try {
    return await desk.seats(() => limited(desk, login))
  } catch (error) {
    if (error instanceof RoomFull) return { kind: 'busy' }
    throw error
  }
}

const limited = async (desk: LoginDesk, login: Login): Promise<LoggedIn> => {
  const ofEmail = await desk.ofEmail(`${login.tenant} ${login.email.trim().toLowerCase()}`)
  if (ofEmail.kind === 'too_many') return ofEmail
  let wasWrong = false
  try {
    const ofAddress = await desk.ofAddress(login.address)
    if (ofAddress.kind === 'too_many') return ofAddress
    try {
      const result = await check(desk, login)
      wasWrong = result.kind === 'wrong'
      return result
    } finally {
      ofAddress.leave(wasWrong)
    }
  } finally {
    ofEmail.leave(wasWrong)
  }
}

/** A hash of no password: checking against it takes as long as against a merchant's. */
const nobodysHash = `argon2id$${'A'.repeat(22)}$${'A'.repeat(43)}`

const check = async (desk: LoginDesk, { tenant, email, password, requestId }: Login): Promise<LoggedIn> => {
  const merchant = await inTenant(desk.pool, tenant, (tx: Tx) => findMerchantByEmail(tx, tenant, email))
  const isRight = await desk.hashing(() => isPassword(password, merchant?.password_hash ?? nobodysHash))
  if (!merchant || !isRight) return { kind: 'wrong' }
  const merchantId = merchant.merchant_id
  const expiresAt = new Date(Date.now() + desk.tokenDays * 86_400_000)
  const token = await inTenant(desk.pool, tenant, async (tx: Tx) => {
    const { id, token } = await createToken(tx, tenant, { merchantId }, expiresAt)
    await audit(tx, tenant, { kind: 'merchant', name: merchantId, tokenId: id, requestId }, 'merchant.logged_in', id)
    return token
  })
  return { kind: 'logged_in', token, expiresAt, merchant }
}
