import { textPattern } from '@courier/shared/lists/filters.ts'
import { Type } from '@sinclair/typebox'

// Defines fields of requests and responses about money.

const someText = (maxLength: number, must: string, example: string) =>
  Type.String({ maxLength, pattern: `^(?=\\s*\\S)${textPattern.slice(1)}`, must, examples: [example] })

export const CollectedBy = someText(200, 'be the name of a person', 'Nimal')
export const Reason = someText(500, 'be text of at most 500 characters', 'The weight is wrong')
export const BankReference = { ...Reason, examples: ['BOC 4712'] }

export const Day = Type.String({
  documented: { type: 'string', format: 'date' },
  maxLength: 10,
  pattern: '^20\\d\\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
  must: 'be a day such as 2026-02-19',
  examples: ['2026-02-19'],
})

export const mostCollected = 9_999_999_999.99

/** Defines an amount that a request states, in the tenant's currency. */
export const Amount = Type.Number({
  minimum: 0,
  maximum: mostCollected,
  must: `be an amount from 0 to ${mostCollected} with at most two decimals`,
  examples: [2500],
})

export const Waybill = Type.String({ maxLength: 100, pattern: '^[\\x21-\\x7e]{1,50}$', must: 'be a waybill number' })
export const Waybills = Type.Array(Waybill, { minItems: 1, maxItems: 1000, examples: [['DM00000001']] })

export const nullable = (description?: string) =>
  Type.Union([Type.String(), Type.Null()], description ? { description } : {})

/** Defines a sum that a response states. */
export const sum = (description: string, example: number) => Type.Number({ description, examples: [example] })

export const InvoiceParams = Type.Object({
  invoice_no: Type.String({ maxLength: 100, description: 'The invoice_no or the invoice_ref_no.' }),
})
export const MerchantParams = Type.Object({ merchant_id: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) })
