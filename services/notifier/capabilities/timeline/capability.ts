import type { Capability } from '../../capability.ts'

export const timeline: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).timelineRoutes(staff, core) } }),
}
