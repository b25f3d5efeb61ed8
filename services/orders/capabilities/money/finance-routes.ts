import { acceptJson } from '@courier/shared/edge/json-body.ts'
import { invalid, notFound } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { addAction } from '../../core/actions/action.ts'
import type { Facet } from '../../core/tracking/facets.ts'
import { type FindOrder, isWaybill } from '../../core/tracking/read-orders.ts'
import { addWaybillReads } from '../../core/tracking/waybill-routes.ts'
import { Compensated, Compensation, compensate } from './corrections/compensation.ts'
import { nullable } from './ledger/fields.ts'
import { hasLaterSql } from './ledger/parcels.ts'
import { amountFields, InvoiceLine, lineColumnsSql, sumsSql } from './papers/amounts.ts'

const maxNumbers = 500
/** Allows each waybill 50 characters and a comma. */
const maxLength = maxNumbers * 51

/** Lists where the money of a parcel can be. */
const places = ['none', 'with_rider', 'at_office', 'clearing', 'banked', 'invoiced', 'held', 'paid'] as const

const FinanceStatus = Type.Object(
  {
    finance_status: Type.String({ description: 'Pending, Approved or Deposited.' }),
    invoice_ref_no: nullable('null: no invoice was submitted to you.'),
    invoice_no: nullable('null: no invoice was submitted to you.'),
  },
  { title: 'FinanceStatus' },
)
type FinanceStatus = Static<typeof FinanceStatus>
const pending = { finance_status: 'Pending', invoice_ref_no: null, invoice_no: null }
const noMoney: FinanceStatus & Pick<ParcelMoney, 'state'> = { ...pending, state: 'none' }

const ParcelMoney = Type.Object(
  {
    waybill_number: Type.String(),
    ...amountFields,
    method: nullable('cash, card, qr or transfer; null: nothing was paid.'),
    owed: Type.Number({
      description: 'The sum that the courier company owes you for the parcel; below zero you owe the company.',
    }),
    booked_on: nullable('The day of the delivery or return; null: nothing is booked yet.'),
    state: Type.Union(
      places.map(place => Type.Literal(place)),
      { description: 'The place of the money of the delivery.' },
    ),
    ...FinanceStatus.properties,
    paid_on: nullable('The day on which the invoice was paid.'),
  },
  { title: 'ParcelMoney' },
)
type ParcelMoney = Static<typeof ParcelMoney>

const FinanceQuery = Type.Object({
  waybill_numbers: Type.String({
    maxLength,
    description: `At most ${maxNumbers} waybill numbers, separated by commas.`,
  }),
})

/** Shows merchants the amounts booked for their parcels. */
export const parcelMoneyRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  app.get(
    '/order/finance',
    {
      schema: {
        operationId: 'getParcelMoney',
        summary: 'Read what was collected for up to 500 orders, and what each cost',
        description: 'Lists orders that are not yours as missing.',
        querystring: FinanceQuery,
        response: {
          200: Type.Object({ data: Type.Array(ParcelMoney), missing: Type.Array(Type.String()) }),
        },
      },
    },
    async request => {
      const { tenant, merchantId } = request.merchant
      const wanted = readNumbers(request.query.waybill_numbers)
      const rows = await readInTenant<ParcelMoney>(pool, tenant, toQuery(tenant, merchantId, wanted))
      const found = new Map(rows.map(row => [row.waybill_number, row]))
      return {
        data: wanted.flatMap(number => found.get(number) ?? []),
        missing: wanted.filter(number => !found.has(number)),
      }
    },
  )
}

const readNumbers = (text: string): string[] => {
  const numbers = text.split(',').flatMap(number => number.trim() || [])
  if (numbers.length === 0 || numbers.length > maxNumbers)
    throw invalid({ waybill_numbers: [`Give 1 to ${maxNumbers} waybill numbers, separated by commas.`] })
  return [...new Set(numbers)]
}

