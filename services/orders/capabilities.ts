import type { Held, Listed } from '@courier/shared/capabilities.ts'
import { httpError } from '@courier/shared/errors/errors.ts'
import { hasRows } from '@courier/shared/postgres/held-rows.ts'
import type { Capabilities, Capability } from './capability.ts'
import type { OnDeactivated } from './core/access/tokens.ts'
import type { Tx } from './core/database/tables.ts'
import type { MovePoint } from './core/moves/move-points.ts'
import type { CompanyParts } from './core/provisioning/company-part.ts'
import { fromWaiting, isOpenSql } from './core/statuses/status-queries.ts'

/**
 * Lists the capabilities. ORDERS_CAPABILITIES leaves some out; removing a row and its folder removes one for good.
 *
 * A row without `holds` promises nothing that breaks meanwhile: `labels`, `books`, `reports`, `agents` and `restoring`
 * keep no rows; the edits that `editing` keeps and the counts of `rate-gaps` only inform; the links to `tracking-page`
 * work again once it is back.
 */
export const capabilities: Readonly<Record<string, Listed<Capability>>> = {
  people: {
    load: async () => (await import('./capabilities/people/capability.ts')).people,
    holds: {
      fromSql: 'from merchant_people where tenant_id = $1 and is_active',
      because: 'people log in for merchants, and nobody could end that',
      wayOut: 'let merchants deactivate their people',
    },
  },
  labels: { load: async () => (await import('./capabilities/labels/capability.ts')).labels },
  'tracking-page': { load: async () => (await import('./capabilities/tracking-page/capability.ts')).trackingPage },
  money: {
    load: async () => (await import('./capabilities/money/capability.ts')).money,
    needs: ['labels'],
    holds: {
      fromSql: 'from money_lines where tenant_id = $1',
      because: 'money is booked, and moves that are made or taken back without it would not be',
      followsMoves: true,
    },
  },
  books: { load: async () => (await import('./capabilities/books/capability.ts')).books, needs: ['money', 'labels'] },
  editing: { load: async () => (await import('./capabilities/editing/capability.ts')).editing },
  failures: {
    load: async () => (await import('./capabilities/failures/capability.ts')).failures,
    needs: ['editing'],
    holds: {
      fromSql: `${fromWaiting} where attempts.tenant_id = $1`,
      because: 'parcels whose delivery failed wait for what happens next',
      wayOut: 'move these parcels on',
    },
  },
  riders: {
    load: async () => (await import('./capabilities/riders/capability.ts')).riders,
    needs: ['editing', 'failures'],
    holds: {
      fromSql: `from rider_parcels parcel join orders on orders.tenant_id = parcel.tenant_id
        and orders.waybill_number = parcel.waybill_number and ${isOpenSql} where parcel.tenant_id = $1`,
      because: 'riders have parcels, and nobody would see with whom they are',
      wayOut: 'take the parcels from their riders',
    },
  },
  pickups: {
    load: async () => (await import('./capabilities/pickups/capability.ts')).pickups,
    needs: ['labels'],
    holds: {
      fromSql: "from pickups where tenant_id = $1 and state = 'open'",
      because: 'merchants wait for pickups, and nobody would see that',
      wayOut: 'let staff end them',
    },
  },
  'customer-actions': {
    load: async () => (await import('./capabilities/customer-actions/capability.ts')).customerActions,
    needs: ['editing', 'failures'],
    holds: {
      fromSql: "from customer_actions where tenant_id = $1 and status = 'open'",
      because: 'requests of customers wait for a decision',
      wayOut: 'let staff decide them',
    },
  },
  feed: {
    load: async () => (await import('./capabilities/feed/capability.ts')).feed,
    holds: {
      fromSql: "from webhook_endpoints where tenant_id = $1 and state = 'enabled'",
      because: 'webhooks of merchants expect every event',
      wayOut: 'let merchants disable or delete them',
    },
  },
  shops: {
    load: async () => (await import('./capabilities/shops/capability.ts')).shops,
    needs: ['feed'],
    holds: {
      fromSql: 'from shops where tenant_id = $1',
      because: 'shops of merchants send their orders, and nobody would take them',
      wayOut: 'let merchants remove their shops',
    },
  },
  reports: { load: async () => (await import('./capabilities/reports/capability.ts')).reports },
  'rate-gaps': { load: async () => (await import('./capabilities/rate-gaps/capability.ts')).rateGaps },
  agents: { load: async () => (await import('./capabilities/agents/capability.ts')).agents },
  'sign-in': {
    load: async () => (await import('./capabilities/sign-in/capability.ts')).signIn,
    holds: {
      fromSql: 'from tenants where tenant_id = $1 and sign_in is not null',
      because: 'the company says who may sign in with a password alone, and nobody would check that',
      wayOut: 'apply a company file without `sign_in`',
    },
  },
  restoring: { load: async () => (await import('./capabilities/restoring/capability.ts')).restoring },
}

export const createCompanyFile = (loaded: Capabilities): CompanyParts =>
  [...loaded.values()].flatMap(({ company }) => company ?? [])

export const joinDeactivations =
  (loaded: Capabilities): OnDeactivated =>
  async (...who) => {
    for (const { onDeactivated } of loaded.values()) await onDeactivated?.(...who)
  }

/** Stands in for capabilities that are left out: a process with them may have started since, and stored their rows. */
export const guardMoves = (loaded: Capabilities): MovePoint[] =>
  Object.entries<Listed<Capability>>(capabilities).flatMap(([name, { holds }]) => {
    if (loaded.has(name) || !holds?.followsMoves) return []
    const refuse = (tx: Tx, { tenant }: { tenant: string }) => refuseMove(tx, tenant, name, holds)
    return [{ check: async (tx, wanted) => ({ errors: await refuse(tx, wanted) }), undo: refuse }]
  })

const refuseMove = async (tx: Tx, tenant: string, name: string, held: Held) => {
  if (!(await hasRows(tx, tenant, held))) return {}
  throw httpError('unavailable', `This process runs without ${name}, which the company uses now: it must restart.`)
}
