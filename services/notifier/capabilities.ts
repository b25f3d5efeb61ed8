import type { Listed } from '@courier/shared/capabilities.ts'
import type { Capability } from './capability.ts'

/**
 * Lists what may be left out. A row is removed together with its folder. None has `holds`: the core itself stores what
 * customers write and opts them out without `inbox`, and the others keep no rows.
 */
export const capabilities: Readonly<Record<string, Listed<Capability>>> = {
  inbox: { load: async () => (await import('./capabilities/inbox/capability.ts')).inbox },
  preflight: { load: async () => (await import('./capabilities/preflight/capability.ts')).preflight },
  timeline: { load: async () => (await import('./capabilities/timeline/capability.ts')).timeline },
  doctor: { load: async () => (await import('./capabilities/doctor/capability.ts')).doctor },
  restoring: { load: async () => (await import('./capabilities/restoring/capability.ts')).restoring },
}
