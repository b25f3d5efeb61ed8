import type { Capability } from '../../capability.ts'
import { consentRoutes } from './consent-routes.ts'
import { oauthRoutes } from './oauth-routes.ts'
import { agentRoutes } from './routes.ts'

/** Lets a merchant's agents book and follow parcels by the Model Context Protocol (docs/merchants/agents.md). */
export const agents: Capability = {
  start: () => ({ routes: { agents: [agentRoutes], entry: [oauthRoutes], account: [consentRoutes] } }),
}
