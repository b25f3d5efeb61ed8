/** The merchant's account (docs/money.md#accounts), as text of SQL. */
const merchantSql = `'merchant:' || line.merchant_id`

/**
 * The transfers that lines of `money_lines` stand for, summed for each journal and pair of accounts: `journal_id`,
 * `debit`, `credit`, `amount`, `booked_on`. `lines` is the table or a `with` query.
 */
export const transfersOfLinesSql = (lines: string): string => `
    select journal_id, debit, credit, sum(amount) as amount, booked_on
    from ${lines} line cross join lateral (values
      (line.cash_account, ${merchantSql}, line.cod),
      (${merchantSql}, 'delivery_revenue', line.delivery + line.cod_fee),
      (${merchantSql}, 'returns_revenue', line.return_fee),
      (${merchantSql}, 'tax', line.tax + line.withholding)
    ) as transfer (debit, credit, amount)
    where amount > 0 group by 1, 2, 3, 5`

/** What the merchant is owed for a line, `line`. */
export const netSql = 'line.cod - delivery - cod_fee - return_fee - tax - withholding'

/** An amount is booked in hundredths: returns false for one with more than two decimals. */
export const isInHundredths = (amount: number): boolean => Number(amount.toFixed(2)) === amount
