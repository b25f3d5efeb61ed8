// Computes several taxes, or withholdings, of a line in SQL (docs/money.md#several-taxes). A line keeps them with their
// rates, so that a correction and a reversal use the rates of what they change.

/** Adds up taxes, or computes the one of the short form if `taxes` is null. */
export const totalSql = (taxes: string, shortForm: string): string => `coalesce(sum_of_taxes(${taxes}), ${shortForm})`

/** Computes taxes of the opposite sign. */
export const negatedSql = (taxes: string): string => `line_taxes(${taxes}, 0, jsonb_build_array(${taxes}), 0)`

/** Adds the columns `taxes` and `withheld` to a booking, by the tables that the company has on its day. */
export const taxedSql = (taxable: string, paid: string): string => `
      cross join lateral (
        select line_taxes(rates_on(tax_table, booked_on, case when tax_status in ('exempt', 'zero_rated')
            then jsonb '{"untaxed": true}' else '{}' end), ${taxable}, '[]', decimals) as taxes,
          line_taxes(rates_on(withholding_table, booked_on, jsonb_strip_nulls(jsonb_build_object('goods', goods,
            'registered', is_registered, 'payment', ${payment}))), ${paid}, '[]', decimals) as withheld offset 0
      ) taxed`

const payment = `case when coalesce(method, 'cash') = 'cash' then 'cash' else 'digital' end`
