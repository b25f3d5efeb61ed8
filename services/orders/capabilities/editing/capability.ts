import type { Capability } from '../../capability.ts'
import { editsFacet } from './facet.ts'
import { merchantEditRoutes, staffEditRoutes } from './routes.ts'

/** Changes orders (docs/merchants/editing.md). */
export const editing: Capability = {
  start: () => ({ routes: { merchant: [merchantEditRoutes], staff: [staffEditRoutes] } }),
  facet: editsFacet,
}
