import type { Capability } from '../../capability.ts'

export const preflight: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).preflightRoutes(staff, core) } }),
}
