import type { Capability } from '../../capability.ts'
import { agentRoutes } from './routes.ts'

/** Lets a merchant's agents book and follow parcels by the Model Context Protocol (docs/merchants/agents.md). */
export const agents: Capability = {
  start: () => ({ routes: { agents: [agentRoutes] } }),
}
