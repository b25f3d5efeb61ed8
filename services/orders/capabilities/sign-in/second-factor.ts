import { hash, randomBytes } from 'node:crypto'
import { type HttpError, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { resealRows } from '@courier/shared/postgres/reseal.ts'
import { type Keyring, openAs, type Sealed, sealAs, tryOpen } from '@courier/shared/vault.ts'
import { Secret, TOTP } from 'otpauth'
import type pg from 'pg'
import type { CheckLogin } from '../../core/access/login.ts'
import { drawQr } from '../../core/access/qr.ts'
import { readRoles, type StaffRow } from '../../core/access/queries.ts'
import { revokeLogins } from '../../core/access/tokens.ts'
import type { Tx } from '../../core/database/tables.ts'
import { type Rules, readRules } from './company.ts'

/** Admits the codes of the 30 seconds before and after, for clocks that differ. */
const window = 1
const stepSeconds = 30
const recoveryCodes = 10

const reference = (tenant: string, staffId: string) => ['courier second factor 1', tenant, staffId]
const hashRecovery = (code: string): Buffer => hash('sha256', code.toUpperCase().replace(/[\s-]/g, ''), 'buffer')

const isAsked = ({ secondFactor }: Rules, row: Pick<StaffRow, 'role' | 'roles'>): boolean =>
  secondFactor === 'all' || (secondFactor === 'admin' && readRoles(row).includes('admin'))

const noPasswords = 'Your company signs in with its provider, not with passwords.'

/** Refuses passwords where the company leaves only its provider, and asks for the second factor. */
export const checkLogins =
  (pool: pg.Pool, keyring: Keyring | undefined): CheckLogin =>
  ({ tenant, holder: { staff_id, person_id }, code, requestId }) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      const rules = await readRules(tx, tenant)
      // Programs log in with the account of a merchant, which is no person.
      if (staff_id ? !rules.allowsPassword.staff : person_id && !rules.allowsPassword.merchant)
        throw invalid({ password: [noPasswords] }, { message: noPasswords })
      if (!staff_id || !rules.secondFactor) return undefined
      const [row] = await tx.rows<StaffRow & Factor>(factorSql, [tenant, staff_id])
      if (!row || !isAsked(rules, row)) return undefined
      const by = { kind: 'staff', name: row.name, requestId } as const
      return checkCode(tx, { tenant, row, keyring, code, by })
    })

interface Factor {
  readonly key_id: string | null
  readonly sealed_secret: Buffer
  readonly confirmed_at: Date | null
}

const factorSql = `
  select staff.staff_id::text, name, role, roles, key_id, sealed_secret, confirmed_at
  from staff left join second_factors factor on factor.tenant_id = $1 and factor.staff_id = staff.staff_id
  where staff.tenant_id = $1 and staff.staff_id = $2::bigint`

interface Check {
  readonly tenant: string
  readonly row: StaffRow & Factor
  readonly keyring: Keyring | undefined
  readonly code: string | undefined
  readonly by: Actor
}

const checkCode = async (tx: Tx, { tenant, row, keyring, code, by }: Check): Promise<HttpError | undefined> => {
  const { staff_id, key_id, sealed_secret, confirmed_at } = row
  const setUp = 'Set up a second factor first: an app that makes codes.'
  if (!key_id || !(confirmed_at || code)) throw invalid({ second_factor: [setUp] }, { message: setUp })
  const enter = 'Enter the code that your app shows, or a recovery code.'
  if (!code) throw invalid({ code: [enter] }, { message: enter })
  if (!keyring) throw lacksKeys()
  const secret = openAs(keyring, reference(tenant, staff_id), { keyId: key_id, sealed: sealed_secret })
  const delta = makeTotp(secret).validate({ token: code.trim(), window })
  const step = Math.floor(Date.now() / 1000 / stepSeconds) + (delta ?? 0)
  const isUsed = delta === null ? undefined : await tx.client.query(stepSql, [tenant, staff_id, step])
  if (isUsed?.rowCount) {
    if (confirmed_at) return undefined
    await tx.client.query(confirmSql, [tenant, staff_id])
    await audit(tx, tenant, by, 'second_factor.confirmed', row.name)
    return undefined
  }
  const recovered = await tx.client.query(recoverySql, [tenant, staff_id, hashRecovery(code)])
  if (recovered.rowCount) {
    await audit(tx, tenant, by, 'second_factor.recovered', row.name)
    return undefined
  }
  const wrong = 'The code is wrong, or was used before.'
  return invalid({ code: [wrong] }, { message: wrong })
}

const stepSql = `
  update second_factors set last_step = $3
  where tenant_id = $1 and staff_id = $2::bigint and last_step < $3`
const confirmSql = 'update second_factors set confirmed_at = now() where tenant_id = $1 and staff_id = $2::bigint'
const recoverySql = `
  update second_factors set recovery_hashes = array_remove(recovery_hashes, $3::bytea)
  where tenant_id = $1 and staff_id = $2::bigint and confirmed_at is not null and $3::bytea = any(recovery_hashes)`

