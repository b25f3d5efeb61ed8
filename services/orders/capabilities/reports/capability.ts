import type { Capability } from '../../capability.ts'
import { recipientRoutes } from './recipient-routes.ts'
import { summaryRoutes } from './summary-routes.ts'
import { todayRoutes } from './today.ts'

/** Sums up orders for merchants and staff (docs/merchants/tracking.md#summary). */
export const reports: Capability = {
  start: () => ({ routes: { merchant: [summaryRoutes, recipientRoutes], staff: [todayRoutes] } }),
}
