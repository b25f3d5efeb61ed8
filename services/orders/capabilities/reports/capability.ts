import type { Capability } from '../../capability.ts'
import { recipientRoutes } from './recipient-routes.ts'
import { summaryRoutes } from './summary-routes.ts'
import { todayRoutes } from './today.ts'

/** Sums up orders for merchants and staff (docs/merchants/tracking.md#summary). */
export const reports: Capability = {
  start: core => ({
    routes: {
      merchant: async app => {
        await app.register(summaryRoutes, core)
        await app.register(recipientRoutes, core)
      },
      staff: async app => void (await app.register(todayRoutes, core)),
    },
  }),
}
