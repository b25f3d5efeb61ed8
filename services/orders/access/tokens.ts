import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import type { AnyTransaction } from '@courier/shared/postgres/database.ts'
import { rememberCallers } from '@courier/shared/postgres/token-holders.ts'
import { findLiveTokens, type LiveToken, newToken } from '@courier/shared/postgres/tokens.ts'
import { type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { findPeople, findRoles, type Person } from './queries.ts'

/** A merchant, or a member of staff. Staff with a `staffId` have an account; the operator names the others. */
export interface Holder {
  readonly merchantId?: string
  readonly staffName?: string
  readonly staffId?: string
  readonly personId?: string | undefined
  readonly fromLogin?: boolean
  /** What the merchant calls the program. */
  readonly name?: string
}

export const createToken = async <Expiry extends Date | null>(
  tx: Tx,
  tenant: string,
  { merchantId, staffName, staffId, personId, fromLogin, name }: Holder,
  end: Expiry | RawBuilder<Expiry>,
) => {
  const { id, token, hash } = newToken()
  const { expiresAt } = await tx
    .insertInto('tokens')
    .values({
      tenant_id: tenant,
      token_id: id,
      hash,
      merchant_id: merchantId ?? null,
      staff_name: staffName ?? null,
      staff_id: staffId ?? null,
      person_id: personId ?? null,
      from_login: fromLogin ?? false,
      name: name ?? null,
      expires_at: end,
    })
    .returning(sql<Expiry>`expires_at`.as('expiresAt'))
    .executeTakeFirstOrThrow()
  return { id, token, expiresAt }
}

/** The holder of a token. */
export interface Caller {
  readonly tokenId: string
  readonly merchantId: string | null
  readonly staffName: string | null
  /** The member of staff who logged in; null for a token made by the operator. */
  readonly staffId: string | null
  /** The person of the merchant who logged in; null for the account, and for programs. */
  readonly person: Person | null
  /** The roles of the member of staff; a token made by the operator has `admin`. */
  readonly roles: readonly StaffRole[]
  readonly isFromLogin: boolean
  readonly expiresAt: Date | null
  readonly millisecondsLeft: number | null
}

/** Finds the holders of tokens, cached for a few seconds. undefined: unknown, expired or revoked. */
export const createTokenReader = (pool: pg.Pool) => rememberCallers<Caller>(pool, findCallers)

/** Staff, or an active merchant. */
const isOfActive = sql<boolean>`(merchant_id is null or exists (
  select from merchants where merchants.tenant_id = tokens.tenant_id and merchants.merchant_id = tokens.merchant_id
    and merchants.is_active))`

type TokenRow = LiveToken & Record<'merchant_id' | 'staff_id' | 'person_id', string | null> & { from_login: boolean }

/** Reads the callers of live tokens, by hash in base64. */
export const findCallers = async (tx: Tx, tenant: string, hashes: readonly Buffer[]): Promise<Map<string, Caller>> => {
  const rows = await findLiveTokens<TokenRow>(tx, tenant, hashes, isOfActive)
  const idsIn = (column: 'staff_id' | 'person_id') => rows.flatMap(row => row[column] ?? [])
  const [staffIds, personIds] = [idsIn('staff_id'), idsIn('person_id')]
  const roles = staffIds.length > 0 ? await findRoles(tx, tenant, staffIds) : new Map<string, readonly StaffRole[]>()
  const people = personIds.length > 0 ? await findPeople(tx, tenant, personIds) : new Map<string, Person>()
  return new Map(
    rows.flatMap(row => {
      const held = row.staff_id === null ? (['admin'] as const) : roles.get(row.staff_id)
      const person = row.person_id === null ? null : people.get(row.person_id)
      // Deactivated.
      if (!held || person === undefined) return []
      return [[row.hash.toString('base64'), toCaller(row, held, person)] as const]
    }),
  )
}

const toCaller = (row: TokenRow, roles: readonly StaffRole[], person: Person | null): Caller => ({
  tokenId: row.token_id,
  merchantId: row.merchant_id,
  staffName: row.staff_name,
  staffId: row.staff_id,
  person,
  roles,
  isFromLogin: row.from_login,
  expiresAt: row.expires_at,
  millisecondsLeft: row.milliseconds_left,
})

/** Revokes all live tokens from logins of these accounts of merchants, members of staff or people of merchants. */
export const revokeLogins = (
  tx: Tx,
  tenant: string,
  column: 'merchant_id' | 'staff_id' | 'person_id',
  ids: readonly string[],
) =>
  tx
    .updateTable('tokens')
    .set({ revoked_at: sql`now()` })
    .where('tenant_id', '=', tenant)
    .where(sql<boolean>`${sql.ref(column)} = any(${ids}::bigint[])`)
    .where('from_login', '=', sql.lit(true))
    .where(sql<boolean>`${column === 'merchant_id' ? sql`person_id is null` : sql`true`}`)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', sql<Date>`now()`)
    .returning(['token_id', 'merchant_id'])
    .execute()

/** The tokens from logins that an account keeps until they expire, even unused. */
const maxUnusedLogins = 50

/** $1 is the tenant. */
const deleteOldTokensSql = `
  delete from tokens where tenant_id = $1 and token_id in (
    select token_id from (
      select token_id, from_login, coalesce(last_used_at, created_at) as used_at,
        least(expires_at, revoked_at) as ended_at, row_number() over (
          partition by from_login, merchant_id, staff_id, person_id order by coalesce(last_used_at, created_at) desc
        ) as place
      from tokens where tenant_id = $1
    ) ranked
    where ended_at < now() - interval '7 days'
      or (from_login and place > ${maxUnusedLogins} and used_at < now() - interval '8 days')
    limit 10000
  )`

/**
 * Deletes up to 10,000 tokens of the tenant; returns how many. Expired and revoked ones stay for a week, for
 * `token list`; those of an account's logins beyond its 50 used last, for eight days of disuse.
 */
export const deleteOldTokens = async (tx: AnyTransaction, tenant: string): Promise<number> =>
  (await tx.client.query(deleteOldTokensSql, [tenant])).rowCount ?? 0
