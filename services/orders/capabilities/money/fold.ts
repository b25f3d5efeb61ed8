import { hash } from 'node:crypto'
import type { DeleteExpired } from '@courier/shared/postgres/housekeeping.ts'
import type { Tx } from '../../core/database/tables.ts'
import { lockName } from './parcels.ts'

// Folds days of the ledger that have ended, so that statements stay fast, and seals them (docs/money.md#statements).

/** Sums the transfers of days for each pair of accounts, from both sides. */
export const daySumsSql = (condition: string): string => `
  select account, booked_on, counter_account, sum(debit) as debit, sum(credit) as credit from (
    select debit as account, booked_on, credit as counter_account, amount as debit, 0 as credit from ledger_transfers
      where tenant_id = $1 and ${condition}
    union all
    select credit, booked_on, debit, 0, amount from ledger_transfers where tenant_id = $1 and ${condition}
  ) side group by 1, 2, 3`

/** Selects the balance of an account, debits less credits, at the end of its newest folded day before a day. */
export const foldedBalanceSql = (account: string, before = `'infinity'`): string => `coalesce((
      select balance from ledger_days day where day.tenant_id = $1 and day.account = ${account}
        and day.booked_on < ${before}
      order by day.booked_on desc, day.counter_account desc limit 1
    ), 0)`

/** Selects the last folded day. */
export const lastFoldedSql = `(select coalesce(max(booked_on), '-infinity') from ledger_seals where tenant_id = $1)`

/** Selects the SHA-256 of each folded day's sums, in hexadecimal. */
export const digestsSql = `
  select booked_on::text, encode(sha256(convert_to(string_agg(
    concat_ws('|', account, counter_account, debit, credit), E'\\n' order by account, counter_account), 'UTF8')),
      'hex') as digest
  from ledger_days where tenant_id = $1`

/** Returns the seal of a day: a hash over the previous seal, the day and its digest. */
export const seal = (before: string, day: string, digest: string): string =>
  hash('sha256', `${before}\n${day}\n${digest}`)

/** Keeps days from being sealed until the transaction ends. */
export const lockFold = (tx: Tx, tenant: string): Promise<void> => lockName(tx, tenant, 'fold')

/**
 * Folds and seals the oldest day that ended more than an hour ago, when no transaction of that day is open any more.
 * Returns how many days it folded.
 */
export const foldDay: DeleteExpired = async (tx: Tx, tenant) => {
  await lockFold(tx, tenant)
  const { rows } = await tx.client.query(oldestSql, [tenant])
  const { day, before } = rows[0] ?? {}
  if (!day) return 0
  await tx.client.query(foldSql, [tenant, day])
  const { rows: digests } = await tx.client.query(`${digestsSql} and booked_on = $2 group by booked_on`, [tenant, day])
  await tx.client.query('insert into ledger_seals (tenant_id, booked_on, seal) values ($1, $2, $3)', [
    ...[tenant, day, seal(before ?? '', day, digests[0].digest)],
  ])
  return 1
}

const oldestSql = `
  select (
      select min(booked_on) from ledger_transfers transfer where transfer.tenant_id = $1
        and booked_on > coalesce(last, '-infinity')
        and booked_on < ((clock_timestamp() - interval '1 hour') at time zone time_zone)::date
    )::text as day, (select seal from ledger_seals sealed where sealed.tenant_id = $1
      and sealed.booked_on = last) as before
  from tenants cross join (select max(booked_on) as last from ledger_seals where tenant_id = $1) latest
    where tenants.tenant_id = $1`

const foldSql = `
  insert into ledger_days (tenant_id, account, booked_on, counter_account, debit, credit, balance)
  select $1, sums.account, sums.booked_on, sums.counter_account, sums.debit, sums.credit,
    before.balance + sum(sums.debit - sums.credit) over (partition by sums.account order by sums.counter_account)
  from (${daySumsSql('booked_on = $2::date')}) sums cross join lateral (
    select ${foldedBalanceSql('sums.account')} as balance
  ) before returning tenant_id`
