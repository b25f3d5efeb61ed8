import type { Capability } from '../../capability.ts'
import { failedMoves } from './attempts.ts'
import { failuresPart } from './company.ts'
import { failuresFacet } from './facet.ts'
import { decideLate } from './instruct.ts'
import { merchantInstructionRoutes, staffInstructionRoutes } from './routes.ts'

/** Counts failed deliveries and asks what happens next (docs/staff/failed-deliveries.md). */
export const failures: Capability = {
  start: () => ({ routes: { merchant: [merchantInstructionRoutes], staff: [staffInstructionRoutes] } }),
  move: failedMoves,
  facet: failuresFacet,
  company: failuresPart,
  housekeeping: [decideLate],
}
