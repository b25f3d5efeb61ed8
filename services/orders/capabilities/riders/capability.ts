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
  start: () => ({
    routes: {
      staff: [assignRoutes, riderRoutes, decisionRoutes, signInLinkRoutes, staffProofRoutes],
      merchant: [merchantProofRoutes],
      public: [phoneRoutes, publicProofRoutes],
    },
  }),
  facet: ridersFacet,
  filters: riderFilters,
  inMessages: codeInMessages,
  company: ridersPart,
  housekeeping: [deleteOldProofs, deleteOldParcels, deleteOldLinks],
}
