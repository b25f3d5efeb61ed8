import { Type } from '@sinclair/typebox'
import { Reason, textField } from '../../../core/actions/fields.ts'

// Defines fields of requests and responses about money.

export const CollectedBy = textField(200, 'be the name of a person', 'Nimal')
export const BankReference = { ...Reason, examples: ['BOC 4712'] }

export const mostCollected = 9_999_999_999.99
/** Limits sums of many parcels. A double holds each amount below it exactly, with three decimals. */
export const mostSummed = 999_999_999_999.99

/** Defines an amount that a request states, in the tenant's currency. */
export const Amount = Type.Number({
  minimum: 0,
  maximum: mostSummed,
  must: `be an amount from 0 to ${mostSummed}`,
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
