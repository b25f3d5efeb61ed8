import { Type } from '@sinclair/typebox'
import { netSql } from './ledger.ts'

/** The sums of lines, as merchants read them. `sumsSql` selects them. */
export const amountFields = {
  collected: Type.Number({ description: 'The sum that recipients paid.' }),
  delivery: Type.Number({ description: 'Delivery charges.' }),
  cod_fee: Type.Number({ description: 'Fees on what recipients paid.' }),
  return_fee: Type.Number({ description: 'Fees of returns.' }),
  tax: Type.Number({ description: 'Tax on the charges and fees.' }),
  withholding: Type.Number({ description: 'Withheld for the tax office.' }),
}

const sum = (expression: string): string => `coalesce(sum(${expression}), 0)::float8`

/** Selects `amountFields` of lines, `line`, and what they leave for the merchant under the name `net`. */
export const sumsSql = (net: string): string => `
    ${sum('line.cod')} as collected, ${sum('delivery')} as delivery, ${sum('cod_fee')} as cod_fee,
    ${sum('return_fee')} as return_fee, ${sum('tax')} as tax, ${sum('withholding')} as withholding,
    ${sum(netSql)} as ${net}`
