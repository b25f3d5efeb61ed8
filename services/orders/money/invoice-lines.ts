import { Type } from '@sinclair/typebox'
import { amountFields } from './amounts.ts'
import { netSql } from './ledger.ts'

export const InvoiceLine = Type.Object({
  waybill_number: Type.String(),
  kind: Type.String({ examples: ['delivered'] }),
  booked_on: Type.String(),
  ...amountFields,
  compensation: Type.Number({ examples: [0] }),
  adjustment: Type.Number({ examples: [0] }),
  held: Type.Number({ description: 'Disputed, and paid once that is settled.', examples: [0] }),
  net: Type.Number({ examples: [425.4] }),
})

/** Selects `InvoiceLine` of lines, `line`. */
export const lineColumnsSql = `line.waybill_number, line.kind, line.booked_on::text, cod::float8 as collected, delivery::float8, cod_fee::float8,
  return_fee::float8, tax::float8, withholding::float8, compensation::float8, adjustment::float8, held::float8, (${netSql})::float8 as net`
