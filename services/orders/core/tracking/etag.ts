import { hash } from 'node:crypto'
import type { OrderRow } from './order-rows.ts'

/** Lists the columns that an edit may change; the charge follows from city and weight. */
export const editableColumns = [
  ...(['customer_name', 'customer_address', 'customer_phone', 'customer_secondary_phone', 'customer_email'] as const),
  ...(['destination_city_id', 'cod', 'weight', 'description', 'delivery_charge'] as const),
] as const
export type EditableColumn = (typeof editableColumns)[number]

export type OrderState = Pick<OrderRow, EditableColumn | 'status_key'>

/** Makes a strong entity tag, which changes with the status and with every edit. */
export const tagState = (state: OrderState): string => {
  const values = [state.status_key, ...editableColumns.map(column => state[column])]
  return `"${hash('sha256', JSON.stringify(values), 'base64url').slice(0, 27)}"`
}
