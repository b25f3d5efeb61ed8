import { type Keyring, openAs, sealAs, tryOpen } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
import { Reason } from '../../../core/actions/fields.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { nullable } from '../ledger/fields.ts'
import { lockName, readClock } from '../ledger/parcels.ts'

// Keeps the accounts to which merchants are paid (docs/money.md#the-pay-run), sealed; shows their last four characters.

/** Sets the wait in hours before a new account is paid, so that a deceived merchant can object. */
const waitHours = 48

const name = (example: string) =>
  Type.String({
    maxLength: 100,
    pattern: '^(?=\\s*\\S)[^\\u0000-\\u001f\\ud800-\\udfff]*$',
    must: 'be text of at most 100 characters in one line',
    examples: [example],
  })

export const AccountDetails = Type.Object(
  {
    bank: name('Bank of Ceylon'),
    branch: Type.Optional(name('Galle')),
    holder: name('Lanka Shoes (Pvt) Ltd'),
    number: Type.String({
      maxLength: 34,
      pattern: '^(?=([ -]*[A-Z0-9]){4})[A-Z0-9 -]{4,34}$',
      must: 'be 4 to 34 digits, capital letters, blanks or hyphens, at least 4 of them digits or letters',
      examples: ['0071234567'],
    }),
  },
  { title: 'AccountDetails', additionalProperties: false },
)
export type AccountDetails = Static<typeof AccountDetails>

export const BankAccount = Type.Object(
  {
    version: Type.Integer(),
    last_four: Type.String({ examples: ['4567'] }),
    changed_by: Type.String({ examples: ['Chamari'] }),
    changed_at: Type.String(),
    confirmed_by: nullable(),
    confirmed_at: nullable(),
    objected_at: nullable('The time when the merchant objected: the account is never paid.'),
    objection: nullable("The merchant's reason."),
    usable_at: Type.String({
      description: `The time ${waitHours} hours after the change. A second person must confirm the account too.`,
    }),
  },
  { title: 'BankAccount' },
)
export type BankAccount = Static<typeof BankAccount>

export const usableAtSql = `changed_at + interval '${waitHours} hours'`

const columns = `version, last_four, changed_by, ${isoTime('changed_at')} as changed_at, confirmed_by,
  ${isoTime('confirmed_at')} as confirmed_at, ${isoTime('objected_at')} as objected_at, objection,
  ${isoTime(`(${usableAtSql})`)} as usable_at`

/** Selects the newest account of each merchant of the tenant $1; earlier ones are no longer paid. */
export const newestAccountsSql = `
  select distinct on (merchant_id) * from bank_accounts where tenant_id = $1 order by merchant_id, version desc`

const newestSql = `select ${columns} from bank_accounts where tenant_id = $1 and merchant_id = $2
  order by bank_accounts.version desc limit 1`

/** Returns the texts that a sealed account is bound to; they never change. */
const reference = (tenant: string, merchantId: string, version: number) => [
  'courier bank accounts 1',
  tenant,
  merchantId,
  String(version),
]

/** Opens a sealed account. Throws VaultError. */
export const openAccount = (
  keyring: Keyring,
  tenant: string,
  row: { merchant_id: string; version: number; key_id: string; sealed: Buffer },
): AccountDetails =>
  JSON.parse(
    openAs(keyring, reference(tenant, row.merchant_id, row.version), { keyId: row.key_id, sealed: row.sealed }),
  )

export const sealAccount = (
  keyring: Keyring,
  tenant: string,
  merchantId: string,
  version: number,
  details: AccountDetails,
) => sealAs(keyring, reference(tenant, merchantId, version), JSON.stringify(details))

export const findAccount = async (tx: Tx, tenant: string, merchantId: string): Promise<BankAccount | undefined> =>
  (await tx.client.query<BankAccount>(newestSql, [tenant, merchantId])).rows[0]

const done = async (tx: Tx, tenant: string, merchantId: string, isRepeated = false): Promise<Acted<BankAccount>> => ({
  kind: 'done',
  data: (await findAccount(tx, tenant, merchantId)) as BankAccount,
  objects: isRepeated ? [] : [`merchant ${merchantId}`],
})

export const SeenAccount = Type.Composite(
  [Type.Pick(BankAccount, ['version', 'changed_by', 'changed_at']), AccountDetails],
  { title: 'SeenBankAccount' },
)

export interface AccountReference {
  readonly merchant_id: string
  /** null: a payment of an earlier release. */
  readonly version: number | null
}

/** Opens a version of a merchant's account; undefined: there is none, or no key opens it. */
export const readDetails = async (
  tx: Tx,
  keyring: Keyring,
  tenant: string,
  { merchant_id, version }: AccountReference,
): Promise<AccountDetails | undefined> => {
  const { rows } = await tx.client.query(sealedSql, [tenant, merchant_id, version])
  return rows[0] && tryOpen(() => openAccount(keyring, tenant, rows[0]))
}

const sealedSql = `select merchant_id::text, version, key_id, sealed from bank_accounts
  where tenant_id = $1 and merchant_id = $2 and version = $3`

const toDigits = (number: string): string => number.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

