import type { Keyring } from '@courier/shared/vault.ts'
import type { FastifyPluginAsync } from 'fastify'
import type { FindOrder } from '../../core/tracking/read-orders.ts'
import { cashRoutes } from './cash/cash-routes.ts'
import { correctionRoutes } from './corrections/correction-routes.ts'
import { disputeRoutes, merchantDisputeRoutes } from './corrections/dispute-routes.ts'
import { financeStatusRoutes, parcelMoneyRoutes, staffMoneyRoutes } from './finance-routes.ts'
import { type InvoiceOptions, invoiceRoutes, merchantInvoiceRoutes } from './invoices/invoice-routes.ts'
import { balanceRoutes, merchantBalanceRoutes } from './ledger/balance-routes.ts'
import { bankEntryRoutes } from './ledger/bank-entry-routes.ts'
import { bankAccountRoutes, merchantBankAccountRoutes } from './payouts/bank-account-routes.ts'
import { payoutRoutes } from './payouts/payout-routes.ts'
import { taxRoutes } from './taxes/tax-routes.ts'

interface MerchantMoneyOptions extends InvoiceOptions {
  readonly findOrder: FindOrder
}

/** Serves a merchant's own money: states, balance, parcels, invoices, disputes. */
export const merchantMoneyRoutes: FastifyPluginAsync<MerchantMoneyOptions> = async (app, options) => {
  await app.register(financeStatusRoutes, options)
  await app.register(balanceRoutes, options)
  await app.register(parcelMoneyRoutes, options)
  await app.register(merchantInvoiceRoutes, options)
  await app.register(merchantDisputeRoutes, options)
  await app.register(merchantBankAccountRoutes, options)
}

interface CompanyMoneyOptions extends InvoiceOptions {
  readonly keyring: Keyring | undefined
  readonly onChanged: (tenant: string) => void
}

/** Serves the company's money to its staff: cash, corrections, pay runs, parcels, balances, invoices. */
export const companyMoneyRoutes: FastifyPluginAsync<CompanyMoneyOptions> = async (app, options) => {
  await app.register(cashRoutes, options)
  await app.register(bankAccountRoutes, options)
  await app.register(bankEntryRoutes, options)
  await app.register(taxRoutes, options)
  await app.register(correctionRoutes, options)
  await app.register(payoutRoutes, options)
  await app.register(staffMoneyRoutes, options)
  await app.register(merchantBalanceRoutes, options)
  await app.register(invoiceRoutes, options)
  await app.register(disputeRoutes, options)
}
