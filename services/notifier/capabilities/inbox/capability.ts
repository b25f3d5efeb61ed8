import type { Capability } from '../../capability.ts'

/** Lists what customers write and sends replies (docs/staff/replies.md). */
export const inbox: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).inboxRoutes(staff, core) } }),
}
