import type { Tx } from '../../../core/database/tables.ts'

/** Names the merchant's account (docs/money.md#accounts) in SQL. */
const merchantSql = `'merchant:' || line.merchant_id`

/** Lists the pairs of accounts that a delivery or return books: debit, credit, amount. */
const listMovePairs = (withholding: string) => [
  ['line.cash_account', merchantSql, 'line.cod'],
  [merchantSql, "'delivery_revenue'", 'line.delivery + line.cod_fee'],
  [merchantSql, "'returns_revenue'", 'line.return_fee'],
  [merchantSql, "'tax'", 'case when line.taxes is null then line.tax else 0 end'],
  [merchantSql, withholding, 'case when line.withheld is null then line.withholding else 0 end'],
]
/** Selects the pairs of accounts of taxes and withholdings that have names, in the same columns. */
const namedPairsSql = ['tax', 'withholding']
  .map(
    account => `select ${merchantSql}, '${account}:' || name, amount
        from jsonb_to_recordset(line.${account === 'tax' ? 'taxes' : 'withheld'}) as named (name text, amount numeric)`,
  )
  .join(' union all ')
/** Names the account of a line's withholding: an earlier version, which stored no rates, booked it with the tax. */
const withholdingSql = `case when line.withholding_percent is null then 'tax' else 'withholding' end`
const adjustedBySql = `case line.kind when 'payment_received' then 'bank' when 'opening_balance' then 'opening_balances'
    else 'differences' end`
const laterPairs = [
  ["'compensation'", merchantSql, 'line.compensation'],
  [adjustedBySql, merchantSql, 'line.adjustment'],
  [merchantSql, "'held:' || line.merchant_id", 'line.held'],
  ["'office'", 'line.cash_account', 'line.handed'],
]

/** Lists the pairs of accounts of a line, `line`: `debit`, `credit`, `amount`, which may be zero or below. */
export const linePairsSql = () =>
  lateralSql(`${valuesSql([...listMovePairs(withholdingSql), ...laterPairs])} union all ${namedPairsSql}`)

/**
 * Sums amounts for each journal and pair of accounts. A sum below zero becomes a transfer the other way round, and is
 * added to any transfer in that direction.
 */
const transfersSql = (rows: string): string => `
    select journal_id, debit, credit, sum(amount) as amount, booked_on from (
      select journal_id, case when amount > 0 then debit else credit end as debit,
        case when amount > 0 then credit else debit end as credit, abs(amount) as amount, booked_on
      from (select journal_id, debit, credit, sum(amount) as amount, booked_on from ${rows} group by 1, 2, 3, 5) summed
        where amount <> 0
    ) directed group by 1, 2, 3, 5`

const valuesSql = (pairs: readonly (readonly string[])[]): string =>
  `values ${pairs.map(pair => `(${pair.join(', ')})`).join(', ')}`
const lateralSql = (rows: string): string => `
      cross join lateral (${rows}) as transfer (debit, credit, amount)`

/**
 * Selects the transfers for the lines of a move, summed for each journal and pair of accounts: `journal_id`, `debit`,
 * `credit`, `amount`, `booked_on`. `lines` is a `with` query. Sums the lines of one merchant and collector first, since
 * there are many.
 */
export const transfersOfMovesSql = (lines: string): string => `
    select journal_id, debit, credit, sum(amount) as amount, booked_on
    from (
      select journal_id, debit, credit, amount, booked_on from (
        select journal_id, booked_on, merchant_id, cash_account, sum(cod) as cod, sum(delivery) as delivery,
          sum(cod_fee) as cod_fee, sum(return_fee) as return_fee, null as taxes, null as withheld,
          sum(case when taxes is null then tax else 0 end) as tax,
          sum(case when withheld is null then withholding else 0 end) as withholding
        from ${lines} group by 1, 2, 3, 4
      ) line ${lateralSql(valuesSql(listMovePairs(`'withholding'`)))}
      union all
      select journal_id, debit, credit, amount, booked_on from ${lines} line ${lateralSql(namedPairsSql)}
      where taxes is not null or withheld is not null
    ) transfer where amount > 0 group by 1, 2, 3, 5`

/**
 * Selects the transfers for lines and documents of the tenant $1, with the columns of `transfersOfMovesSql`. The
 * parameters are conditions on the lines, `line`, and on the documents, `document`; both have a `journal_id`.
 */
