import { hash, randomBytes } from 'node:crypto'
import { type HttpError, httpError, invalid } from '@courier/shared/errors/errors.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { resealRows } from '@courier/shared/postgres/reseal.ts'
import { type Keyring, openAs, sealAs, tryOpen } from '@courier/shared/vault.ts'
import { Secret, TOTP } from 'otpauth'
import type pg from 'pg'
import type { CheckLogin } from '../../core/access/login.ts'
import { drawQr } from '../../core/access/qr.ts'
import { revokeLogins } from '../../core/access/tokens.ts'
import type { Tx } from '../../core/database/tables.ts'
import { type Rules, readRules } from './company.ts'
import { findPerson, type Person, type Side, sides, toActor } from './sides.ts'

/** Admits the codes of the 30 seconds before and after, for clocks that differ. */
const window = 1
const stepSeconds = 30
const recoveryCodes = 10

const reference = (tenant: string, { for: kind }: Pick<Side, 'for'>, id: string) => [
  'courier second factor 1',
  tenant,
  kind === 'staff' ? id : `${kind} ${id}`,
]
const hashRecovery = (code: string): Buffer => hash('sha256', code.toUpperCase().replace(/[\s-]/g, ''), 'buffer')

const isAsked = (rules: Rules, side: Side, { roles }: Person): boolean => {
  const { secondFactor } = rules[side.for]
  return secondFactor === 'all' || (secondFactor === 'admin' && roles.includes(side.boss))
}

const noPasswords = 'Your company signs in with its provider, not with passwords.'

/** Refuses passwords where the company leaves only its provider, and asks for the second factor. */
export const checkLogins =
  (pool: pg.Pool, keyring: Keyring | undefined): CheckLogin =>
  ({ tenant, holder: { staff_id, person_id }, code, requestId }) =>
    inTenant(pool, tenant, async (tx: Tx) => {
      const id = staff_id ?? person_id
      // Programs log in with the account of a merchant, which is no person.
      if (!id) return undefined
      const [side, rules] = [staff_id ? sides.staff : sides.merchants, await readRules(tx, tenant)]
      if (!rules[side.for].password) throw invalid({ password: [noPasswords] }, { message: noPasswords })
      const person = rules[side.for].secondFactor && (await findPerson(tx, tenant, side, String(id)))
      if (!person || !isAsked(rules, side, person)) return undefined
      return checkCode(tx, { tenant, side, person, keyring, code, by: toActor(person, requestId) })
    })

interface Factor {
  readonly key_id: string
  readonly sealed_secret: Buffer
  readonly confirmed_at: Date | null
}

const findFactor = async (tx: Tx, tenant: string, side: Side, id: string): Promise<Factor | undefined> =>
  (await tx.rows<Factor>(factorSql, [tenant, side.for, id]))[0]

const ofHolder = 'tenant_id = $1 and kind = $2 and holder_id = $3::bigint'
const factorSql = `select key_id, sealed_secret, confirmed_at from second_factors where ${ofHolder}`

interface Check {
  readonly tenant: string
  readonly side: Side
  readonly person: Person
  readonly keyring: Keyring | undefined
  readonly code: string | undefined
  readonly by: Actor
}

const checkCode = async (tx: Tx, check: Check): Promise<HttpError | undefined> => {
  const { tenant, side, person, keyring, code, by } = check
  const factor = await findFactor(tx, tenant, side, person.id)
  const setUp = 'Set up a second factor first: an app that makes codes.'
  if (!factor || !(factor.confirmed_at || code)) throw invalid({ second_factor: [setUp] }, { message: setUp })
  const enter = 'Enter the code that your app shows, or a recovery code.'
  if (!code) throw invalid({ code: [enter] }, { message: enter })
  if (!keyring) throw lacksKeys()
  const { key_id, sealed_secret, confirmed_at } = factor
  const secret = openAs(keyring, reference(tenant, side, person.id), { keyId: key_id, sealed: sealed_secret })
  const holder = [tenant, side.for, person.id]
  const delta = makeTotp(secret).validate({ token: code.trim(), window })
  const step = Math.floor(Date.now() / 1000 / stepSeconds) + (delta ?? 0)
  const isUsed = delta === null ? undefined : await tx.client.query(stepSql, [...holder, step])
  if (isUsed?.rowCount) {
    if (confirmed_at) return undefined
    await tx.client.query(confirmSql, holder)
    await audit(tx, tenant, by, 'second_factor.confirmed', person.name)
    return undefined
  }
  const recovered = await tx.client.query(recoverySql, [...holder, hashRecovery(code)])
  if (recovered.rowCount) {
    await audit(tx, tenant, by, 'second_factor.recovered', person.name)
    return undefined
  }
  const wrong = 'The code is wrong, or was used before.'
  return invalid({ code: [wrong] }, { message: wrong })
}

const stepSql = `update second_factors set last_step = $4 where ${ofHolder} and last_step < $4`
const confirmSql = `update second_factors set confirmed_at = now() where ${ofHolder}`
const recoverySql = `
  update second_factors set recovery_hashes = array_remove(recovery_hashes, $4::bytea)
  where ${ofHolder} and confirmed_at is not null and $4::bytea = any(recovery_hashes)`

