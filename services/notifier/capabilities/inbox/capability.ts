import type { Capability } from '../../capability.ts'

export const inbox: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).inboxRoutes(staff, core) } }),
}
