import { addAmounts } from '@courier/shared/currency.ts'
import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { inTenant, readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { listStaffNames } from '../../../core/access/queries.ts'
import { addAction } from '../../../core/actions/action.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import type { Tx } from '../../../core/database/tables.ts'
import type { CashPoint } from '../../../core/moves/move-points.ts'
import { accountsSql } from '../ledger/balances.ts'
import { nullable, sum } from '../ledger/fields.ts'
import { hasLaterSql, holderSql } from '../ledger/parcels.ts'
import {
  Handover,
  handOver,
  handoverColumns,
  handoverStates,
  heldSql,
  NewHandover,
  Settlement,
  settleHandover,
} from './cash.ts'
import { NewTransfer, Transfer, transferCash } from './cash-transfers.ts'
import { methods } from './collection.ts'
import { Deposit, deposit, isUnbankedSql, NewDeposit } from './deposits.ts'

const lying = {
  parcels: Type.Integer({ examples: [12] }),
  amount: Type.Number({ examples: [31000] }),
  since: nullable(),
}
const Cash = Type.Object(
  {
    currency: Type.String(),
    ceiling: Type.Union([Type.Number(), Type.Null()], { examples: [50000] }),
    people: Type.Array(
      Type.Object({
        name: Type.String({ examples: ['Nimal'] }),
        ...lying,
        debt: sum('The sum owed from earlier handovers.', 500),
        above_ceiling: Type.Boolean({ examples: [false] }),
      }),
    ),
    office: Type.Object(lying, { description: 'The cash and repaid debts, less missing sums.' }),
    clearing: Type.Object(lying, {
      description: 'The money paid by card, QR or transfer that is not in the bank yet.',
    }),
  },
  { title: 'Cash' },
)
type Cash = Static<typeof Cash>
const Person = Type.Object({
  id: nullable('null: somebody with only a token of the operator.'),
  name: Type.String({ examples: ['Nimal'] }),
})
const UnbankedParcel = Type.Object(
  {
    waybill_number: Type.String({ examples: ['DM00000001'] }),
    amount: Type.Number({ examples: [4500] }),
    method: Type.String({ examples: ['cash'] }),
    since: Type.String({ description: 'Is when the parcel was delivered.', examples: ['2026-11-29T09:00:00Z'] }),
  },
  { title: 'UnbankedParcel' },
)
const HandoverQuery = listQuery({}, { state: oneOf(handoverStates, 'Default: all.') })

/** Serves staff: shows who holds cash, takes it from riders, and books deposits at the bank. */
export const cashRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  acceptJson(app)
  const reading = {
    operationId: 'getCash',
    summary: 'List who holds how much cash, and since when',
    response: { 200: Type.Object({ data: Cash }) },
  }
  app.get('/cash', { schema: reading }, async ({ staff: { tenant } }) => {
    const query = { name: 'read_cash', text: cashSql, values: [tenant] }
    const [data] = await readInTenant<Cash>(pool, tenant, query)
    return { data: data as Cash }
  })
  const listing = {
    operationId: 'listHandovers',
    summary: 'List the newest 100 handovers, newest first',
    querystring: HandoverQuery.schema,
    response: { 200: Type.Object({ data: Type.Array(Handover) }) },
  }
  app.get('/cash/handover', { schema: listing }, async ({ staff: { tenant }, query }) => {
    const { state = null } = HandoverQuery.read(query)
    const wanted = { name: 'list_handovers', text: handoversSql, values: [tenant, state] }
    return { data: await readInTenant<Handover>(pool, tenant, wanted) }
  })
  const naming = {
    operationId: 'listCollectors',
    summary: 'List the members of staff who may have cash',
    response: { 200: Type.Object({ data: Type.Array(Person) }) },
  }
  app.get('/cash/person', { schema: naming }, async ({ staff: { tenant } }) => ({
    data: await inTenant(pool, tenant, (tx: Tx) => listStaffNames(tx, tenant)),
  }))
  const waiting = {
    operationId: 'listUnbankedParcels',
    summary: 'List the oldest 1,000 parcels whose money waits to go to the bank',
    description: 'A deposit may name some of them: cash that was handed over, and payments without cash.',
    response: { 200: Type.Object({ data: Type.Array(UnbankedParcel) }) },
  }
  app.get('/cash/parcel', { schema: waiting }, async ({ staff: { tenant } }) => {
    const query = { name: 'list_unbanked_parcels', text: unbankedParcelsSql, values: [tenant] }
    return { data: await readInTenant<Static<typeof UnbankedParcel>>(pool, tenant, query) }
  })
  addAction(app, pool, {
    path: '/cash/transfer',
    operationId: 'transferCash',
    action: 'cash.transferred',
    summary: 'Book that a person took cash from another',
    description: 'Moves all cash of parcels that the person holds, or that of named parcels, before the office has it.',
    message: 'Cash Transferred Successfully',
    body: NewTransfer,
    data: Transfer,
    act: transferCash,
  })
  addAction(app, pool, {
    path: '/cash/handover',
    operationId: 'handOverCash',
    action: 'cash.handed_over',
    summary: 'Take the cash that a person collected',
    description: 'The handover stays open, and clears nothing, while the expected, declared and counted sums differ.',
    message: 'Cash Handed Over Successfully',
    body: NewHandover,
    data: Handover,
    act: handOver,
  })
  addAction(app, pool, {
    path: '/cash/handover/:handover_id/settle',
    params: Type.Object({ handover_id: Type.String({ maxLength: 18, pattern: '^[0-9]+$' }) }),
    operationId: 'settleHandover',
    action: 'cash.settled',
    summary: 'Decide on a handover whose sums differ',
    description: 'A second person decides: the collector owes the difference, or it is written off.',
    message: 'Handover Settled Successfully',
    body: Settlement,
    data: Handover,
    act: settleHandover,
  })
  addAction(app, pool, {
    path: '/cash/deposit',
    operationId: 'depositCash',
    action: 'cash.deposited',
    summary: 'Book a deposit at the bank',
    description: 'A repetition of the bank_reference with the same amount changes nothing.',
    message: 'Cash Deposited Successfully',
    body: NewDeposit,
    data: Deposit,
    act: deposit,
  })
}

