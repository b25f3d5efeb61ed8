import { deleteWhere } from '@courier/shared/postgres/housekeeping.ts'
import type { Capability } from '../../capability.ts'
import { checkBudgets } from './budget.ts'
import { admitWithinBudget } from './defer.ts'
import { costsPart } from './file-part.ts'
import { Cost, findCostsFor } from './queries.ts'
import { storePrices } from './store-prices.ts'

/** Prices messages, and keeps marketing messages within the budget of the month. */
export const costs: Capability = {
  start: ({ pool, logger, poll }) => ({
    routes: { staff: async staff => (await import('./routes.ts')).costRoutes(staff, { pool }) },
    workers: [poll('budget.check', 60, () => checkBudgets(pool, logger))],
  }),
  admission: admitWithinBudget,
  webhooks: { onStatuses: storePrices },
  message: {
    fields: { cost: Cost },
    read: async (tx, staff, ids) =>
      new Map([...(await findCostsFor(tx, staff, ids))].map(([id, cost]) => [id, { cost }])),
    absent: { cost: null },
  },
  file: costsPart,
  gauges: {
    budgets_nearly_used_up: [
      "Tenants whose spending this month has reached their budget's share for a warning, or all of it.",
      '(select count(warned_at)::integer from budgets)',
    ],
    budgets_used_up: [
      'Tenants whose marketing messages wait, because the budget of the month is used up.',
      '(select count(paused_at)::integer from budgets)',
    ],
  },
  housekeeping: [deleteWhere('message_prices', "priced_at < now() - interval '25 months'", 'for update skip locked')],
}
