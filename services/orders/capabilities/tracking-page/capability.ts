import { Type } from '@sinclair/typebox'
import type { Capability } from '../../capability.ts'
import { defineFields } from '../../core/provisioning/company-part.ts'
import type { Facet } from '../../core/tracking/facets.ts'
import { writeTrackingUrl } from '../../core/tracking/order-view.ts'
import { trackingPageRoutes } from './routes.ts'

const color = Type.String({ maxLength: 7, pattern: '^#[0-9a-f]{6}$', must: 'be a colour such as #0a5c8f' })

const shown: NonNullable<NonNullable<Facet['inOne']>['staff']> = {
  fields: {
    tracking_url: Type.Optional(
      Type.String({ description: "Opens the customer's page; its code shows the amount and the city." }),
    ),
  },
  view: (_, { row, catalogue }, publicUrl) =>
    publicUrl ? { tracking_url: writeTrackingUrl(publicUrl, catalogue, row.waybill_number) } : {},
}

/** Adds the tracking link, which needs no statement. */
const linkFacet: Facet = {
  existsSql: () => 'false',
  read: async () => new Map(),
  inOne: { merchant: shown, staff: shown },
}

/** Shows a parcel to its recipient (docs/staff/labels.md#the-customers-page). */
export const trackingPage: Capability = {
  start: () => ({ routes: { public: [trackingPageRoutes] } }),
  facet: linkFacet,
  company: { tenant: defineFields({ color: Type.Optional(color) }, ({ color = null }) => ({ color })) },
}
