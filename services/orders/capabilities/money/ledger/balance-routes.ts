import { errorResponses, notFound } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyPluginAsync, FastifySchema } from 'fastify'
import type pg from 'pg'
import { readScope } from '../../../core/access/merchant.ts'
import { Day } from '../../../core/actions/fields.ts'
import { isoTime } from '../../../core/database/iso-time.ts'
import { MerchantParams, nullable, sum } from './fields.ts'
import { chargesSql, netSql } from './ledger.ts'
import { hasLaterSql } from './parcels.ts'
import { isUninvoicedSql, paidSql, payableOnSql, releasedSql, setOffSql, termsSql } from './payable.ts'

const Balance = Type.Object(
  {
    currency: Type.String(),
    with_riders: sum('The cash that riders hold for parcels on no invoice.', 12000),
    at_office: sum('The money of parcels on no invoice, at the office or with payment providers.', 30000),
    banked: sum('The money of parcels on no invoice, in the bank.', 0),
    waiting: sum('The totals of unpaid invoices, without drafts.', 15451.8),
    held: sum(
      'The money held for parcels and lines in dispute; below zero, disputed charges that were paid back.',
      425.4,
    ),
    held_for: Type.Array(
      Type.Object({
        waybill_number: nullable('null: a line without a parcel is in dispute.'),
        line_no: orNull(Type.Integer(), { description: 'The line without a parcel.' }),
        amount: Type.Number({ examples: [425.4] }),
        reason: nullable(),
        since: Type.String(),
        invoice_no: nullable('The invoice that is disputed; null for a dispute of an earlier version.'),
      }),
      { description: 'The newest 1,000 disputes.' },
    ),
    charges_due: sum('The charges that you pay separately and have not paid, invoiced or not.', 0),
    payable_now: sum(
      'The total of an invoice made now, and of drafts, which staff still check; ' +
        'below zero, a later invoice brings it forward.',
      21800.5,
    ),
    next_payment: Type.Union(
      [
        Type.Object({ on: Day, amount: sum('The total of an invoice made on that day, and of drafts.', 24100) }),
        Type.Null(),
      ],
      { description: 'The next day on which more becomes payable; null: none is known.' },
    ),
    balance: sum(
      'The sum that the courier company owes the merchant; below zero the merchant owes the company.',
      47377.7,
    ),
  },
  { title: 'Balance' },
)
type Balance = Static<typeof Balance>

const addBalance = (app: FastifyInstance, pool: pg.Pool, path: string, about: FastifySchema): void => {
  const schema = { ...about, response: { 200: Type.Object({ data: Balance }), ...errorResponses(404) } }
  app.get<{ Params: { merchant_id?: string } }>(path, { schema }, async request => {
    const { tenant, merchantId } = readScope(request)
    const values = [tenant, merchantId ?? request.params.merchant_id]
    const [data] = await readInTenant<Balance>(pool, tenant, { name: 'read_balance', text: balanceSql, values })
    if (!data) throw notFound('merchant')
    return { data }
  })
}

type Names = readonly [operationId: string, summary: string]

/** Makes the plugins of a route that merchants have for their own money, and staff for that of any merchant. */
export const forBoth = (path: string, own: Names, ofAny: Names, add: typeof addBalance) => {
  const plugin =
    (at: string, [operationId, summary]: Names, params?: TSchema): FastifyPluginAsync<{ pool: pg.Pool }> =>
    async (app, { pool }) =>
      add(app, pool, at, { operationId, summary, ...(params && { params }) })
  return [plugin(path, own), plugin(`/merchant/:merchant_id${path}`, ofAny, MerchantParams)] as const
}

export const [balanceRoutes, merchantBalanceRoutes] = forBoth(
  '/balance',
  ['getBalance', 'Read what you are owed, and where the money is'],
  ['getMerchantBalance', 'Read what a merchant is owed, and where the money is'],
  addBalance,
)

const held = `disputed as (
    select nullif(waybill_number, '') as waybill_number, case waybill_number when '' then refers_to end as line_no,
      held, line.reason, uuid_extract_timestamp(line.journal_id) as at, invoice_no
    from money_lines line left join invoices on invoices.tenant_id = $1
      and invoices.invoice_id = coalesce(disputed_on, line.invoice_id)
    where line.tenant_id = $1 and line.merchant_id = $2 and line.kind = 'disputed' and not ${hasLaterSql('released')}
  )`

