import type { StaffRole } from '@courier/shared/contract/staff-roles.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { type AnyTransaction, query } from '@courier/shared/postgres/database.ts'
import { rememberCallers } from '@courier/shared/postgres/token-holders.ts'
import { findLiveTokens, newToken } from '@courier/shared/postgres/tokens.ts'
import { type Insertable, type RawBuilder, sql } from 'kysely'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'
import type { Person } from './queries.ts'

/**
 * Identifies a merchant, or a member of staff. Staff with a `staff_id` have an account; the operator names the others.
 * `name` is the merchant's name for a program.
 */
export type Holder = Partial<
  Pick<Insertable<Tables['tokens']>, 'merchant_id' | 'staff_name' | 'staff_id' | 'person_id' | 'from_login' | 'name'>
>

export const createToken = async <Expiry extends Date | null>(
  tx: Tx,
  tenant: string,
  holder: Holder,
  end: Expiry | RawBuilder<Expiry>,
) => {
  const { id, token, hash } = newToken()
  const { expiresAt } = await tx
    .insertInto('tokens')
    .values({ tenant_id: tenant, token_id: id, hash, ...holder, expires_at: end })
    .returning(sql<Expiry>`expires_at`.as('expiresAt'))
    .executeTakeFirstOrThrow()
  return { id, token, expiresAt }
}

export interface Caller {
  readonly tokenId: string
  readonly merchantId: string | null
  readonly staffName: string | null
  /** Identifies the member of staff who logged in; null for a token made by the operator. */
  readonly staffId: string | null
  /** Describes the merchant's person who logged in; null for the account, and for programs. */
  readonly person: Person | null
  /** Lists the roles of the member of staff; a token made by the operator has `admin`. */
  readonly roles: readonly StaffRole[]
  readonly isFromLogin: boolean
  /** Lists the operations that the token may use; null: all that its holder may use. */
  readonly operations: readonly string[] | null
  readonly expiresAt: Date | null
  readonly millisecondsLeft: number | null
}

/** Creates a cached look-up of tokens' holders. undefined: unknown, expired, revoked, or of a deactivated holder. */
export const createTokenReader = (pool: pg.Pool) => rememberCallers<Caller>(pool, findCallers)

/** Finds the callers of the live tokens with these hashes; the keys of the result are hashes in base64. */
export const findCallers = (tx: AnyTransaction, tenant: string, hashes: readonly Buffer[]) =>
  findLiveTokens<Caller>(tx, tenant, hashes, callerSql)

/**
 * Leaves out deactivated holders, and agents of people who may allow none. Rows of staff from before a person could
 * have several roles have only `role`.
 */
const callerSql = {
  columns: sql`
    tokens.merchant_id as "merchantId", tokens.staff_id as "staffId", from_login as "isFromLogin", operations,
    case when tokens.staff_id is null then array['admin'] else coalesce(staff.roles, array[staff.role]) end as roles,
    case when tokens.person_id is not null then json_build_object('id', tokens.person_id::text, 'name', person.name,
      'email', person.email, 'role', person.role) end as person`,
  joins: sql`
    left join merchants merchant on merchant.tenant_id = tokens.tenant_id and merchant.merchant_id = tokens.merchant_id
    left join staff on staff.tenant_id = tokens.tenant_id and staff.staff_id = tokens.staff_id
    left join merchant_people person on person.tenant_id = tokens.tenant_id and person.person_id = tokens.person_id`,
  condition: sql`(tokens.merchant_id is null or merchant.is_active) and (tokens.staff_id is null or staff.is_active)
    and (tokens.person_id is null or person.is_active and (from_login or person.role = 'owner'))`,
}

/** Revokes the live tokens from logins of these merchants' accounts, members of staff or merchants' people. */
export const revokeLogins = async (
  tx: Tx,
  tenant: string,
  column: 'merchant_id' | 'staff_id' | 'person_id',
  ids: readonly string[],
  by: Actor,
) =>
  revoke(
    tx,
    tenant,
    sql`${sql.ref(column)} = any(${ids}::bigint[]) and from_login and expires_at > now()
      ${column === 'merchant_id' ? sql`and person_id is null` : sql``}`,
    by,
  )

/** Revokes the live tokens of the agents that a merchant's person allowed. */
export const revokeAgents = (tx: Tx, tenant: string, personId: string, by: Actor) =>
  revoke(tx, tenant, sql`person_id = ${personId} and not from_login`, by)

const revoke = async (tx: Tx, tenant: string, condition: RawBuilder<unknown>, by: Actor) => {
  const ended = await query<{ token_id: string; merchant_id: string | null }>(tx)`
    update tokens set revoked_at = now() where tenant_id = ${tenant} and ${condition} and revoked_at is null
    returning token_id, merchant_id`
  const tokens = ended.map(({ token_id }) => token_id)
  await audit(tx, tenant, by, 'token.revoked', tokens)
  return ended
}

/** Ends, in the transaction that deactivates a person, what else would let them in once they are active again. */
export type OnDeactivated = (tx: Tx, tenant: string, column: 'staff_id' | 'person_id', id: string) => Promise<unknown>

/** Limits the tokens from logins that an account keeps until they expire, even unused. */
const maxUnusedLogins = 50

/** $1 is the tenant. */
const deleteOldTokensSql = `
  delete from tokens where tenant_id = $1 and token_id in (
    select token_id from (
      select token_id, from_login, coalesce(last_used_at, created_at) as used_at,
        least(coalesce(refreshed_until, expires_at), revoked_at) as ended_at, row_number() over (
          partition by from_login, merchant_id, staff_id, person_id order by coalesce(last_used_at, created_at) desc
        ) as recency
      from tokens where tenant_id = $1
    ) ranked
    where ended_at < now() - interval '7 days'
      or (from_login and recency > ${maxUnusedLogins} and used_at < now() - interval '8 days')
    limit 10000
  )`

/**
 * Deletes up to 10,000 tokens of the tenant; returns how many. Expired and revoked tokens stay for a week, for `token
 * list`. A login's token that is unused for eight days is deleted, unless it is among the account's 50 used last.
 */
export const deleteOldTokens = async (tx: AnyTransaction, tenant: string): Promise<number> =>
  (await tx.client.query(deleteOldTokensSql, [tenant])).rowCount ?? 0
