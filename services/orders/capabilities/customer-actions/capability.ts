import type { Capability } from '../../capability.ts'
import { requestsFacet } from './customer-requests.ts'
import { deleteOldActions } from './queries.ts'
import { customerRequestRoutes } from './request-routes.ts'
import { customerActionRoutes } from './routes.ts'

/** Acts on the buttons that recipients press (docs/staff/replies.md). */
export const customerActions: Capability = {
  start: () => ({ routes: { staff: [customerRequestRoutes], internal: [customerActionRoutes] } }),
  facet: requestsFacet,
  housekeeping: [deleteOldActions],
}
