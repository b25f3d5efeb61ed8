import { type Static, Type } from '@sinclair/typebox'
import { amountFields } from './amounts.ts'
import { netSql } from './ledger.ts'

export const InvoiceLine = Type.Object({
  waybill_number: Type.String(),
  kind: Type.String(),
  booked_on: Type.String(),
  ...amountFields,
  compensation: Type.Number(),
  adjustment: Type.Number(),
  held: Type.Number({ description: 'Disputed, and paid once that is settled.' }),
  net: Type.Number(),
})

export const exampleLine: Static<typeof InvoiceLine> = {
  ...{ waybill_number: 'DM00000001', kind: 'delivered', booked_on: '2026-02-19', collected: 1000, delivery: 450 },
  ...{ cod_fee: 20, return_fee: 0, tax: 84.6, withholding: 20, compensation: 0, adjustment: 0, held: 0, net: 425.4 },
}

/** Selects `InvoiceLine` of lines, `line`. */
export const lineColumnsSql = `line.waybill_number, line.kind, line.booked_on::text, cod::float8 as collected, delivery::float8, cod_fee::float8,
  return_fee::float8, tax::float8, withholding::float8, compensation::float8, adjustment::float8, held::float8, (${netSql})::float8 as net`
