import { Type } from '@sinclair/typebox'
import { netSql } from './ledger.ts'

/** The sums of lines, as merchants read them. `sumsSql` selects them. */
export const amountFields = {
  collected: Type.Number({ description: 'The sum that recipients paid.', examples: [1000] }),
  delivery: Type.Number({ description: 'Delivery charges.', examples: [450] }),
  cod_fee: Type.Number({ description: 'Fees on what recipients paid.', examples: [20] }),
  return_fee: Type.Number({ description: 'Fees of returns.', examples: [0] }),
  tax: Type.Number({ description: 'Tax on the charges and fees.', examples: [84.6] }),
  withholding: Type.Number({ description: 'Withheld for the tax office.', examples: [20] }),
}

const sum = (expression: string): string => `coalesce(sum(${expression}), 0)::float8`

/** Selects `amountFields` of lines, `line`, and what they leave for the merchant under the name `net`. */
export const sumsSql = (net: string): string => `
    ${sum('line.cod')} as collected, ${sum('delivery')} as delivery, ${sum('cod_fee')} as cod_fee,
    ${sum('return_fee')} as return_fee, ${sum('tax')} as tax, ${sum('withholding')} as withholding,
    ${sum(netSql)} as ${net}`
