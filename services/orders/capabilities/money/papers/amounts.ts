import { addAmounts } from '@courier/shared/currency.ts'
import { type Static, Type } from '@sinclair/typebox'
import { correctionKindsSql } from '../ledger/correction-lines.ts'
import { nullable, sum } from '../ledger/fields.ts'
import { netSql } from '../ledger/ledger.ts'
import { bookedTaxes } from '../taxes/tax-sums.ts'

/** Lists the kinds of documents (docs/money.md#two-documents). */
export const documentKinds = ['invoice', 'tax_invoice', 'credit_note', 'debit_note', 'remittance'] as const
export type DocumentKind = (typeof documentKinds)[number]

/** Defines the sums of lines as merchants read them. `sumsSql` selects them. */
export const amountFields = {
  collected: sum('The sum that recipients paid.', 1000),
  delivery: sum('Delivery charges.', 450),
  cod_fee: sum('Fees on what recipients paid.', 20),
  return_fee: sum('Fees of returns.', 0),
  tax: sum('Tax on the charges and fees.', 84.6),
  withholding: sum('The sum withheld for the tax office.', 20),
}

/** Names the column of a field. */
const toColumn = (field: string): string => (field === 'collected' ? 'cod' : field)

const selectAmounts = (fields: readonly string[], toSql: (expression: string) => string): string =>
  fields.map(field => `${toSql(`line.${toColumn(field)}`)}::float8 as ${field}`).join(', ')

/** Sums `amountFields` over the rows of `line` and, as the column `net`, what they leave for the merchant. */
export const sumsSql = (net: string): string => {
  const toSum = (expression: string) => `coalesce(sum(${expression}), 0)`
  return `${selectAmounts(Object.keys(amountFields), toSum)}, ${toSum(netSql)}::float8 as ${net}`
}

const lineAmounts = {
  ...amountFields,
  compensation: Type.Number({ examples: [0] }),
  adjustment: Type.Number({ examples: [0] }),
  held: sum('The disputed amount, paid once the dispute is settled.', 0),
}

const rate = (description: string, example: number) =>
  Type.Union([Type.Number(), Type.Null()], { description, examples: [example] })

export const InvoiceLine = Type.Object({
  waybill_number: nullable('null: a correction of no parcel.'),
  kind: Type.String({ examples: ['delivered'] }),
  booked_on: Type.String(),
  ...lineAmounts,
  net: Type.Number({ examples: [425.4] }),
  tax_percent: rate('The rate of `tax`; null: the line has none, or was booked before rates were stored.', 18),
  withholding_percent: rate('The rate of `withholding`, likewise.', 2),
  line_no: Type.Integer({ description: 'Numbers the lines of the parcel.', examples: [1] }),
  reason: nullable('The reason of a correction; null: the line is none.'),
  taxes: bookedTaxes('The parts of `tax`, if the company has several; `tax_percent` is then null.'),
  withheld: bookedTaxes('The parts of `withholding`, if the company has a table; its percentage is then null.'),
})
/** Defines the columns that every CSV file of lines has. */
export const LineColumns = Type.Omit(InvoiceLine, ['taxes', 'withheld'])

type Line = Static<typeof InvoiceLine>

export const lineAmountNames = [...(Object.keys(lineAmounts) as (keyof typeof lineAmounts)[]), 'net'] as const

/** Returns the amounts of a line that a kind of document is about: charges, all others, or of an invoice all. */
export const viewLine = (kind: DocumentKind, line: Line): Line => {
  if (kind === 'invoice') return line
  const { collected, withholding, compensation, adjustment, held, delivery, cod_fee, return_fee, tax } = line
  return kind === 'remittance'
    ? {
        ...line,
        ...{ delivery: 0, cod_fee: 0, return_fee: 0, tax: 0, tax_percent: null, taxes: [] },
        net: addAmounts([collected, compensation, adjustment, -held, -withholding]),
      }
    : {
        ...line,
        ...{
          collected: 0,
          withholding: 0,
          compensation: 0,
          adjustment: 0,
          held: 0,
          withholding_percent: null,
          withheld: [],
        },
        net: addAmounts([-delivery, -cod_fee, -return_fee, -tax]),
      }
}

/** Selects an `InvoiceLine` for each row of `line`. */
export const lineColumnsSql = `nullif(line.waybill_number, '') as waybill_number, line.line_no, line.kind,
  case when line.kind in ${correctionKindsSql} then line.reason end as reason, line.booked_on::text,
  ${selectAmounts(Object.keys(lineAmounts), expression => expression)}, (${netSql})::float8 as net,
  line.tax_percent::float8, line.withholding_percent::float8, coalesce(line.taxes, '[]') as taxes,
  coalesce(line.withheld, '[]') as withheld`
