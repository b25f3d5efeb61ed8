import type { Capability } from '../../capability.ts'

/** Merges the statuses of a parcel and its messages (docs/staff/messages.md). */
export const timeline: Capability = {
  start: core => ({ routes: { staff: async staff => (await import('./routes.ts')).timelineRoutes(staff, core) } }),
}
