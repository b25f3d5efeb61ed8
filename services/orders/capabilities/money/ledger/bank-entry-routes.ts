import { acceptJson } from '@courier/shared/edge/json-body.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type pg from 'pg'
import { addAction } from '../../../core/actions/action.ts'
import { BankEntry, decideEntry, listSql, makeEntry, NewBankEntry, NewTaxPayment, remit } from './bank-entries.ts'
import { addDecided } from './decided-routes.ts'

const made = {
  data: BankEntry,
  action: 'bank_entry.made',
  describeNothing: ({ state }: BankEntry) => (state === 'waiting' ? 'A Second Person Must Approve It' : undefined),
} as const

/** Serves staff: books and lists what a bank statement has beside deposits and payments of merchants. */
export const bankEntryRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  acceptJson(app)
  addDecided(app, pool, {
    path: '/ledger/bank-entry',
    names: ['BankEntry', 'BankEntries'],
    called: 'an entry of the bank',
    noun: 'bank_entry',
    id: 'entry_id',
    data: BankEntry,
    summary: 'List entries of the bank: taxes remitted, fees, direct debits, differences in cash; newest first',
    message: 'Entry Decided Successfully',
    listSql,
    decide: decideEntry,
  })
  addAction(app, pool, {
    ...made,
    path: '/ledger/remit',
    operationId: 'remitTax',
    summary: 'Book what was paid to a tax office',
    message: 'Tax Payment Booked Successfully',
    body: NewTaxPayment,
    act: remit,
  })
  addAction(app, pool, {
    ...made,
    path: '/ledger/bank-entry',
    operationId: 'makeBankEntry',
    summary: 'Book a fee, a direct debit or a difference in cash',
    description: 'Under four_eyes, and always if cash is written off, it waits for a second person.',
    message: 'Entry Booked Successfully',
    body: NewBankEntry,
    act: makeEntry,
  })
}
