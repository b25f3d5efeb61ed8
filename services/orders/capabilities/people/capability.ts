import type { Capability } from '../../capability.ts'
import { personRoutes } from './routes.ts'

/** Lets several people log in for a merchant (docs/merchants/merchant-calls.md#people). */
export const people: Capability = {
  start: () => ({ routes: { account: [personRoutes] } }),
}
