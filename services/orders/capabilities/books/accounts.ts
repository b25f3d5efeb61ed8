import { textPattern } from '@courier/shared/lists/filters.ts'
import { Type } from '@sinclair/typebox'
import { accountsSql } from '../money/ledger/balances.ts'

// Lists the accounts of the ledger and their balances (docs/money.md#accounts).

const accountTypes = ['asset', 'liability', 'equity', 'income', 'expense', 'other'] as const
type AccountType = (typeof accountTypes)[number]

/** Gives each account, without the name or id after a colon, its type. */
const typeOfAccount: Readonly<Record<string, AccountType>> = {
  rider: 'asset',
  office: 'asset',
  clearing: 'asset',
  bank: 'asset',
  cash_differences: 'asset',
  merchant: 'liability',
  held: 'liability',
  tax: 'liability',
  withholding: 'liability',
  opening_balances: 'equity',
  delivery_revenue: 'income',
  returns_revenue: 'income',
  differences: 'expense',
  compensation: 'expense',
  acquirer_fees: 'expense',
  bank_fees: 'expense',
  direct_debits: 'expense',
}

/** Returns the type of an account, such as `merchant:1`; `other` for one of a later version. */
export const findAccountType = (account: string): AccountType => typeOfAccount[account.split(':')[0] ?? ''] ?? 'other'

export const accountFields = {
  account: Type.String({ examples: ['merchant:1'] }),
  type: Type.Union(
    accountTypes.map(type => Type.Literal(type)),
    { description: 'other: an account of a later version.', examples: ['liability'] },
  ),
  merchant_name: Type.Union([Type.String(), Type.Null()], { description: 'null: not the account of a merchant.' }),
}

/** Defines the query field that names an account. */
export const accountField = (description: string) =>
  Type.String({
    ...{ maxLength: 250, minLength: 1, pattern: textPattern },
    ...{ must: 'be the name of an account', description },
  })

/**
 * Selects the accounts after $3, at most $4, with their balances at the end of the day $2 and, in each row, the sums of
 * all debit and credit balances. $5 leaves out balances of zero.
 */
export const trialBalanceSql = `
  with recursive ${accountsSql('$2::date', '($2::date + 1)')}, summed as (
    select *, sum(greatest(balance, 0)) over () as debits, sum(greatest(-balance, 0)) over () as credits from account
    where not $5::boolean or balance <> 0
  )
  select account, merchants.name as merchant_name, balance::float8, greatest(balance, 0)::float8 as debit,
    greatest(-balance, 0)::float8 as credit, debits::float8, credits::float8
  from summed left join merchants on merchants.tenant_id = $1
    and merchants.merchant_id = substring(account from '^(?:merchant|held):([0-9]{1,18})$')::bigint
  where $3::text is null or account > $3 order by account limit $4`
