import type { Capability } from '../../capability.ts'
import { editsFacet } from './facet.ts'
import { merchantEditRoutes, staffEditRoutes } from './routes.ts'

/** Changes orders (docs/merchants/editing.md). */
export const editing: Capability = {
  start: core => ({
    routes: {
      merchant: async app => void (await app.register(merchantEditRoutes, core)),
      staff: async app => void (await app.register(staffEditRoutes, core)),
    },
  }),
  facet: editsFacet,
}
