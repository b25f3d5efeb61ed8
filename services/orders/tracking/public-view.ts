import { type Static, Type } from '@sinclair/typebox'
import type { TrackedOrder } from './find-order.ts'
import { maskName, maskPhone } from './mask.ts'
import { exampleEvent, exampleOrder, partyOf, TrackingEvent, toEvent } from './order-view.ts'

const ofSigned = { description: 'null without the tracking_code of the link.' }
const signedText = Type.Union([Type.String(), Type.Null()], ofSigned)

/** For anyone who knows a waybill number: the recipient masked, no names of staff. */
export const PublicTracking = Type.Object(
  {
    timeline: Type.Array(TrackingEvent, {
      description: 'Newest first; the user is the company, the merchant or the customer.',
    }),
    order: Type.Object({
      waybill_number: Type.String(),
      status: TrackingEvent.properties.status,
      merchant_business_name: Type.String(),
      origin_city_name: Type.String(),
      destination_city_name: signedText,
      destination_state_name: signedText,
      cod: Type.Union([Type.Integer(), Type.Null()], ofSigned),
      currency: Type.String(),
      customer_name: Type.String({ description: 'The first letters.' }),
      customer_phone: Type.String({ description: 'The last two digits.' }),
      created_at: Type.String(),
      company: Type.Object({ name: Type.String(), contact: Type.Union([Type.String(), Type.Null()]) }),
    }),
  },
  { title: 'PublicTracking' },
)

/** `isSigned`: the caller has the link that the recipient got. */
export const publicView = (
  { order, company, contact, timeline }: TrackedOrder,
  isSigned: boolean,
  now: Date,
): Static<typeof PublicTracking> => ({
  timeline: timeline.map(event =>
    toEvent(
      event,
      event.staff_name === null ? partyOf(event, order.merchant.name) : { first_name: company, last_name: '' },
      now,
    ),
  ),
  order: {
    waybill_number: order.waybill_number,
    status: order.status,
    merchant_business_name: order.merchant_business_name,
    origin_city_name: order.origin_city_name,
    destination_city_name: isSigned ? order.destination_city_name : null,
    destination_state_name: isSigned ? order.destination_state_name : null,
    cod: isSigned ? order.cod : null,
    currency: order.currency,
    customer_name: maskName(order.customer_name),
    customer_phone: maskPhone(order.customer_phone),
    created_at: order.created_at,
    company: { name: company, contact },
  },
})

export const examplePublicTracking: Static<typeof PublicTracking> = {
  ...publicView(
    { order: exampleOrder, company: 'Demo Couriers', contact: '011 200 0000', timeline: [], edits: [] },
    true,
    new Date(),
  ),
  timeline: [exampleEvent],
}
