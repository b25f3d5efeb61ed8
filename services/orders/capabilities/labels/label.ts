import type { OrderView } from '../../core/tracking/order-schema.ts'

/** Lists the layouts: a label on each page, or four on each page of A4. */
export const layouts = ['100x150', 'a4x4'] as const
export type Layout = (typeof layouts)[number]

export interface Label extends OrderView {
  /** Is the tenant's name. */
  readonly company: string
  /** Is the signed link to the page of the parcel. */
  readonly url: string
  /** Is the day of booking in the tenant's time zone, as 2026-02-19. */
  readonly booked_on: string
}

export const wordParcels = (count: number): string => (count === 1 ? '1 parcel' : `${count} parcels`)

/** Words the amount to collect: `COD LKR 4,500`. undefined: there is nothing to collect. */
export const wordCod = ({ cod, currency }: Pick<Label, 'cod' | 'currency'>): string | undefined =>
  cod > 0 ? `COD ${currency} ${cod.toLocaleString('en')}` : undefined

/** Joins city and state, or names one if they are the same. */
export const wordPlace = (city: string, state: string): string => (city === state ? city : `${city}, ${state}`)

export const wordPhones = ({ customer_phone, customer_secondary_phone }: Label): string =>
  [customer_phone, customer_secondary_phone].filter(Boolean).join(' / ')

export const wordFacts = ({ order_no, weight }: Label): string =>
  [order_no && `Order ${order_no}`, `${weight} kg`].filter(Boolean).join(', ')

export const listTexts = (label: Label): (string | null)[] => [
  label.company,
  label.merchant_business_name,
  wordPlace(label.origin_city_name, label.origin_state_name),
  label.customer_name,
  label.customer_address,
  wordPhones(label),
  wordPlace(label.destination_city_name, label.destination_state_name),
  label.order_no,
  label.description,
]