const lacksKeys = () => httpError('unavailable', 'Second factors need WEBHOOK_KEYS: ask the operator.')
const makeTotp = (secret: string, label = '', issuer = '') =>
  new TOTP({ secret: Secret.fromBase32(secret), label, issuer, period: stepSeconds })

/** Stores a new secret until its first code confirms it. Throws if the person has one, or the company asks for none. */
export const setUpFactor = async (
  tx: Tx,
  keyring: Keyring | undefined,
  tenant: string,
  { staff_id, email, name }: StaffRow,
  requestId: string,
) => {
  if (!keyring) throw lacksKeys()
  const [row] = await tx.rows<StaffRow & Factor>(factorSql, [tenant, staff_id])
  if (!row || !isAsked(await readRules(tx, tenant), row))
    throw invalid({ second_factor: ['Your company asks you for no second factor.'] })
  if (row.confirmed_at) throw invalid({ second_factor: ['You have a second factor. An admin can reset it for you.'] })
  const secret = new Secret({ size: 20 }).base32
  const codes = Array.from({ length: recoveryCodes }, () => new Secret({ buffer: toBuffer(randomBytes(10)) }).base32)
  const { keyId, sealed } = sealAs(keyring, reference(tenant, staff_id), secret)
  const { rowCount } = await tx.client.query(setUpSql, [tenant, staff_id, keyId, sealed, codes.map(hashRecovery)])
  if (rowCount === 0) throw invalid({ second_factor: ['You have a second factor. An admin can reset it for you.'] })
  await audit(tx, tenant, { kind: 'staff', name, requestId }, 'second_factor.set_up', name)
  const url = makeTotp(secret, email, tenant).toString()
  const shown = codes.map(code => code.replace(/(.{4})(?=.)/g, '$1-'))
  return { secret, url, qr: drawQr(url), recovery_codes: shown }
}

const toBuffer = (bytes: Buffer): ArrayBuffer => Uint8Array.from(bytes).buffer

const setUpSql = `
  insert into second_factors as factor (tenant_id, staff_id, key_id, sealed_secret, recovery_hashes)
  values ($1, $2::bigint, $3, $4, $5)
  on conflict (tenant_id, staff_id) do update set key_id = excluded.key_id, sealed_secret = excluded.sealed_secret,
    recovery_hashes = excluded.recovery_hashes, last_step = 0 where factor.confirmed_at is null`

/** Forgets the second factor and the provider's subject of a member of staff, and ends their sessions. */
export const resetSecondFactor = async (tx: Tx, tenant: string, row: StaffRow, by: Actor): Promise<void> => {
  const values = [tenant, row.staff_id]
  await tx.client.query('delete from second_factors where tenant_id = $1 and staff_id = $2::bigint', values)
  await tx.client.query('delete from provider_subjects where tenant_id = $1 and staff_id = $2::bigint', values)
  await audit(tx, tenant, by, 'staff.sign_in_reset', row.name)
  await revokeLogins(tx, tenant, 'staff_id', [row.staff_id], by)
}

/** Seals the secrets of all second factors with the newest key. */
export const rotateFactors = async (pool: pg.Pool, keyring: Keyring, by = operator()) => {
  const found = await resealRows<{ staff_id: string; key_id: string; sealed_secret: Buffer }>(pool, keyring, {
    sql: `select staff_id::text, key_id, sealed_secret from second_factors
      where tenant_id = $1 and key_id <> $2 order by staff_id for update`,
    reseal: async (tx, tenant, { staff_id, key_id, sealed_secret }) => {
      const bound = reference(tenant, staff_id)
      const { keyId, sealed } = sealAs(keyring, bound, openAs(keyring, bound, { keyId: key_id, sealed: sealed_secret }))
      const text = `update second_factors set key_id = $3, sealed_secret = $4
        where tenant_id = $1 and staff_id = $2::bigint`
      await tx.client.query(text, [tenant, staff_id, keyId, sealed])
      await audit(tx, tenant, by, 'keys.rotated', staff_id)
    },
    name: ({ staff_id }) => ({ staff_id }),
  })
  return { ...found, field: 'second_factors', what: 'second factors' }
}

/** Tries the newest key on secrets that its id sealed. */
export const opensFactor = async (tx: Tx, tenant: string, keyring: Keyring): Promise<boolean | undefined> => {
  const rows = await tx.rows<{ staff_id: string; sealed: Sealed['sealed'] }>(
    `select staff_id::text, sealed_secret as sealed from second_factors
    where tenant_id = $1 and key_id = $2 limit 100`,
    [tenant, keyring.newest],
  )
  const opens = ({ staff_id, sealed }: (typeof rows)[number]) =>
    tryOpen(() => openAs(keyring, reference(tenant, staff_id), { keyId: keyring.newest, sealed })) !== undefined
  return rows.length > 0 ? rows.some(opens) : undefined
}
