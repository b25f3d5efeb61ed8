import { foldedBalanceSql, lastFoldedSql } from './fold-and-seal.ts'

// Reads balances of the accounts of the ledger: of folded days, and of those that are not folded yet.

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