const isHanded = 'coalesce(later.is_handed, false)'
const isReversed = 'coalesce(later.is_reversed, false)'

/** Reads lines that are on no invoice, open disputes and unpaid invoices, and skips everything that is settled. */
const balanceSql = `
  with terms as (${termsSql} and merchants.merchant_id = $2
  ), day as (
    select (now() at time zone time_zone)::date as today from tenants where tenant_id = $1
  ), open as materialized (
    select waybill_number, line_no, kind, cod, method, banked_by, booked_on, ${paidSql} as amount,
      ${netSql} + case when line.tax_invoice_id is not null then ${chargesSql} else 0 end as net,
      case when line.tax_invoice_id is null and charges_apart then ${chargesSql} else 0 end as charges
    from money_lines line cross join terms
    where line.tenant_id = $1 and line.merchant_id = $2 and ${isUninvoicedSql}
  ), later as (
    select waybill_number, refers_to, bool_or(kind = 'handed_over') as is_handed,
      bool_or(kind = 'delivery_reversed') as is_reversed
    from money_lines where tenant_id = $1 and refers_to is not null
      and waybill_number = any(array(select waybill_number from open where kind = 'delivered')) group by 1, 2
  ), line as materialized (
    select line.cod, method, banked_by, amount, net, charges, ${payableOnSql(isReversed)} as payable_on,
      ${releasedSql(isHanded, isReversed)} as is_released, kind = 'delivered' and not ${isReversed} as is_live,
      ${isHanded} as is_handed
    from open line cross join terms left join later on later.waybill_number = line.waybill_number
      and refers_to = line.line_no and kind = 'delivered'
  ), sums as (
    select coalesce(sum(cod) filter (where is_live and method = 'cash' and not is_handed and banked_by is null), 0)
      as with_riders,
      coalesce(sum(cod) filter (where is_live and (method <> 'cash' or is_handed) and banked_by is null), 0)
        as at_office,
      coalesce(sum(cod) filter (where is_live and banked_by is not null), 0) as banked,
      coalesce(sum(amount) filter (where is_released and payable_on <= today), 0) as payable_now,
      min(payable_on) filter (where is_released and payable_on > today) as next_on, coalesce(sum(net), 0) as net,
      coalesce(sum(charges), 0) as charges
    from day left join line on true group by today
  ), ${held}, unpaid as (
    select coalesce(sum(total) filter (where state <> 'draft'), 0) as waiting,
      coalesce(sum(total) filter (where state = 'draft'), 0) as drafted, coalesce(sum(total), 0) as owed
    from invoices where tenant_id = $1 and merchant_id = $2 and state not in ('deposited', 'cancelled')
  ), unpaid_charges as (
    select coalesce(sum(charges_due - ${setOffSql}), 0) as due from invoices
    where tenant_id = $1 and merchant_id = $2 and state <> 'cancelled' and charges_due <> 0
      and charges_journal_id is null
  ), holding as (
    select coalesce(sum(held), 0) as held,
      coalesce(json_agg(json_build_object('waybill_number', waybill_number, 'line_no', line_no,
      'amount', held::float8, 'reason', reason, 'since', ${isoTime('at')}, 'invoice_no', invoice_no) order by at desc)
        filter (where nr <= 1000), '[]') as held_for
    from (select *, row_number() over (order by at desc) as nr from disputed) numbered
  )
  select currency, with_riders::float8, at_office::float8, banked::float8, waiting::float8, held::float8, held_for,
    case when sets_off and has_two then 0 else due + charges end::float8 as charges_due,
    (payable_now + drafted)::float8 as payable_now,
    case when next_on is not null then json_build_object('on', next_on, 'amount',
      (select sum(amount) + drafted from line where is_released and payable_on <= next_on)::float8) end as next_payment,
    (net + owed + held - due)::float8 as balance
  from tenants cross join terms cross join sums cross join unpaid cross join unpaid_charges cross join holding
    where tenants.tenant_id = $1`
