import type { Capability } from '../../capability.ts'
import { findPrinter } from '../labels/printer.ts'
import { bookedMoves } from './book-moves.ts'
import { cashPoint } from './cash/cash-routes.ts'
import { moneyPart } from './company.ts'
import { moneyFacet } from './finance-routes.ts'
import { approveUndisputed } from './invoices/invoices.ts'
import { foldDay } from './ledger/fold-and-seal.ts'
import { addLedgerCommands } from './ledger/ledger-command.ts'
import { repairIds, repairInvoices } from './papers/invoice-numbers.ts'
import { repairBatches } from './payouts/make-batch.ts'
import { opensAccount, rotateAccounts } from './payouts/rotate-accounts.ts'
import { companyMoneyRoutes, merchantMoneyRoutes } from './routes.ts'
import { goodsOfBooking } from './withholding/goods.ts'

/** Books what recipients pay and what merchants owe (docs/money.md). */
export const money: Capability = {
  start: core => {
    const options = { ...core, printer: findPrinter(core) }
    return {
      routes: {
        merchant: [app => merchantMoneyRoutes(app, options)],
        staff: [app => companyMoneyRoutes(app, options)],
      },
    }
  },
  booking: goodsOfBooking,
  move: bookedMoves,
  facet: moneyFacet,
  cash: cashPoint,
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
