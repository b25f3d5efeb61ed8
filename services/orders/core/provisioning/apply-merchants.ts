import type { Change } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { required } from '@courier/shared/errors/field-errors.ts'
import type { Actor } from '@courier/shared/postgres/audit.ts'
import { inTenant, query } from '@courier/shared/postgres/database.ts'
import type { Selectable } from 'kysely'
import type pg from 'pg'
import { hashPassword, isPassword, type Passwords } from '../access/passwords.ts'
import { findPeople } from '../access/queries.ts'
import { revokeLogins } from '../access/tokens.ts'
import type { Tables, Tx } from '../database/tables.ts'
import { type CompanyParts, toPartColumns } from './company-part.ts'
import { sync } from './sync.ts'
import type { MerchantsFile, TenantFile } from './tenant-file.ts'

type Entry = MerchantsFile['merchants'][number]
type Stored = Selectable<Tables['merchants']>

/** Pairs a merchant of a file with its stored row. `row` is undefined for a new merchant. */
interface Matched {
  readonly entry: Entry
  readonly email: string
  readonly row: Stored | undefined
}

/**
 * Finds the stored row of each merchant of a file: by its `id`, else by its previous e-mail address, `was`, else by its
 * e-mail address.
 */
const matchMerchants = (entries: readonly Entry[], stored: readonly Stored[]): Matched[] => {
  const byEmail = new Map(stored.map(row => [row.email, row]))
  return entries.map(entry => {
    const email = entry.email.toLowerCase()
    const named = byEmail.get(entry.was?.toLowerCase() ?? '') ?? byEmail.get(email)
    const row = entry.id === undefined ? named : stored.find(({ merchant_id }) => merchant_id === String(entry.id))
    return { entry, email, row }
  })
}

const findStored = (tx: Tx, tenant: string) => query<Stored>(tx)`select * from merchants where tenant_id = ${tenant}`

/**
 * Returns the password hash of each merchant of the file, by e-mail address. Hashing is slow on purpose, so it runs
 * before the transaction. A stored hash that matches the password is kept: a new one would count as a change.
 */
export const hashPasswords = async (
  pool: pg.Pool,
  { tenant, merchants }: MerchantsFile,
  { hash: hashOf, isCorrect }: Passwords = { hash: hashPassword, isCorrect: isPassword },
) => {
  const stored = await inTenant(pool, tenant.id, (tx: Tx) => findStored(tx, tenant.id))
  const wanted = matchMerchants(merchants, stored).map(async ({ entry: { password }, email, row }) => {
    const hash = row?.password_hash
    const isKept = hash !== undefined && (password === undefined || (await isCorrect(password, hash)))
    return [email, isKept ? hash : await hashOf(password ?? '')] as const
  })
  return new Map(await Promise.all(wanted))
}

/** Applies the merchants of a file and their businesses. `hashes` come from `hashPasswords`. */
export const applyMerchants = async (
  tx: Tx,
  { tenant: { id: tenant }, merchants }: MerchantsFile,
  parts: CompanyParts,
  hashes: ReadonlyMap<string, string>,
  by: Actor,
): Promise<Change[]> => {
  const matched = matchMerchants(merchants, await findStored(tx, tenant))
  const renamed = await renameMerchants(tx, tenant, matched)
  const rows = matched.map(({ entry, email, row }) => ({
    email,
    name: entry.name,
    password_hash: row && entry.password === undefined ? row.password_hash : (hashes.get(email) ?? ''),
    rate_card: entry.rate_card ?? null,
    is_active: entry.active ?? row?.is_active ?? true,
    ...toPartColumns(parts, 'merchant', entry),
  }))
  const changes = await sync(tx, tenant, [{ table: 'merchants', rows }])
  const changed = matched.flatMap(({ row }, index) =>
    row && row.password_hash !== rows[index]?.password_hash ? [row] : [],
  )
  return [
    ...renamed.filter(({ id }) => !changes.some(change => change.id === id)),
    ...changes.map(change => ({ ...renamed.find(({ id }) => id === change.id), ...change, ...findReason(change) })),
    ...(await endLogins(tx, tenant, changed, by)),
    ...(await applyBusinesses(tx, tenant, merchants, parts)),
  ]
}

const findReason = ({ change }: Change): Pick<Change, 'reason'> =>
  change === 'deactivated' ? { reason: 'its tokens are refused; its orders stay' } : {}

