import type { Capability } from '../../capability.ts'
import { ridersPart } from './company.ts'
import { codeInMessages } from './delivery-code.ts'
import { riderFilters, ridersFacet } from './facet.ts'
import { deleteOldProofs } from './proofs.ts'
import { assignRoutes, riderRoutes } from './routes.ts'

/** Gives parcels to riders, whose phones say what became of them (docs/staff/riders.md). */
export const riders: Capability = {
  start: core => ({
    routes: {
      staff: async app => {
        await app.register(assignRoutes, core)
        await app.register(riderRoutes, core)
      },
    },
  }),
  facet: ridersFacet,
  filters: riderFilters,
  inMessages: codeInMessages,
  company: ridersPart,
  housekeeping: [deleteOldProofs(90)],
}
