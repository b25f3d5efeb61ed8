import type { Capability } from '../../capability.ts'
import { auditRoutes } from './audit-routes.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import { accountRoutes, merchantAccountRoutes } from './merchant-account.ts'
import { monthRoutes } from './month-report.ts'
import { statementRoutes } from './statement-routes.ts'
import { taxScheduleRoutes } from './tax-schedule.ts'

/** Serves the books to accountants, and to merchants their account (docs/money.md#books). Writes nothing. */
export const books: Capability = {
  start: () => ({
    routes: {
      merchant: [accountRoutes],
      staff: [statementRoutes, ledgerRoutes, monthRoutes, taxScheduleRoutes, merchantAccountRoutes, auditRoutes],
    },
  }),
}
