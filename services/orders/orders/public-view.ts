import { type Static, Type } from '@sinclair/typebox'
import type { TrackedOrder } from './find-order.ts'
import { maskName, maskPhone } from './mask.ts'
import { exampleEvent, exampleOrder, partyOf, TrackingEvent, toEvent } from './order-view.ts'

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
      destination_city_name: Type.String(),
      destination_state_name: Type.String(),
      customer_name: Type.String({ description: 'The first letters.' }),
      customer_phone: Type.String({ description: 'The last two digits.' }),
      created_at: Type.String(),
    }),
  },
  { title: 'PublicTracking' },
)

export const publicView = ({ order, company, timeline }: TrackedOrder, now: Date): Static<typeof PublicTracking> => ({
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
    destination_city_name: order.destination_city_name,
    destination_state_name: order.destination_state_name,
    customer_name: maskName(order.customer_name),
    customer_phone: maskPhone(order.customer_phone),
    created_at: order.created_at,
  },
})

export const examplePublicTracking: Static<typeof PublicTracking> = {
  ...publicView({ order: exampleOrder, company: 'Demo Couriers', timeline: [], edits: [] }, new Date()),
  timeline: [exampleEvent],
}
