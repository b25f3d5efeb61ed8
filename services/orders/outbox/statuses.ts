import type { Tx } from '../database/tables.ts'

/** How a status is shown. */
export interface StatusLook {
  readonly name: string
  readonly color: string
}

/** The looks of a tenant's statuses, by key. */
export const statusNames = async (_tx: Tx, _tenant: string): Promise<ReadonlyMap<string, StatusLook>> => standard

const standard: ReadonlyMap<string, StatusLook> = new Map(
  [
    ['DRAFT', 'secondary'],
    ['CONFIRMED', 'primary'],
    ['CANCELLED', 'danger'],
    ['DEFAULT WAREHOUSE CHANGE', 'primary'],
    ['PICKUP RIDER ASSIGNED', 'info'],
    ['PICKED UP', 'info'],
    ['DELIVERED BY PICKUP RIDER', 'success'],
    ['DISPATCH TO ORIGIN WAREHOUSE', 'info'],
    ['RECEIVED TO ORIGIN WAREHOUSE', 'primary'],
    ['DISPATCHED FROM ORIGIN WAREHOUSE', 'primary'],
    ['RECEIVED AT DESTINATION WAREHOUSE', 'info'],
    ['ASSIGNED TO DESTINATION RIDER', 'info'],
    ['DELIVERED', 'success'],
    ['PARTIALLY DELIVERED', 'success'],
    ['RETURN TO DESTINATION WAREHOUSE', 'warning'],
    ['RESCHEDULED', 'warning'],
    ['FAILED TO DELIVER', 'danger'],
    ['RETURN TO ORIGIN WAREHOUSE', 'danger'],
    ['RECEIVED TO ORIGIN WAREHOUSE (FAILED TO DELIVER)', 'danger'],
    ['RETURN TO CLIENT', 'danger'],
    ['RECEIVED FAILED ORDER', 'danger'],
  ].map(([name = '', color = ''], index) => [`key_${index + 1}`, { name, color }]),
)
