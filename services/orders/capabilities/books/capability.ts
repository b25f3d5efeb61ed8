import type { Capability } from '../../capability.ts'
import { findPrinter } from '../labels/printer.ts'
import { auditRoutes } from './audit-routes.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import { accountRoutes, merchantAccountRoutes } from './merchant-account.ts'
import { monthRoutes } from './month-report.ts'
import { statementRoutes } from './statement-routes.ts'
import { taxScheduleRoutes } from './tax-schedule.ts'
import { certificateRoutes, merchantCertificateRoutes } from './withholding-certificate.ts'
import { withholdingRoutes } from './withholding-statement.ts'

/** Serves the books to accountants, and to merchants their account (docs/money.md#books). Writes nothing. */
export const books: Capability = {
  start: core => {
    const options = { ...core, printer: findPrinter(core) }
    return {
      routes: {
        merchant: [accountRoutes, app => certificateRoutes(app, options)],
        staff: [
          ...[statementRoutes, ledgerRoutes, monthRoutes, taxScheduleRoutes, withholdingRoutes, merchantAccountRoutes],
          app => merchantCertificateRoutes(app, options),
          auditRoutes,
        ],
      },
    }
  },
}
