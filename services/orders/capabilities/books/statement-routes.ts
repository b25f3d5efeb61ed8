import { errorResponses, invalid, notFound } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { Day } from '../../core/actions/fields.ts'
import { nullable, sum } from '../money/ledger/fields.ts'
import { foldedBalanceSql, lastFoldedSql } from '../money/ledger/fold-and-seal.ts'
import { formatField, jsonOrCsv, sendCsv } from '../money/papers/csv.ts'
import { accountField } from './accounts.ts'
import { checkDays } from './days.ts'

const maxDays = 366
const Entry = Type.Object({
  booked_on: Day,
  counter_account: Type.String({ examples: ['office'] }),
  debit: Type.Number({ examples: [41300] }),
  credit: Type.Number({ examples: [0] }),
  balance: sum('The balance after the entry: debits less credits.', 41300),
  seal: nullable('The seal of the day; null until it is folded.'),
})
const Statement = Type.Object(
  {
    account: Type.String({ examples: ['bank'] }),
    opening: Type.Number({ examples: [0] }),
    closing: Type.Number({ examples: [41300] }),
    days: Type.Array(Entry),
  },
  { title: 'Statement' },
)
type Entry = Static<typeof Entry>

const StatementQuery = Type.Object({
  account: accountField('rider:NAME, office, clearing, bank, merchant:ID, held:ID, …'),
  from: Day,
  to: { ...Day, description: `The last day; the statement spans at most ${maxDays} days.` },
  format: formatField('json', 'csv'),
})

/** Serves the statement of an account, for staff. */
export const statementRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const schema = {
    operationId: 'getStatement',
    summary: 'Read the statement of an account, by day',
    description:
      'Has an entry for each day and counter account. Balances are debits less credits: below zero, the company owes.',
    querystring: StatementQuery,
    response: { 200: jsonOrCsv('The statement; CSV has it all in rows.', Statement, Entry), ...errorResponses(404) },
  }
  app.get('/ledger', { schema }, async ({ staff: { tenant }, query }, reply) => {
    const { account, from, to, format } = query
    await checkDays(pool, tenant, query)
    const days = (Date.parse(to) - Date.parse(from)) / 86_400_000
    if (days >= maxDays) throw invalid({ to: [`Give at most ${maxDays} days.`] })
    const wanted = { name: 'read_statement', text: statementSql, values: [tenant, account, from, to] }
    const [first, ...entries] = await readInTenant<Entry>(pool, tenant, wanted)
    if (!first) throw notFound('account')
    const opening = first.balance
    const data = { account, opening, closing: entries.at(-1)?.balance ?? opening, days: entries }
    if (format !== 'csv') return { data }
    const rows = [
      { booked_on: from, counter_account: 'opening', balance: opening },
      ...entries,
      { booked_on: to, counter_account: 'closing', balance: data.closing },
    ]
    return sendCsv(reply, 'statement.csv', rows, Entry)
  })
}

/**
 * Reads folded days, and transfers of days that are not folded yet; the first row has the opening balance. Returns no
 * row if the account never had an entry.
 */
const statementSql = `
  with entry as (
    select booked_on, counter_account, debit, credit from ledger_days
    where tenant_id = $1 and account = $2 and booked_on >= $3::date and booked_on <= $4::date
    union all
    select booked_on, case debit when $2 then credit else debit end, case debit when $2 then amount
      else 0 end, case debit when $2 then 0 else amount end
    from ledger_transfers where tenant_id = $1 and booked_on > ${lastFoldedSql} and booked_on <= $4::date
      and $2 in (debit, credit)
  ), summed as (
    select case when booked_on >= $3::date then booked_on end as booked_on, case
      when booked_on >= $3::date then counter_account end as counter_account,
      sum(debit) as debit, sum(credit) as credit
    from entry group by 1, 2
  ),
  opening as (
    select ${foldedBalanceSql('$2', '$3::date')} + coalesce(sum(debit - credit) filter (where booked_on is null), 0)
      as balance
    from summed having exists (select from ledger_days where tenant_id = $1 and account = $2)
      or exists (select from ledger_transfers where tenant_id = $1 and booked_on > ${lastFoldedSql}
        and $2 in (debit, credit))
  )
  select null as booked_on, null as counter_account, 0::float8 as debit, 0::float8 as credit, balance::float8,
    null as seal
  from opening
  union all
  (
    select summed.booked_on::text, counter_account, debit::float8, credit::float8,
      (opening.balance + sum(debit - credit) over (order by summed.booked_on, counter_account))::float8, seal
    from opening cross join summed left join ledger_seals on ledger_seals.tenant_id = $1
      and ledger_seals.booked_on = summed.booked_on
    where summed.booked_on is not null order by summed.booked_on, counter_account
  )`
