import type { Capability } from '../../capability.ts'

/** Predicts what a send would do (docs/staff/messages.md). */
export const preflight: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).preflightRoutes(staff, core) } }),
}
