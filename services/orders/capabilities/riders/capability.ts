import type { Capability } from '../../capability.ts'
import { ridersPart } from './company.ts'
import { decisionRoutes } from './decide.ts'
import { codeInMessages } from './delivery-code.ts'
import { riderFilters, ridersFacet } from './facet.ts'
import { phoneRoutes } from './phone.ts'
import { merchantProofRoutes, publicProofRoutes, staffProofRoutes } from './proof-routes.ts'
import { deleteOldLinks, deleteOldParcels, deleteOldProofs } from './proofs.ts'
import { assignRoutes, riderRoutes } from './routes.ts'
import { signInLinkRoutes } from './sign-in.ts'

/** Gives parcels to riders, whose phones say what became of them (docs/staff/riders.md). */
export const riders: Capability = {
  start: core => ({
    routes: {
      staff: async app => {
        await app.register(assignRoutes, core)
        await app.register(riderRoutes, core)
        await app.register(decisionRoutes, core)
        await app.register(signInLinkRoutes, core)
        await app.register(staffProofRoutes, core)
      },
      merchant: async app => void (await app.register(merchantProofRoutes, core)),
      public: async app => {
        await app.register(phoneRoutes, core)
        await app.register(publicProofRoutes, core)
      },
    },
  }),
  facet: ridersFacet,
  filters: riderFilters,
  inMessages: codeInMessages,
  company: ridersPart,
  housekeeping: [deleteOldProofs, deleteOldParcels, deleteOldLinks],
}