/** Shows the cash of one person, or of everybody, to capabilities that work without money. */
export const cashPoint: CashPoint = {
  methods,
  read: async (tx, tenant, name) => {
    if (name === undefined) return ((await tx.rows<Cash>(cashSql, [tenant]))[0] as Cash).people
    const held = await tx.rows<{ cod: number }>({ name: 'read_held', text: heldSql, values: [tenant, name] })
    return [{ name, parcels: held.length, amount: addAmounts(held.map(({ cod }) => cod)) }]
  },
  isHandedOver: async (tx, tenant, waybill) => (await tx.rows(handedOverSql, [tenant, waybill])).length > 0,
}

const handedOverSql = `
  select 1 from money_lines line where tenant_id = $1 and waybill_number = $2 and kind = 'delivered'
    and ${hasLaterSql('handed_over')} and not ${hasLaterSql('delivery_reversed')}`

const handoversSql = `
  select ${handoverColumns} from cash_handovers where tenant_id = $1 and ($2::text is null or state = $2)
  order by cash_handovers.handover_id desc limit 100`

const unbankedParcelsSql = `
  select waybill_number, cod::float8 as amount, method, ${isoTime('uuid_extract_timestamp(journal_id)')} as since
  from money_lines line where tenant_id = $1 and ${isUnbankedSql} order by journal_id, waybill_number limit 1000`

const lyingSql = (amount = 'coalesce(sum(cod), 0)'): string =>
  `count(waybill_number)::int as parcels, (${amount})::float8 as amount, ${isoTime('min(at)')} as since`

/**
 * Reads lines whose money is not in the bank, balances of the last folded day and the transfers since, and skips
 * everything that is settled.
 */
const cashSql = `
  with recursive lying as (
    select ${holderSql} as cash_account, waybill_number, cod, ${isUnbankedSql} as is_here,
      uuid_extract_timestamp(journal_id) as at
    from money_lines line
    where tenant_id = $1 and banked_by is null and kind = 'delivered' and cod > 0
      and not ${hasLaterSql('delivery_reversed')}
  ), ${accountsSql(`'infinity'`)}, balance as (
    select account, balance as amount from account where account = 'office' or account like 'rider:%'
  ), held as (
    select cash_account, sum(cod) as cod, ${lyingSql()} from lying where cash_account <> 'clearing' and not is_here
      group by 1
  ), people as (
    select substr(coalesce(cash_account, account), 7) as name, coalesce(parcels, 0) as parcels,
      coalesce(held.amount, 0) as amount, since,
      coalesce((balance.amount - coalesce(cod, 0))::float8, 0) as debt,
        coalesce(held.amount, 0) > coalesce(cash_ceiling, 'infinity') as above_ceiling
    from held full join (select * from balance where account <> 'office') balance on account = cash_account
      cross join tenants
    where tenants.tenant_id = $1 and (parcels > 0 or balance.amount <> 0)
  )
  select currency, cash_ceiling::float8 as ceiling,
    coalesce((select json_agg(people order by amount desc, name) from people), '[]') as people,
    (select to_json(office) from (
      select ${lyingSql(`select coalesce(sum(amount), 0) from balance where account = 'office'`)}
      from lying where is_here and cash_account <> 'clearing'
    ) office) as office,
    (select to_json(clearing) from (select ${lyingSql()} from lying where cash_account = 'clearing') clearing)
      as clearing
  from tenants where tenant_id = $1`