/** Gives merchants new e-mail addresses, which must be unused. */
const renameMerchants = async (tx: Tx, tenant: string, matched: readonly Matched[]): Promise<Change[]> => {
  const changes: Change[] = []
  for (const { row, email } of matched) {
    if (!row || row.email === email) continue
    await query(tx)`
      update merchants set email = ${email} where tenant_id = ${tenant} and merchant_id = ${row.merchant_id}`
    changes.push({ kind: 'merchant', id: email, change: 'changed', reason: `its e-mail address was ${row.email}` })
  }
  return changes
}

/** Revokes the login tokens of merchants whose password changed. */
const endLogins = async (tx: Tx, tenant: string, merchants: readonly Stored[], by: Actor): Promise<Change[]> => {
  const emails = new Map(merchants.map(({ merchant_id, email }) => [merchant_id, email]))
  const tokens = await revokeLogins(tx, tenant, 'merchant_id', [...emails.keys()], by)
  return tokens.map(({ token_id: id, merchant_id }) => ({
    kind: 'login token',
    id,
    change: 'revoked',
    reason: `the password of ${emails.get(String(merchant_id))} changed`,
  }))
}

const applyBusinesses = async (
  tx: Tx,
  tenant: string,
  merchants: readonly Entry[],
  parts: CompanyParts,
): Promise<Change[]> => {
  const matched = matchMerchants(merchants, await findStored(tx, tenant))
  const rows = matched.flatMap(({ entry, row }) =>
    entry.businesses.map(business => ({
      business_id: business.id,
      merchant_id: row?.merchant_id ?? null,
      name: business.name,
      is_default: business.default ?? false,
      is_active: true,
      ...toPartColumns(parts, 'business', business),
    })),
  )
  const values = matched.map(({ row }) => row?.merchant_id ?? '')
  return sync(tx, tenant, [{ table: 'businesses', rows, among: { column: 'merchant_id', values } }])
}

/**
 * Lists the errors of a file that need stored rows: merchants that are missing or appear twice, e-mail addresses that
 * are in use, missing passwords, and businesses of merchants that the file does not name.
 */
export const findMerchantErrors = async (
  tx: Tx,
  { tenant, merchants }: TenantFile | MerchantsFile,
): Promise<FieldErrors> => {
  const stored = await findStored(tx, tenant.id)
  const matched = matchMerchants(merchants, stored)
  const owners = matched.map(({ row }) => row?.merchant_id)
  const businesses = await query<{ business_id: number; merchant_id: string }>(tx)`
    select business_id, merchant_id from businesses where tenant_id = ${tenant.id}`
  const foreign = new Set(businesses.filter(row => !owners.includes(row.merchant_id)).map(row => row.business_id))
  const people = await findPeople(
    tx,
    tenant.id,
    matched.map(({ email }) => email),
  )
  const errors: FieldErrors = {}
  for (const [m, { entry, email, row }] of matched.entries()) {
    const add = (path: string, sentence: string) => {
      errors[`merchants.${m}${path}`] = [sentence]
    }
    const [path, sentence] = findMatchError(matched, m, stored) ?? []
    if (path !== undefined && sentence) add(path, sentence)
    if (!row && entry.password === undefined) add('.password', required('password'))
    const person = people.find(each => each.email === email)
    if (person)
      add(
        '.email',
        `Person ${person.person_id} of merchant ${person.merchant_id} logs in with this address: choose another, or have an owner of that merchant deactivate the person first.`,
      )
    for (const [b, { id }] of entry.businesses.entries())
      if (foreign.has(id))
        add(`.businesses.${b}.id`, `Business ${id} belongs to a merchant that this file does not name.`)
  }
  return errors
}

/** Finds an unknown `id` or `was`, a merchant that appears twice, or an e-mail address of another merchant. */
const findMatchError = (
  matched: readonly Matched[],
  m: number,
  stored: readonly Stored[],
): [path: string, sentence: string] | undefined => {
  const { entry, email, row } = matched[m] as Matched
  if (!row && entry.id !== undefined) return ['.id', `There is no merchant ${entry.id}: a new one has no id.`]
  if (!row && entry.was !== undefined) return ['.was', `There is no merchant ${entry.was}: a new one has no "was".`]
  const first = row ? matched.findIndex(other => other.row === row) : m
  if (first < m) return ['', `This is the same merchant as merchants.${first}.`]
  const holder = stored.find(other => other.email === email)
  return holder && holder !== row
    ? ['.email', `Merchant ${holder.merchant_id} has the e-mail address ${holder.email}.`]
    : undefined
}
