import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { cursorFields, listCursor, PageOf } from '@courier/shared/lists/cursor.ts'
import { listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { addAction } from '../../../core/actions/action.ts'
import { Percent, taxTables } from '../taxes/tax-tables.ts'
import {
  BankEntry,
  BankEntryDecision,
  decideEntry,
  entryStates,
  listSql,
  makeEntry,
  NewBankEntry,
  NewTaxPayment,
  remit,
} from './bank-entries.ts'

const EntryQuery = listQuery(cursorFields, { state: oneOf(entryStates, 'Default: all.') })
const cursors = listCursor(/^\d{1,18}$/)

const made = {
  data: BankEntry,
  action: 'bank_entry.made',
  describeNothing: ({ state }: BankEntry) => (state === 'waiting' ? 'A Second Person Must Approve It' : undefined),
} as const

const steps = [
  ['approve', 'approved', 'approveBankEntry', 'Approve an entry of the bank, which books it; not by whoever made it'],
  ['reject', 'rejected', 'rejectBankEntry', 'Reject an entry of the bank, which then changes nothing'],
] as const

const Taxes = Type.Object({
  tax_percent: Percent,
  withholding_percent: Percent,
  taxes: orNull(taxTables.taxes, { description: 'null: only tax_percent.' }),
  withholding: orNull(taxTables.withholding, { description: 'null: only withholding_percent.' }),
})
const taxesSql = `
  select tax_percent::float8, withholding_percent::float8, taxes::jsonb, withholding::jsonb
  from tenants where tenant_id = $1`

/** Serves staff: books and lists what a bank statement has beside deposits and payments of merchants. */
export const bankEntryRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  acceptJson(app)
  const listing = {
    operationId: 'listBankEntries',
    summary: 'List entries of the bank: taxes remitted, fees, direct debits, differences in cash; newest first',
    querystring: EntryQuery.schema,
    response: { 200: PageOf(BankEntry, 'BankEntries') },
  }
  app.get('/ledger/bank-entry', { schema: listing }, async ({ staff: { tenant }, query }) => {
    const { state = null } = EntryQuery.read(query)
    const { after, limit } = cursors.read(query)
    const values = [tenant, state, after[0] ?? null, limit + 1]
    const rows = await readInTenant<BankEntry>(pool, tenant, { name: 'list_bank_entries', text: listSql, values })
    return cursors.toPage(rows, limit, row => [String(row.entry_id)])
  })
  const reading = {
    operationId: 'getTaxes',
    summary: 'Read the rates of taxes and withholdings, as the company file has them',
    response: { 200: Type.Object({ data: Taxes }) },
  }
  app.get('/ledger/taxes', { schema: reading }, async ({ staff: { tenant } }) => {
    const about = { name: 'read_taxes', text: taxesSql, values: [tenant] }
    return { data: (await readInTenant<Static<typeof Taxes>>(pool, tenant, about))[0] as Static<typeof Taxes> }
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
  for (const [step, to, operationId, summary] of steps)
    addAction(app, pool, {
      path: `/ledger/bank-entry/:entry_id/${step}`,
      params: Type.Object({ entry_id: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) }),
      operationId,
      action: `bank_entry.${to}`,
      summary,
      message: 'Entry Decided Successfully',
      body: BankEntryDecision,
      data: BankEntry,
      act: (tx, call) => decideEntry(tx, to, call),
    })
}
