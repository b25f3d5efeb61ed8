import { refuseDecimals } from '@courier/shared/currency.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import type { TProperties } from '@sinclair/typebox'
import type { Tx } from '../database/tables.ts'

/** Reads the currency of a tenant. */
export const readCurrency = async (tx: Tx, tenant: string): Promise<string> => {
  const text = 'select currency from tenants where tenant_id = $1'
  const [row] = await tx.rows<{ currency: string }>({ name: 'read_currency', text, values: [tenant] })
  return row?.currency ?? ''
}

/** Finds the errors of amounts that are finer than the tenant's currency; undefined: there are none. */
export const refuseFineAmounts = async (
  tx: Tx,
  tenant: string,
  fields: TProperties,
  values: object,
): Promise<FieldErrors | undefined> => {
  const amounts = Object.entries(values).filter(
    ([path, value]) => fields[path]?.type === 'number' && !Number.isInteger(value),
  )
  if (amounts.length === 0) return undefined
  const currency = await readCurrency(tx, tenant)
  const errors = amounts.flatMap(([path, value]) => {
    const sentence = refuseDecimals(`The ${path}`, value, currency)
    return sentence ? [[path, [sentence]]] : []
  })
  return errors.length > 0 ? Object.fromEntries(errors) : undefined
}
