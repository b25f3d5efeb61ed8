import type { Listed } from '@courier/shared/capabilities.ts'
import type { Capabilities, Capability } from './capability.ts'
import type { FileParts } from './core/provisioning/file-part.ts'

/**
 * Lists the capabilities. NOTIFIER_CAPABILITIES leaves some out; removing a row and its folder removes one for good.
 * A claim asks them in this order (docs/contributors/decisions.md#order-of-locks).
 *
 * A row without `holds` promises nothing that breaks meanwhile: the core itself stores what customers write and opts
 * them out without `inbox`, and the others keep no rows.
 */
export const capabilities: Readonly<Record<string, Listed<Capability>>> = {
  inbox: { load: async () => (await import('./capabilities/inbox/capability.ts')).inbox },
  preflight: { load: async () => (await import('./capabilities/preflight/capability.ts')).preflight },
  timeline: { load: async () => (await import('./capabilities/timeline/capability.ts')).timeline },
  doctor: { load: async () => (await import('./capabilities/doctor/capability.ts')).doctor },
  restoring: { load: async () => (await import('./capabilities/restoring/capability.ts')).restoring },
  'per-person': {
    load: async () => (await import('./capabilities/per-person/capability.ts')).perPerson,
    holds: {
      fromSql: `from (
        select 1 from rules where tenant_id = $1 and within_minutes is not null
        union all
        select 1 from messages where tenant_id = $1 and joins is not null and status = 'queued') waiting`,
      because: 'messages to a person wait to leave as one, and would leave alone and unfilled',
      wayOut: 'apply a file whose rules have no per, and let these messages leave',
    },
  },
}

export const createNotifierFile = (loaded: Capabilities): FileParts =>
  [...loaded.values()].flatMap(({ file }) => file ?? [])