/** Stores a new version of a merchant's account. It is paid only once it is confirmed and its wait is over. */
export const changeAccount = async (
  tx: Tx,
  keyring: Keyring,
  { tenant, id: merchantId, by, body: details }: Call<AccountDetails>,
): Promise<Acted<BankAccount>> => {
  await lockName(tx, tenant, `bank account ${merchantId}`)
  const text = `select messaging and phone is not null as is_told from merchants join tenants using (tenant_id)
    where merchants.tenant_id = $1 and merchant_id = $2`
  const { rows } = await tx.client.query(text, [tenant, merchantId])
  if (!rows[0]) return { kind: 'unknown', what: 'merchant' }
  const version = 1 + ((await findAccount(tx, tenant, merchantId))?.version ?? 0)
  const { keyId, sealed } = sealAccount(keyring, tenant, merchantId, version, details)
  const { now } = await readClock(tx, tenant)
  const lastFour = toDigits(details.number).slice(-4)
  await tx.client.query(insertSql, [tenant, merchantId, version, keyId, sealed, lastFour, by.name, now])
  const told = [tenant, merchantId, now, !rows[0].is_told, version, details.bank, lastFour]
  await tx.client.query(tellSql, told)
  return done(tx, tenant, merchantId)
}

/** Tells the merchant by an entry without a parcel; it never has the whole number. */
const tellSql = `
  insert into log (tenant_id, merchant_id, type, waybill_numbers, status_keys, actor, happened_at, is_relayed, details)
  select $1, $2, 'bank_account.changed', array[''], array[''], 'staff', $3::timestamptz, $4,
    jsonb_build_object('version', $5::integer::text, 'bank', $6::text, 'last_four', $7::text, 'object_until',
    to_char(($3::timestamptz + interval '${waitHours} hours') at time zone time_zone, 'YYYY-MM-DD HH24:MI'))
  from tenants where tenant_id = $1 returning tenant_id`

const insertSql = `
  insert into bank_accounts (tenant_id, merchant_id, version, key_id, sealed, last_four, changed_by, changed_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`

const version = Type.Integer({ minimum: 1, maximum: 2_147_483_647, examples: [1] })

export const AccountConfirmation = defineBody('AccountConfirmation', {
  version: { ...version, description: 'The version that was checked.' },
  number: { ...AccountDetails.properties.number, description: 'The whole number, as the merchant stated it.' },
})

/** Refuses to act on a version that is not the newest, or to which the merchant objected. */
const refuseVersion = ({ version: newest, objected_at }: BankAccount, version: number) => {
  if (newest !== version) return refuse('version', `The newest account is version ${newest}: check that one.`)
  return objected_at === null
    ? undefined
    : refuse('version', `The merchant objected to it on ${objected_at}: store another one.`)
}

/** Confirms the newest account; the person who changed it may not. Its whole number shows what was checked. */
export const confirmAccount = async (
  tx: Tx,
  keyring: Keyring,
  { tenant, id: merchantId, by, body: { version, number } }: Call<Static<typeof AccountConfirmation>>,
): Promise<Acted<BankAccount>> => {
  await lockName(tx, tenant, `bank account ${merchantId}`)
  const account = await findAccount(tx, tenant, merchantId)
  if (!account) return { kind: 'unknown', what: 'bank account' }
  if (account.changed_by === by.name)
    return refuse('version', `${by.name} changed it: a second person must confirm it.`)
  const refused = refuseVersion(account, version)
  if (refused) return refused
  const details = await readDetails(tx, keyring, tenant, { merchant_id: merchantId, version })
  if (!details) return refuse('version', 'No key in WEBHOOK_KEYS opens it: store the account again.')
  if (toDigits(details.number) !== toDigits(number))
    return refuse('number', `Version ${version} has another number: ask the merchant.`)
  if (account.confirmed_by !== null) return done(tx, tenant, merchantId, true)
  const { now } = await readClock(tx, tenant)
  await tx.client.query(confirmSql, [tenant, merchantId, version, by.name, now])
  return done(tx, tenant, merchantId)
}

const confirmSql = `
  update bank_accounts set confirmed_by = $4, confirmed_at = $5 where tenant_id = $1 and merchant_id = $2
    and version = $3`

export const AccountObjection = defineBody('AccountObjection', { version, reason: Reason })

/** Stops the newest account for good, by its merchant, within its wait. */
export const objectToAccount = async (
  tx: Tx,
  { tenant, merchantId, by, body: { version, reason } }: Call<Static<typeof AccountObjection>>,
): Promise<Acted<BankAccount>> => {
  const id = merchantId ?? ''
  await lockName(tx, tenant, `bank account ${id}`)
  const account = await findAccount(tx, tenant, id)
  if (!account) return { kind: 'unknown', what: 'bank account' }
  if (account.version === version && account.objected_at !== null) return done(tx, tenant, id, true)
  const refused = refuseVersion(account, version)
  if (refused) return refused
  const { now } = await readClock(tx, tenant)
  if (now >= new Date(account.usable_at))
    return refuse('version', `It may be paid since ${account.usable_at}: ask the courier company.`)
  await tx.client.query(objectSql, [tenant, id, version, by.name, now, reason])
  return done(tx, tenant, id)
}

const objectSql = `
  update bank_accounts set objected_by = $4, objected_at = $5, objection = $6 where tenant_id = $1
    and merchant_id = $2 and version = $3`