const placeSql = `case when kind <> 'delivered' or method is null or ${hasLaterSql('delivery_reversed')} then null
    when banked_by is not null then 'banked' when method <> 'cash' then 'clearing'
    when ${hasLaterSql('handed_over')} then 'at_office' else 'with_rider' end`

/**
 * Selects `ParcelMoney` of the wanted parcels, $3, of the tenant $1 and, unless null, the merchant $2. The lines of
 * moves that were not taken back decide which invoice a parcel is on, and compensations if there is no delivery; later
 * settlements do not. Money in dispute is held, whatever the state of the invoice.
 */
const parcelMoneySql = (isWanted: string): string => `
  with line as (
    select line.*, ${placeSql} as place, line.kind = 'disputed' and not ${hasLaterSql('released')} as is_held,
      kind in ('delivered', 'returned') and not ${hasLaterSql('delivery_reversed', 'return_reversed')} as is_live
      from money_lines line where tenant_id = $1 and waybill_number ${isWanted}
  ), parcel as (
    select orders.waybill_number, max(method) filter (where is_live) as method,
      max(booked_on) filter (where is_live)::text as booked_on, max(place) as place,
      ${sumsSql('owed')},
      (array_agg(to_json(seen) order by line.kind = 'compensated', line.line_no desc)
        filter (where seen.invoice_no is not null or is_live and line.kind = 'delivered'))[1] as seen,
      bool_or(is_held) as is_held
    from orders left join line on line.tenant_id = orders.tenant_id and line.waybill_number = orders.waybill_number
      left join (
        select invoices.tenant_id, invoice_id, invoice_no, invoice_ref_no, paid_on, invoices.state
        from invoices where invoices.tenant_id = $1
          and invoices.state <> 'draft'
      ) seen on seen.tenant_id = line.tenant_id and seen.invoice_id = line.invoice_id
        and (is_live or line.kind = 'compensated')
    where orders.tenant_id = $1 and ($2::bigint is null or orders.merchant_id = $2)
      and orders.waybill_number ${isWanted}
    group by orders.waybill_number
  )
  select waybill_number, method, booked_on, collected, delivery, cod_fee, return_fee, tax, withholding, owed,
    case when is_held then 'Pending' when seen ->> 'state' = 'deposited' then 'Deposited'
      when seen ->> 'state' = 'approved' then 'Approved'
      else 'Pending' end as finance_status,
    seen ->> 'invoice_no' as invoice_no, seen ->> 'invoice_ref_no' as invoice_ref_no, seen ->> 'paid_on' as paid_on,
    case when is_held then 'held' when seen ->> 'state' = 'deposited' then 'paid' when seen is not null then 'invoiced'
      else coalesce(place, 'none') end as state
  from parcel`

const oneParcelSql = parcelMoneySql('= $3')
const manyParcelsSql = parcelMoneySql('= any($3::text[])')

/**
 * Queries one parcel with a statement of its own. Postgres plans the statement with an array at each execution, which
 * takes longer than its execution.
 */
const toQuery = (tenant: string, merchantId: string | null, waybills: readonly string[]): pg.QueryConfig => {
  const wanted = waybills.filter(waybill => isWaybill.test(waybill))
  return wanted.length === 1
    ? { name: 'read_parcel_money', text: oneParcelSql, values: [tenant, merchantId, wanted[0]] }
    : { name: 'read_money_of_parcels', text: manyParcelsSql, values: [tenant, merchantId, wanted] }
}

const viewMoney = ({ finance_status, state, invoice_ref_no, invoice_no } = noMoney) => ({
  finance_status,
  finance_state: state,
  invoice_ref_no,
  invoice_no,
})

const shown = { fields: { ...FinanceStatus.properties, finance_state: ParcelMoney.properties.state }, view: viewMoney }

