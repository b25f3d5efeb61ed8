import type { Capability } from '../../capability.ts'
import { findPrinter } from '../labels/printer.ts'
import { bookedMoves } from './book-moves.ts'
import { moneyPart } from './company.ts'
import { moneyFacet } from './finance-routes.ts'
import { foldDay } from './fold-and-seal.ts'
import { repairIds, repairInvoices } from './invoice-numbers.ts'
import { approveUndisputed } from './invoices.ts'
import { addLedgerCommands } from './ledger-command.ts'
import { repairBatches } from './make-batch.ts'
import { opensAccount, rotateAccounts } from './rotate-accounts.ts'
import { companyMoneyRoutes, merchantMoneyRoutes } from './routes.ts'

/** Books what recipients pay and what merchants owe (docs/money.md). */
export const money: Capability = {
  start: core => {
    const options = { ...core, printer: findPrinter(core) }
    return {
      routes: {
        merchant: async app => void (await app.register(merchantMoneyRoutes, options)),
        staff: async app => void (await app.register(companyMoneyRoutes, options)),
      },
    }
  },
  move: bookedMoves,
  facet: moneyFacet,
  company: moneyPart,
  housekeeping: [foldDay, approveUndisputed],
  addCommands: addLedgerCommands,
  rotateKeys: rotateAccounts,
  opensNewest: opensAccount,
  repair: async (...about) => ({
    ...(await repairInvoices(...about)),
    ...(await repairBatches(...about)),
    ...(await repairIds(...about)),
  }),
}
