import { readDigits } from '@courier/shared/phone-number.ts'
import { component, orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import type { TrackedOrder } from './order-rows.ts'
import { type OrderView, PublicTrackingEvent, TrackingEvent } from './order-schema.ts'
import { isSigned, toOrder, toPublicTimeline } from './order-view.ts'

const signedOnly = { description: 'null without the tracking_code of the link.' }
const signedText = orNull(Type.String(), signedOnly)

/** Shows anyone who knows a waybill number the masked recipient, and no names of staff. */
export const PublicTracking = component('PublicTracking', {
  timeline: Type.Array(PublicTrackingEvent, {
    description: 'Newest first; the user is the company, the merchant or the customer.',
  }),
  order: Type.Object({
    waybill_number: Type.String(),
    status: TrackingEvent.properties.status,
    merchant_business_name: Type.String(),
    origin_city_name: Type.String(),
    destination_city_name: signedText,
    destination_state_name: signedText,
    cod: orNull(Type.Integer(), signedOnly),
    currency: Type.String(),
    customer_name: Type.String({ description: 'The first letters.', examples: ['N*** P***'] }),
    customer_phone: Type.String({ description: 'The last two digits.', examples: ['***01'] }),
    created_at: Type.String(),
    company: Type.Object({ name: Type.String(), contact: orNull(Type.String()) }),
  }),
})

/** Returns what anyone may see of an order. `code` signs the link that the recipient got. */
export const viewForAll = (order: TrackedOrder, code: string | undefined, now: Date): Static<typeof PublicTracking> => {
  const { row, catalogue } = order
  return {
    timeline: toPublicTimeline(order, now).map(event => ({ ...event, proofs: [] })),
    order: mask(
      toOrder(row, catalogue),
      { name: catalogue.company, contact: catalogue.contact },
      isSigned(catalogue, row.waybill_number, code),
    ),
  }
}

type PublicOrder = Static<typeof PublicTracking>['order']

const mask = (order: OrderView, company: PublicOrder['company'], hasCode: boolean): PublicOrder => ({
  waybill_number: order.waybill_number,
  status: order.status,
  merchant_business_name: order.merchant_business_name,
  origin_city_name: order.origin_city_name,
  destination_city_name: hasCode ? order.destination_city_name : null,
  destination_state_name: hasCode ? order.destination_state_name : null,
  cod: hasCode ? order.cod : null,
  currency: order.currency,
  customer_name: maskName(order.customer_name),
  customer_phone: maskPhone(order.customer_phone),
  created_at: order.created_at,
  company,
})

/** Keeps only the first letter of each word, "N*** P***", and nothing of a word of one letter. */
export const maskName = (name: string): string =>
  name
    .trim()
    .split(/\s+/)
    .map(word => {
      const [first = '', ...rest] = word
      return rest.length > 0 ? `${first}***` : '***'
    })
    .join(' ')

/** Keeps only the last two digits of a phone number with at least seven. */
export const maskPhone = (phone: string): string => {
  const digits = readDigits(phone)
  return digits.length >= 7 ? `***${digits.slice(-2)}` : '***'
}