export const transfersOfAllSql = ({ lines = 'true', documents = 'true' } = {}): string =>
  transfersSql(`(
      select line.journal_id, debit, credit, amount, line.booked_on
        from money_lines line ${linePairsSql()}
      where line.tenant_id = $1 and ${lines} and amount <> 0
      union all
      select banked_by, 'bank', case when method = 'cash' then 'office' else cash_account end, cod, document.booked_on
      from money_lines line join cash_deposits document on document.tenant_id = line.tenant_id
        and deposit_id = banked_by
      where line.tenant_id = $1 and ${lines.replaceAll('line.journal_id', 'line.banked_by')}
      union all
      select * from (${documentsSql}) document where ${documents}
    ) transfer`)

/**
 * Selects the payments of invoices of the tenant $1. An invoice whose payment came back has only its later payment; the
 * correction keeps the earlier one.
 */
export const paymentsSql = `(
          select journal_id, booked_on, invoice_id, invoice_no, merchant_id, total, bank_reference, paid_on
          from invoices where tenant_id = $1 and journal_id is not null
          union all
          select payment_journal_id, payment_booked_on, returned.invoice_id, invoice_no, returned.merchant_id, amount,
            payment_reference, payment_paid_on
          from corrections returned join invoices on invoices.tenant_id = returned.tenant_id
            and invoices.invoice_id = returned.invoice_id
          where returned.tenant_id = $1 and returned.state = 'approved'
        )`

/** Names the account from which a deposit took less or more than its parcels had there. */
const differsFromSql = `case difference_account when 'cash_differences' then 'office' else 'clearing' end`

const documentsSql = `
        select journal_id, 'office' as debit, 'rider:' || collected_by as credit, debt as amount, booked_on
        from cash_handovers where tenant_id = $1 and journal_id is not null
        union all
        select journal_id, case state when 'owed' then 'rider:' || collected_by
          else 'differences' end, 'office', expected - counted, booked_on
        from cash_handovers where tenant_id = $1 and journal_id is not null
        union all
        select transfer_id, 'rider:' || to_name, 'rider:' || from_name, amount, booked_on
        from cash_transfers where tenant_id = $1
        union all
        select deposit_id, 'bank', 'office', other, booked_on from cash_deposits where tenant_id = $1
        union all
        select deposit_id, difference_account, ${differsFromSql}, difference, booked_on
        from cash_deposits where tenant_id = $1 and difference <> 0
        union all
        select deposit_id, 'bank', ${differsFromSql}, -difference, booked_on
        from cash_deposits where tenant_id = $1 and difference <> 0
        union all
        select journal_id, 'merchant:' || merchant_id, 'bank', total, booked_on from ${paymentsSql} payment
        union all
        select journal_id, 'bank', 'merchant:' || merchant_id, amount, booked_on
        from corrections where tenant_id = $1 and journal_id is not null and kind = 'returned_transfer'
        union all
        select charges_journal_id, 'bank', 'merchant:' || merchant_id, coalesce(charges_paid, charges_due),
          charges_booked_on
        from invoices where tenant_id = $1 and charges_journal_id is not null
        union all
        select journal_id, debit, credit, amount, booked_on
        from bank_entries where tenant_id = $1 and journal_id is not null`

const bookJournalSql = `
  insert into ledger_transfers (tenant_id, journal_id, debit, credit, amount, booked_on)
  select $1, journal_id, debit, credit, amount, booked_on from (${transfersOfAllSql({
    lines: 'line.waybill_number = any($3::text[]) and line.journal_id = $2',
    documents: 'document.journal_id = $2',
  })}) transfer returning tenant_id`

/**
 * Writes the transfers of a journal from its lines and documents, which the transaction has already written. `waybills`
 * lists the waybills of the lines.
 */
export const bookJournal = (tx: Tx, tenant: string, journalId: string, waybills: readonly string[]) =>
  tx.client.query({ name: 'book_journal', text: bookJournalSql, values: [tenant, journalId, waybills] })

/** Computes the amount that the merchant is owed for a line, `line`. */
export const netSql = `line.cod + line.compensation + line.adjustment - line.held - line.delivery - line.cod_fee
    - line.return_fee - line.tax - line.withholding`

/** Computes the amount that a line, `line`, costs the merchant, with its tax. */
export const chargesSql = '(line.delivery + line.cod_fee + line.return_fee + line.tax)'
