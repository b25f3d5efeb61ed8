import type { Capability } from '../../capability.ts'
import { ledgerRoutes } from './ledger-routes.ts'
import { accountRoutes, merchantAccountRoutes } from './merchant-account.ts'
import { monthRoutes } from './month-report.ts'
import { statementRoutes } from './statement-routes.ts'

/** Serves the books to accountants, and to merchants their account (docs/money.md#books). Writes nothing. */
export const books: Capability = {
  start: options => ({
    routes: {
      merchant: async app => void (await app.register(accountRoutes, options)),
      staff: async app => {
        for (const routes of [statementRoutes, ledgerRoutes, monthRoutes, merchantAccountRoutes])
          await app.register(routes, options)
      },
    },
  }),
}
