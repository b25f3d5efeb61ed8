import { Type } from '@sinclair/typebox'
import { foldedBalanceSql, lastFoldedSql } from './fold.ts'

// Lists the accounts of the ledger and their balances (docs/money.md#accounts).

const accountTypes = ['asset', 'liability', 'equity', 'income', 'expense', 'other'] as const
type AccountType = (typeof accountTypes)[number]

/** Gives each account, without the name or id after a colon, its type. */
const typeOfAccount: Readonly<Record<string, AccountType>> = {
  rider: 'asset',
  office: 'asset',
  clearing: 'asset',
  bank: 'asset',
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

/** Defines the query `recent`: the entries of the days up to `until` that are not folded yet, from both sides. */
export const recentSql = (until: string): string => `
  recent as materialized (
    select debit as account, credit as counter_account, booked_on, amount as debit, 0 as credit from ledger_transfers
      where tenant_id = $1 and booked_on > ${lastFoldedSql} and booked_on <= ${until}
    union all
    select credit, debit, booked_on, 0, amount from ledger_transfers
      where tenant_id = $1 and booked_on > ${lastFoldedSql} and booked_on <= ${until}
  )`

/**
 * Defines the query `account`: all accounts with their balances, debits less credits, at the end of the day `until`.
 * Skips from one folded account to the next.
 */
export const accountsSql = (until: string, before = `'infinity'`): string => `
  folded as (
    (select account from ledger_days where tenant_id = $1 order by account limit 1)
    union all
    select following.account from folded cross join lateral (
      select account from ledger_days where tenant_id = $1 and account > folded.account order by account limit 1
    ) following
  ), ${recentSql(until)}, account as (
    select account, ${foldedBalanceSql('named.account', before)} + coalesce(amount, 0) as balance
    from (select account from folded union select account from recent) named
      left join (select account, sum(debit - credit) as amount from recent group by 1) moved using (account)
  )`

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
