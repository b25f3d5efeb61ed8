import { Type } from '@sinclair/typebox'
import type { Capability } from '../../capability.ts'
import { defineFields } from '../../core/provisioning/company-part.ts'
import { trackingPageRoutes } from './routes.ts'

const color = Type.String({ maxLength: 7, pattern: '^#[0-9a-f]{6}$', must: 'be a colour such as #0a5c8f' })

/** Shows a parcel to its recipient (docs/staff/labels.md#the-customers-page). */
export const trackingPage: Capability = {
  start: core => ({ routes: { public: async app => void (await app.register(trackingPageRoutes, core)) } }),
  company: { tenant: defineFields({ color: Type.Optional(color) }, ({ color = null }) => ({ color })) },
}
