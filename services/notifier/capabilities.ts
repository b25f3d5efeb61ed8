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
  inbox: { load: async () => (await import('./capabilities/inbox/capability.ts')).inbox, needs: ['costs'] },
  preflight: {
    load: async () => (await import('./capabilities/preflight/capability.ts')).preflight,
    needs: ['account-limits', 'costs'],
  },
  timeline: {
    load: async () => (await import('./capabilities/timeline/capability.ts')).timeline,
    needs: ['costs', 'customer-actions'],
  },
  doctor: {
    load: async () => (await import('./capabilities/doctor/capability.ts')).doctor,
    needs: ['account-limits', 'costs'],
  },
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
  'customer-actions': {
    load: async () => (await import('./capabilities/customer-actions/capability.ts')).customerActions,
    holds: {
      fromSql: `from (
        select 1 from customer_actions where tenant_id = $1 and outcome is null
        union all
        select 1 from rules where tenant_id = $1 and components::text like '%"action"%'
        union all
        select 1 from messages where tenant_id = $1 and status in ('queued', 'held')
          and template::text like '%"action"%') promised`,
      because: 'customers pressed buttons, or get some, whose presses would do nothing',
      wayOut: 'apply a file whose rules have no actions, and let these messages leave and presses reach orders',
    },
  },
  costs: {
    load: async () => (await import('./capabilities/costs/capability.ts')).costs,
    holds: {
      fromSql: `from (
        select 1 from budgets where tenant_id = $1 union all select 1 from tariffs where tenant_id = $1) kept`,
      because: 'messages are priced, and the budget of the month limits them; without it neither would be',
      wayOut: 'apply a file with an empty list of tariffs and without a budget',
    },
  },
  'account-limits': {
    load: async () => (await import('./capabilities/account-limits/capability.ts')).accountLimits,
    holds: {
      fromSql: `from portfolio_waiting w join messages m using (tenant_id, message_id)
        where w.tenant_id = $1 and m.status = 'queued'`,
      because: 'messages wait for room in the limit of their portfolio, and would leave above it and fail',
      wayOut: 'let these messages leave, or cancel them',
    },
  },
}

export const createNotifierFile = (loaded: Capabilities): FileParts =>
  [...loaded.values()].flatMap(({ file }) => file ?? [])