/** Shows the state of an order's money. Most orders have none yet: they have no line and are pending. */
export const moneyFacet: Facet<ParcelMoney> = {
  existsSql: table => `exists (
      select from money_lines line where line.tenant_id = $1 and line.waybill_number = ${table}.waybill_number
    )`,
  read: async (read, tenant, waybills) => {
    const rows = await read<ParcelMoney>(toQuery(tenant, null, waybills))
    return new Map(rows.map(row => [row.waybill_number, row]))
  },
  inLists: shown,
  inOne: { merchant: shown, staff: shown },
}

/** Serves the finance status of an order: invoiced or paid, in the words that existing programs expect. */
export const financeStatusRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool; findOrder: FindOrder }> = async (
  app,
  options,
) => {
  const about = {
    summary: 'Read the finance status of an order',
    description: 'A JSON body may name the waybill, even in a GET.',
  }
  const view = Type.Object(
    { data: Type.Object({ waybill_number: Type.String(), ...FinanceStatus.properties }, { title: 'WaybillFinance' }) },
    { examples: [{ data: { waybill_number: 'DM00000001', ...pending } }] },
  )
  const route = { path: '/order/waybill-finance-status', operationId: 'getFinanceStatus', about, view }
  addWaybillReads(app, options.findOrder, route, async ({ row: { waybill_number } }, tenant) => {
    const query = toQuery(tenant, null, [waybill_number])
    const [money = noMoney] = await readInTenant<ParcelMoney>(options.pool, tenant, query)
    const { finance_status, invoice_ref_no, invoice_no } = money
    return { waybill_number, finance_status, invoice_ref_no, invoice_no }
  })
}

const MoneyLine = Type.Object(
  {
    ...InvoiceLine.properties,
    invoice_no: nullable('The invoice that has the line.'),
    reason: nullable(),
    staff_name: nullable(),
  },
  { title: 'MoneyLine' },
)
const AnyParcelMoney = Type.Object(
  { ...ParcelMoney.properties, lines: Type.Array(MoneyLine) },
  { title: 'AnyParcelMoney' },
)

/** Shows staff every line that was booked for a parcel, and lets them compensate for a lost one. */
export const staffMoneyRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  app.get(
    '/order/:waybill/money',
    {
      schema: {
        operationId: 'getAnyParcelMoney',
        summary: 'List what was booked for an order, line by line',
        params: Type.Object({ waybill: Type.String({ maxLength: 100 }) }),
        response: { 200: Type.Object({ data: AnyParcelMoney }) },
      },
    },
    async ({ staff: { tenant }, params: { waybill } }) => {
      if (!isWaybill.test(waybill)) throw notFound('waybill')
      const [[parcel], lines] = await Promise.all([
        readInTenant<ParcelMoney>(pool, tenant, toQuery(tenant, null, [waybill])),
        readInTenant<Static<typeof MoneyLine>>(pool, tenant, {
          name: 'read_lines',
          text: moneyLinesSql,
          values: [tenant, waybill],
        }),
      ])
      if (!parcel) throw notFound('waybill')
      return { data: { ...parcel, lines } }
    },
  )
  acceptJson(app)
  addAction(app, pool, {
    path: '/compensation',
    operationId: 'compensateParcel',
    action: 'parcel.compensated',
    summary: 'Compensate a merchant for a lost parcel',
    message: 'Parcel Compensated Successfully',
    description: 'Works once for each parcel. The next invoice of the merchant includes the amount.',
    body: Compensation,
    data: Compensated,
    describeNothing: ({ correction_id }) =>
      correction_id === undefined ? undefined : 'A Second Person Must Approve It',
    act: compensate,
  })
}

const moneyLinesSql = `
  select ${lineColumnsSql}, nullif(invoice_no, line.invoice_id::text) as invoice_no, line.reason, staff_name
  from money_lines line left join invoices on invoices.tenant_id = $1 and invoices.invoice_id = line.invoice_id
  where line.tenant_id = $1 and line.waybill_number = $2 order by line.tenant_id, line.waybill_number, line.line_no`
