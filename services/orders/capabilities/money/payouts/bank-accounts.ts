import { type Keyring, openAs, sealAs } from '@courier/shared/vault.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type Acted, type Call, defineBody, refuse } from '../../../core/actions/action.ts'
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
    usable_at: Type.String({
      description: `The time ${waitHours} hours after the change. A second person must confirm the account too.`,
    }),
  },
  { title: 'BankAccount' },
)
export type BankAccount = Static<typeof BankAccount>

export const usableAtSql = `changed_at + interval '${waitHours} hours'`

const columns = `version, last_four, changed_by, ${isoTime('changed_at')} as changed_at, confirmed_by,
  ${isoTime('confirmed_at')} as confirmed_at, ${isoTime(`(${usableAtSql})`)} as usable_at`

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

/** Stores a new version of a merchant's account. It is paid only once it is confirmed and its wait is over. */
export const changeAccount = async (
  tx: Tx,
  keyring: Keyring,
  { tenant, id: merchantId, by, body: details }: Call<AccountDetails>,
): Promise<Acted<BankAccount>> => {
  await lockName(tx, tenant, `bank account ${merchantId}`)
  const text = 'select 1 from merchants where tenant_id = $1 and merchant_id = $2'
  const { rows } = await tx.client.query(text, [tenant, merchantId])
  if (!rows[0]) return { kind: 'unknown', what: 'merchant' }
  const version = 1 + ((await findAccount(tx, tenant, merchantId))?.version ?? 0)
  const { keyId, sealed } = sealAccount(keyring, tenant, merchantId, version, details)
  const { now } = await readClock(tx, tenant)
  const digits = details.number.replaceAll(/[^A-Z0-9]/g, '')
  await tx.client.query(insertSql, [tenant, merchantId, version, keyId, sealed, digits.slice(-4), by.name, now])
  const data = (await findAccount(tx, tenant, merchantId)) as BankAccount
  return { kind: 'done', data, objects: [`merchant ${merchantId}`] }
}

const insertSql = `
  insert into bank_accounts (tenant_id, merchant_id, version, key_id, sealed, last_four, changed_by, changed_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8)`

export const AccountConfirmation = defineBody('AccountConfirmation', {
  last_four: Type.String({
    maxLength: 4,
    pattern: '^[A-Z0-9]{1,4}$',
    must: 'be the last four digits or letters of the account number',
    examples: ['4567'],
  }),
})

/** Confirms the newest account; the person who changed it may not. `last_four` names the account that was checked. */
export const confirmAccount = async (
  tx: Tx,
  { tenant, id: merchantId, by, body: { last_four } }: Call<Static<typeof AccountConfirmation>>,
): Promise<Acted<BankAccount>> => {
  await lockName(tx, tenant, `bank account ${merchantId}`)
  const account = await findAccount(tx, tenant, merchantId)
  if (!account) return { kind: 'unknown', what: 'bank account' }
  if (account.last_four !== last_four)
    return refuse('last_four', `The newest account ends in ${account.last_four}: check that one.`)
  if (account.changed_by === by.name)
    return refuse('last_four', `${by.name} changed it: a second person must confirm it.`)
  if (account.confirmed_by !== null) return { kind: 'done', data: account, objects: [] }
  const { now } = await readClock(tx, tenant)
  await tx.client.query(confirmSql, [tenant, merchantId, account.version, by.name, now])
  const data = (await findAccount(tx, tenant, merchantId)) as BankAccount
  return { kind: 'done', data, objects: [`merchant ${merchantId}`] }
}

const confirmSql = `
  update bank_accounts set confirmed_by = $4, confirmed_at = $5 where tenant_id = $1 and merchant_id = $2
    and version = $3`