const lacksKeys = () => httpError('unavailable', 'Second factors need WEBHOOK_KEYS: ask the operator.')
const makeTotp = (secret: string, label = '', issuer = '') =>
  new TOTP({ secret: Secret.fromBase32(secret), label, issuer, period: stepSeconds })

/** Stores a new secret until its first code confirms it. Throws if the person has one, or the company asks for none. */
export const setUpFactor = async (
  tx: Tx,
  keyring: Keyring | undefined,
  tenant: string,
  side: Side,
  id: string | undefined,
  requestId: string,
) => {
  if (!keyring) throw lacksKeys()
  const person = id && (await findPerson(tx, tenant, side, id))
  if (!person || !isAsked(await readRules(tx, tenant), side, person))
    throw invalid({ second_factor: ['Your company asks you for no second factor.'] })
  const secret = new Secret({ size: 20 }).base32
  const codes = Array.from({ length: recoveryCodes }, () => new Secret({ buffer: toBuffer(randomBytes(10)) }).base32)
  const { keyId, sealed } = sealAs(keyring, reference(tenant, side, person.id), secret)
  const values = [tenant, side.for, person.id, keyId, sealed, codes.map(hashRecovery)]
  const { rowCount } = await tx.client.query(setUpSql, values)
  const has = `You have a second factor. An ${side.boss} can reset it for you.`
  if (rowCount === 0) throw invalid({ second_factor: [has] })
  await audit(tx, tenant, toActor(person, requestId), 'second_factor.set_up', person.name)
  const url = makeTotp(secret, person.email, tenant).toString()
  const shown = codes.map(code => code.replace(/(.{4})(?=.)/g, '$1-'))
  return { secret, url, qr: drawQr(url), recovery_codes: shown }
}

const toBuffer = (bytes: Buffer): ArrayBuffer => Uint8Array.from(bytes).buffer

const setUpSql = `
  insert into second_factors as factor (tenant_id, kind, holder_id, key_id, sealed_secret, recovery_hashes)
  values ($1, $2, $3::bigint, $4, $5, $6)
  on conflict (tenant_id, kind, holder_id) do update set
    key_id = excluded.key_id, sealed_secret = excluded.sealed_secret,
    recovery_hashes = excluded.recovery_hashes, last_step = 0 where factor.confirmed_at is null`

/** Forgets the second factor of a person and their subjects of providers, and ends their sessions. */
export const resetSignIn = async (
  tx: Tx,
  tenant: string,
  { for: kind, column, kind: who }: Side,
  { id, name }: Pick<Person, 'id' | 'name'>,
  by: Actor,
): Promise<void> => {
  await tx.client.query(`delete from second_factors where ${ofHolder}`, [tenant, kind, id])
  const subjects = `delete from provider_subjects where tenant_id = $1 and ${column} = $2::bigint`
  await tx.client.query(subjects, [tenant, id])
  await audit(tx, tenant, by, who === 'staff' ? 'staff.sign_in_reset' : 'person.sign_in_reset', name)
  await revokeLogins(tx, tenant, column, [id], by)
}

type Stored = Pick<Factor, 'key_id' | 'sealed_secret'> & { readonly kind: Side['for']; readonly holder_id: string }

/** Seals the secrets of all second factors with the newest key. */
export const rotateFactors = async (pool: pg.Pool, keyring: Keyring, by = operator()) => {
  const found = await resealRows<Stored>(pool, keyring, {
    sql: `select kind, holder_id::text, key_id, sealed_secret from second_factors
      where tenant_id = $1 and key_id <> $2 order by kind, holder_id for update`,
    reseal: async (tx, tenant, { kind, holder_id, key_id, sealed_secret }) => {
      const bound = reference(tenant, { for: kind }, holder_id)
      const { keyId, sealed } = sealAs(keyring, bound, openAs(keyring, bound, { keyId: key_id, sealed: sealed_secret }))
      const text = `update second_factors set key_id = $4, sealed_secret = $5 where ${ofHolder}`
      await tx.client.query(text, [tenant, kind, holder_id, keyId, sealed])
      await audit(tx, tenant, by, 'keys.rotated', holder_id)
    },
    name: ({ kind, holder_id }) => ({ [kind === 'staff' ? 'staff_id' : 'person_id']: holder_id }),
  })
  return { ...found, field: 'second_factors', what: 'second factors' }
}

/** Tries the newest key on secrets that its id sealed. */
export const opensFactor = async (tx: Tx, tenant: string, keyring: Keyring): Promise<boolean | undefined> => {
  const text = `
    select kind, holder_id::text, key_id, sealed_secret from second_factors
    where tenant_id = $1 and key_id = $2 limit 100`
  const rows = await tx.rows<Stored>(text, [tenant, keyring.newest])
  const opens = ({ kind, holder_id, key_id, sealed_secret }: Stored) => {
    const bound = reference(tenant, { for: kind }, holder_id)
    return tryOpen(() => openAs(keyring, bound, { keyId: key_id, sealed: sealed_secret })) !== undefined
  }
  return rows.length > 0 ? rows.some(opens) : undefined
}
