import type { Tx } from '../../core/database/tables.ts'
import { masks } from './papers/invoice-numbers.ts'

// Finds what a company file changes in taxes, documents and terms of payment, for the audit.

const ofCompany = [
  ...(['currency', 'tax_number', 'tax_percent', 'withholding_percent', 'payable_when', 'payable_after_days'] as const),
  ...(['four_eyes', 'objection_hours', 'documents', 'invoice_form', 'branch', 'place_of_supply'] as const),
  ...(['cash_ceiling', 'compensation_max', 'bank_file', 'taxes', 'withholding', 'registered_only'] as const),
  ...masks,
]
const ofMerchant = ['tax_number', 'tax_status', 'branch', 'payable_when', 'payable_after_days', 'charges_apart']
const ofBusiness = ['goods']
const ofCard = ['cod_fee_percent', 'cod_fee_min', 'return_fee', 'each_return_kg']

const select = (object: string, columns: readonly string[], table: string) => `
  select ${object} as object, json_build_object(${columns.map(column => `'${column}', ${column}`).join(', ')}) as values
  from ${table} where tenant_id = $1`

const termsSql = [
  select(`'company'`, ofCompany, 'tenants'),
  select(`'merchant ' || merchant_id`, ofMerchant, 'merchants'),
  select(`'business ' || business_id`, ofBusiness, 'businesses'),
  select(`'rate card ' || rate_card`, ofCard, 'rate_cards'),
].join(' union all ')

interface Terms {
  readonly object: string
  readonly values: Readonly<Record<string, unknown>>
}

/**
 * Reads the terms before a company file changes them. The function that it returns lists what changed, such as
 * `company tax_percent: 0 -> 18`; new merchants, businesses and cards are no change.
 */
export const watchTerms = async (tx: Tx, tenant: string) => {
  const read = async () => new Map((await tx.rows<Terms>(termsSql, [tenant])).map(row => [row.object, row.values]))
  const before = await read()
  return async (): Promise<string[]> =>
    [...(await read())].flatMap(([object, values]) => {
      const old = before.get(object)
      return Object.entries(values).flatMap(([column, value]) => {
        const [from, to] = [old?.[column] ?? '-', value ?? '-'].map(String)
        return old && from !== to ? [`${object} ${column}: ${from} -> ${to}`] : []
      })
    })
}
