import { hash } from 'node:crypto'
import { audit } from '@courier/shared/postgres/audit.ts'
import { lockTenant } from '@courier/shared/postgres/database.ts'
import { hashToken, newToken, revokeToken } from '@courier/shared/postgres/tokens.ts'
import { nameActor } from '../../core/access/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import type { createSeals, Sealed } from './seals.ts'
import { listToolOperations } from './tools.ts'

type Seals = ReturnType<typeof createSeals>
type Form = Readonly<Record<string, string>>

/** Redeems codes and refresh tokens. Each is for one use: a second one means a copy, and ends the token. */
export const createWebTokens = (seals: Seals) => ({
  /** Returns undefined for a code that has ended, was used, or is not this client's. */
  redeemCode: async (tx: Tx, tenant: string, form: Form) => {
    const code = seals.open('code', tenant, form.code)
    if (!code) return undefined
    // Two requests with one code take turns.
    await lockTenant(tx, tenant)
    const id = `tok_${hashToken(form.code ?? '').toString('base64url', 0, 9)}`
    if ((await end(tx, tenant, id, code.merchantId)) || !isRight(code, form)) return undefined
    const [person] = await tx.rows<{ name: string }>(ownerSql, [tenant, code.personId])
    if (code.personId && !person) return undefined
    const { token, hash } = newToken()
    const refresh_token = seals.seal('refresh', tenant, { token_id: id })
    const holder = [tenant, id, hash, code.merchantId, code.personId, code.name, listToolOperations(code.may_book)]
    await tx.client.query(addSql, [...holder, hashToken(code.client_id), hashToken(refresh_token), code.days])
    const name = nameActor(code.merchantId, person)
    await audit(tx, tenant, { kind: 'merchant', name, tokenId: id }, 'token.created', id)
    return { token, refresh_token, seconds: 3600, may_book: code.may_book }
  },
  /** Returns undefined for a refresh token that has ended, was used, or is not this client's. */
  refresh: async (tx: Tx, tenant: string, { refresh_token: text = '', client_id = '' }: Form) => {
    const id = seals.open('refresh', tenant, text)?.token_id
    const [found] = id ? await tx.rows<Refreshed>(findSql, [tenant, id, hashToken(client_id)]) : []
    if (!id || !found) return undefined
    if (!found.refresh_hash.equals(hashToken(text))) {
      await end(tx, tenant, id, found.merchant_id)
      return undefined
    }
    const { token, hash } = newToken()
    const refresh_token = seals.seal('refresh', tenant, { token_id: id })
    await tx.client.query(refreshSql, [tenant, id, hash, hashToken(refresh_token), found.until])
    return { token, refresh_token, seconds: found.seconds, may_book: found.operations.includes('createOrders') }
  },
  /** Ends the token, if it is this client's: `token` is itself or its refresh token. */
  revoke: async (tx: Tx, tenant: string, { token = '', client_id = '' }: Form) => {
    const id = seals.open('refresh', tenant, token)?.token_id ?? ''
    const [found] = await tx.rows<{ id: string; merchant_id: string }>(clientSql, [
      tenant,
      hashToken(client_id),
      id,
      hashToken(token),
    ])
    if (found) await end(tx, tenant, found.id, found.merchant_id)
  },
})

/** Ends a token that may have ended before. Returns false if there is none. */
const end = async (tx: Tx, tenant: string, id: string, name: string): Promise<boolean> => {
  const isFound = await revokeToken(tx, tenant, id)
  if (isFound) await audit(tx, tenant, { kind: 'merchant', name, tokenId: id }, 'token.revoked', id)
  return isFound
}

/** Compares the redirect URI if it is sent: clients of OAuth 2.1 do not. */
const isRight = (code: Sealed['code'], { client_id, code_verifier = '', ...form }: Form): boolean =>
  code.client_id === client_id &&
  code.redirect_uri === (form.redirect_uri ?? code.redirect_uri) &&
  code.challenge === hash('sha256', code_verifier, 'base64url') &&
  code.ends_at > Date.now()

/** Keeps the person from changing, so that whoever ends their agents afterwards ends this one, too. */
const ownerSql = `
  select name from merchant_people
  where tenant_id = $1 and person_id = $2::bigint and is_active and role = 'owner' for share`
const addSql = `
  insert into tokens (tenant_id, token_id, hash, merchant_id, person_id, name, operations, client_hash, refresh_hash,
    expires_at, refreshed_until)
  values ($1, $2, $3, $4::bigint, $5::bigint, $6, $7, $8, $9, now() + interval '1 hour',
    now() + make_interval(days => $10))`

interface Refreshed {
  readonly merchant_id: string
  readonly refresh_hash: Buffer
  readonly operations: readonly string[]
  readonly until: Date
  readonly seconds: number
}

/** Finds the token of an active merchant and owner, and keeps it from changing. */
const findSql = `
  select tokens.merchant_id, refresh_hash, operations, least(refreshed_until, now() + interval '1 hour') as until,
    extract(epoch from least(refreshed_until - now(), interval '1 hour'))::int as seconds
  from tokens join merchants on merchants.tenant_id = $1 and merchants.merchant_id = tokens.merchant_id
  left join merchant_people person on person.tenant_id = $1 and person.person_id = tokens.person_id
  where tokens.tenant_id = $1 and token_id = $2 and client_hash = $3 and revoked_at is null and refreshed_until > now()
    and merchants.is_active and (tokens.person_id is null or person.is_active and person.role = 'owner')
  for update of tokens`
const refreshSql = `
  update tokens set hash = $3, refresh_hash = $4, expires_at = $5 where tenant_id = $1 and token_id = $2`
const clientSql = `
  select token_id as id, merchant_id from tokens
  where tenant_id = $1 and client_hash = $2 and (token_id = $3 or hash = $4) and revoked_at is null`
