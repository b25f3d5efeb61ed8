import { errorResponses } from '@courier/shared/errors/errors.ts'
import { cursorFields, listCursor } from '@courier/shared/lists/cursor.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { Day } from '../../core/actions/fields.ts'
import { nullable, sum } from '../money/ledger/fields.ts'
import { formatField, jsonOrCsv, streamCsv } from '../money/papers/csv.ts'
import { accountField, accountFields, findAccountType, trialBalanceSql } from './accounts.ts'
import { nextCursor, sendBook } from './book-pages.ts'
import { checkDays } from './days.ts'
import { journalSql, readJournals } from './journal.ts'

const Account = Type.Object(
  { ...accountFields, balance: sum('The balance now: debits less credits.', -525.4) },
  { title: 'Account' },
)
const TrialBalanceRow = Type.Object({
  ...accountFields,
  debit: sum('The balance, if debits are above credits.', 0),
  credit: sum('The balance, if credits are above debits.', 525.4),
})
const TrialBalance = Type.Object(
  {
    day: Day,
    debit: sum('The sum of all debit balances.', 41_300),
    credit: sum('The sum of all credit balances, which equals `debit`.', 41_300),
    accounts: Type.Array(TrialBalanceRow),
  },
  { title: 'TrialBalance' },
)
const Entry = Type.Object(
  {
    booked_on: Day,
    journal_id: Type.String({ description: 'Is the same for all entries that were booked together.' }),
    debit: Type.String({ examples: ['rider:Nimal'] }),
    credit: Type.String({ examples: ['merchant:1'] }),
    amount: sum('The amount, above zero.', 1000),
    waybill_number: nullable('The parcel; null: the entry has none.'),
    kind: Type.String({
      description:
        'What was booked for a parcel, or the kind of the document: handover, deposit, payment, charges_paid or that of an entry of the bank.',
      examples: ['delivered'],
    }),
    document: nullable('Names what booked the entry, such as the invoice that was paid; null: a move of the parcel.'),
    invoice_no: nullable('The newest invoice that has the line of the parcel; null: none has it.'),
    batch_no: nullable('The batch that paid the invoice, such as PAY-00001.'),
    bank_reference: nullable('The reference by which the bank knows the entry; null: the entry is not of the bank.'),
  },
  { title: 'JournalEntry' },
)
type Row = Static<typeof TrialBalanceRow> & { balance: number; debits: number; credits: number }
type EntryRow = Static<typeof Entry> & { entry_no: number }

const format = formatField('json', 'csv')
const AccountsQuery = Type.Object({ ...cursorFields, format })
const TrialQuery = Type.Object({ ...cursorFields, day: { ...Day, description: 'The day whose end counts.' }, format })
const JournalQuery = Type.Object({
  ...cursorFields,
  from: Day,
  to: Day,
  account: Type.Optional(accountField('Default: all.')),
  format,
})
const entryCursors = listCursor(/^\d{4}-\d\d-\d\d$/, /^[0-9a-f-]{36}$/, /^\d{1,9}$/)

/** Serves staff the books: the chart of accounts, the trial balance of a day, and the journal. */
export const ledgerRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const readAccounts = (tenant: string, day: string, isAll: boolean) => async (after: string | null, limit: number) => {
    const values = [tenant, day, after, limit, !isAll]
    const rows = await readInTenant<Row>(pool, tenant, { name: 'read_trial_balance', text: trialBalanceSql, values })
    return rows.map(row => ({ ...row, type: findAccountType(row.account), position: row.account }))
  }
  const listing = {
    operationId: 'listAccounts',
    summary: 'List the accounts of the ledger, with their balances',
    querystring: AccountsQuery,
    response: { 200: jsonOrCsv('The accounts; CSV has all.', Type.Array(Account), Account, {}, nextCursor) },
  }
  app.get('/ledger/accounts', { schema: listing }, async ({ staff: { tenant }, query }, reply) => {
    const read = readAccounts(tenant, 'infinity', true)
    return sendBook(reply, query, { file: 'accounts', row: Account, read }, accounts => accounts)
  })
  const balancing = {
    operationId: 'getTrialBalance',
    summary: 'Read the balances of all accounts at the end of a day',
    querystring: TrialQuery,
    response: {
      200: jsonOrCsv('The trial balance; CSV has all accounts.', TrialBalance, TrialBalanceRow, {}, nextCursor),
    },
  }
  app.get('/ledger/trial-balance', { schema: balancing }, async ({ staff: { tenant }, query }, reply) => {
    const { day } = query
    await checkDays(pool, tenant, query)
    const read = readAccounts(tenant, day, false)
    const book = { file: `trial-balance-${day}`, row: TrialBalanceRow, read }
    return sendBook(reply, query, book, accounts => {
      const [{ debits: debit, credits: credit } = { debits: 0, credits: 0 }] = accounts
      return { day, debit, credit, accounts }
    })
  })
  const journal = {
    operationId: 'listJournal',
    summary: 'List the entries of the journal, with the parcel and the document of each',
    description: 'Entries of an account add up to its statement.',
    querystring: JournalQuery,
    response: {
      200: jsonOrCsv('The entries; CSV has all.', Type.Array(Entry), Entry, {}, nextCursor),
      ...errorResponses(422),
    },
  }
  app.get('/ledger/journal', { schema: journal }, async ({ staff: { tenant }, query }, reply) => {
    const { from, to, account = null } = query
    await checkDays(pool, tenant, query)
    const read = (after: readonly (string | number)[] | null, limit: number | null, journals: number) => {
      const values = [tenant, from, to, account, ...(after ?? [null, null, null]), limit, journals]
      return readInTenant<EntryRow>(pool, tenant, { name: 'read_journal', text: journalSql, values })
    }
    if (query.format === 'csv') {
      const pages = readJournals<EntryRow>((after, journals) => read(after, null, journals))
      return streamCsv(reply, `journal-${from}-${to}.csv`, pages, Entry)
    }
    const { after, limit } = entryCursors.read(query)
    const rows = await read(after.length > 0 ? after : null, limit + 1, limit + 2)
    return entryCursors.toPage(rows, limit, row => [row.booked_on, row.journal_id, String(row.entry_no)])
  })
}
