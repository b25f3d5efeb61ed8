import type { OrderView } from '../tracking/order-schema.ts'

/** A label on each page, or four on each page of A4. */
export const layouts = ['100x150', 'a4x4'] as const
export type Layout = (typeof layouts)[number]

/** The data that a label shows of a parcel. */
export interface Label extends OrderView {
  /** The tenant's name. */
  readonly company: string
  /** The page of the parcel, by its signed link. */
  readonly url: string
  /** The day of booking in the tenant's time zone, as 2026-02-19. */
  readonly booked_on: string
}

/** `COD LKR 4,500`; undefined when there is nothing to collect. */
export const wordCod = ({ cod, currency }: Pick<Label, 'cod' | 'currency'>): string | undefined =>
  cod > 0 ? `COD ${currency} ${cod.toLocaleString('en')}` : undefined

/** Joins city and state, or names one if they are the same. */
export const wordPlace = (city: string, state: string): string => (city === state ? city : `${city}, ${state}`)

export const wordPhones = ({ customer_phone, customer_secondary_phone }: Label): string =>
  [customer_phone, customer_secondary_phone].filter(Boolean).join(' / ')

/** Joins the merchant's order number and the weight. */
export const wordFacts = ({ order_no, weight }: Label): string =>
  [order_no && `Order ${order_no}`, `${weight} kg`].filter(Boolean).join(', ')
