import { hash } from 'node:crypto'
import type { DeleteExpired } from '@courier/shared/postgres/housekeeping.ts'
import type { Tx } from '../../../core/database/tables.ts'
import { paymentsSql } from './ledger.ts'
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

/** Selects the SHA-256 of texts, in hexadecimal. */
const digestSql = (text: string, order: string): string =>
  `encode(sha256(convert_to(string_agg(${text}, E'\\n' order by ${order}), 'UTF8')), 'hex') as digest`

const jsonSql = (...columns: string[]): string => `json_build_array(${columns.join(', ')})::text`
const amountsSql = (...columns: string[]): string[] => columns.map(column => `trim_scale(${column})`)
const lineSql = `${jsonSql(
  ...['waybill_number', 'line_no', 'journal_id', 'merchant_id', 'kind', 'method', 'cash_account', 'refers_to'],
  ...amountsSql('cod', 'delivery', 'cod_fee', 'return_fee', 'tax', 'withholding', 'compensation', 'adjustment'),
  ...amountsSql('held', 'handed'),
  ...['tax_percent', 'withholding_percent', 'staff_name', 'reason'],
)} || coalesce(taxes::text, '') || coalesce(withheld::text, '')`
const handoverSql = jsonSql(
  ...["'handover'", 'handover_id', 'journal_id', 'collected_by', 'waybill_numbers', 'state'],
  ...amountsSql('expected', 'debt', 'declared', 'counted'),
)
const transferSql = jsonSql(
  ...["'transfer'", 'transfer_id', 'from_name', 'to_name', 'waybill_numbers', ...amountsSql('amount')],
)
const depositSql = jsonSql(
  ...["'deposit'", 'deposit_id', 'bank_reference', ...amountsSql('amount', 'other', 'difference')],
  'difference_account',
)
const paymentSql = jsonSql(
  ...["'payment'", 'journal_id', 'invoice_no', 'merchant_id', 'bank_reference', 'paid_on', ...amountsSql('total')],
)
const correctionSql = jsonSql(
  ...["'correction'", 'correction_id', 'kind', 'journal_id', 'merchant_id', 'waybill_number', 'invoice_id'],
  ...amountsSql('amount'),
  ...['reason', 'bank_reference', 'made_by', 'decided_by', 'payment_journal_id'],
)
const versionSql = jsonSql(
  ...["'version'", 'invoice_id', 'version', 'kind', 'letterhead', 'waybill_numbers', 'line_nos', 'credit_note_no'],
  ...amountsSql('total', 'charges_due', 'credited'),
  'reason',
)
const chargesSql = jsonSql(
  "'charges'",
  'charges_journal_id',
  'invoice_no',
  'merchant_id',
  ...amountsSql('coalesce(charges_paid, charges_due)'),
)
const bankEntrySql = jsonSql(
  ...["'bank_entry'", 'entry_id', 'kind', 'journal_id', 'debit', 'credit', ...amountsSql('amount')],
  ...['bank_reference', 'office_reference', 'reason', 'made_by', 'decided_by'],
)

/**
 * Selects the digests of each folded day: of its sums, and of its lines, transfers and documents. Leaves out what later
 * days change: the invoice and the deposit of a line.
 */
export const digestsSql = (isWanted = (_day: string) => 'true'): string => {
  const where = `where tenant_id = $1 and ${isWanted('booked_on')}`
  return `
  select sums.booked_on::text, sums.digest as sums, lines.digest as lines, transfers.digest as transfers,
    documents.digest as documents
  from (
    select booked_on, ${digestSql(
      `concat_ws('|', account, counter_account, debit, credit)`,
      'account, counter_account',
    )} from ledger_days ${where} group by 1
  ) sums left join (
    select booked_on, ${digestSql(lineSql, 'waybill_number, line_no')} from money_lines ${where} group by 1
  ) lines using (booked_on) left join (
    select booked_on, ${digestSql(
      jsonSql('journal_id', 'debit', 'credit', ...amountsSql('amount')),
      'journal_id, debit collate "C", credit collate "C"',
    )} from ledger_transfers ${where} group by 1
  ) transfers using (booked_on) left join (
    select booked_on, ${digestSql('document', 'document collate "C"')} from (
      select booked_on, ${handoverSql} as document from cash_handovers ${where}
      union all select booked_on, ${transferSql} from cash_transfers ${where}
      union all select booked_on, ${depositSql} from cash_deposits ${where}
      union all select booked_on, ${paymentSql} from ${paymentsSql} payment where ${isWanted('booked_on')}
      union all select booked_on, ${correctionSql} from corrections ${where}
      union all select booked_on, ${bankEntrySql} from bank_entries ${where}
      union all select charges_booked_on, ${chargesSql} from invoices
        where tenant_id = $1 and ${isWanted('charges_booked_on')}
      union all select issued_on, ${versionSql} from invoice_versions
        where tenant_id = $1 and ${isWanted('issued_on')}
    ) document where booked_on is not null group by 1
  ) documents using (booked_on)`
}

export interface Digests {
  readonly sums: string | null
  readonly lines: string | null
  readonly transfers: string | null
  readonly documents: string | null
}

/** Is the version of new seals. */
const newest = 2

/**
 * Returns the seal of a day: a hash over the previous seal, the day and its digests. A seal of version 1 covers the
 * sums alone.
 */
export const seal = (before: string, day: string, digests: Digests, version = newest): string => {
  const { sums, lines, transfers, documents } = digests
  const covered = version === 1 ? [sums] : [sums, lines, transfers, documents]
  return hash('sha256', [before, day, ...covered.map(digest => digest ?? '')].join('\n'))
}

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
  const { rows: digests } = await tx.client.query(dayDigestsSql, [tenant, day])
  await tx.client.query('insert into ledger_seals (tenant_id, booked_on, seal, version) values ($1, $2, $3, $4)', [
    ...[tenant, day, seal(before ?? '', day, digests[0]), newest],
  ])
  return 1
}

const dayDigestsSql = digestsSql(day => `${day} = $2::date`)

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
