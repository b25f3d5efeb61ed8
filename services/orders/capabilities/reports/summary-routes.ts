import { createBulkheads, refuseBusy } from '@courier/shared/edge/bulkheads.ts'
import { invalid } from '@courier/shared/errors/errors.ts'
import { date, id, listQuery, oneOf } from '@courier/shared/lists/filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Tx } from '../../core/database/tables.ts'
import type { OrderStore } from '../../core/tracking/read-orders.ts'
import { addDays, daysBetween } from './days.ts'
import { countOrders, groupings, groupOrders, maxSummed, Summary, sumTotals } from './summary.ts'

const maxDays = 366
const defaultDays = 30
const maxWaiting = 10

const filters = {
  from: date(
    `The first day, in the time zone of the courier company. Default: ${defaultDays - 1} days before the last day.`,
  ),
  to: date('The last day, included. Default: today.'),
  business_id: id('Only orders of this business.', 'merchant_business_id'),
  group: oneOf(groupings, 'Groups the orders by day of creation, status or city of delivery.'),
}
const Query = listQuery({}, filters)

export const summaryRoutes: FastifyPluginAsyncTypebox<OrderStore> = async (app, options) => {
  const bulkheads = createBulkheads({ caller: 1, process: Math.ceil(options.pool.options.max / 4) }, maxWaiting)
  const schema = {
    operationId: 'summariseOrders',
    summary: 'Counts and COD of the orders of a period',
    description: `Counts orders by their time of creation, in ${maxDays} days and ${maxSummed} orders at most.`,
    querystring: Query.schema,
    response: { 200: Summary },
  }
  app.get('/order/summary', { serializerCompiler: () => JSON.stringify, schema }, async request => {
    const { tenant, merchantId } = request.merchant
    const wanted = { ...Query.read(request.query), merchantId }
    const caller = `${tenant} ${merchantId}`
    const run = () => summarise(options, tenant, wanted)
    return { data: await bulkheads({ caller, process: '' }, run).catch(refuseBusy(busy)) }
  })
}

const busy = 'Too many summaries are waiting. Repeat the request.'

type Wanted = ReturnType<typeof Query.read> & { readonly merchantId: string }

const summarise = async ({ pool, catalogues }: OrderStore, tenant: string, wanted: Wanted) => {
  const { query, counted, version, ...settings } = await inTenant(pool, tenant, async (tx: Tx) => {
    const [{ today, ...settings }] = (await tx.rows(settingsSql, [tenant])) as [Settings]
    const query = { ...wanted, ...readPeriod(wanted, today) }
    return { query, counted: await countOrders(tx, tenant, query), ...settings }
  })
  const total = sumTotals(counted)
  if (total.orders > maxSummed)
    throw invalid({ from: [`The period has more than ${maxSummed} orders. Request a shorter period, such as a week.`] })
  const groups = groupOrders(query, counted, await catalogues.since(tenant, version))
  return { from: query.from, to: query.to, ...settings, total, ...groups }
}

type Settings = Record<'version' | 'time_zone' | 'currency' | 'today', string>

const settingsSql = `
  select version, time_zone, currency, (now() at time zone time_zone)::date::text as today
  from tenants where tenant_id = $1`

/** Throws for a period that is empty or too long. */
const readPeriod = ({ from, to }: Pick<Wanted, 'from' | 'to'>, today: string) => {
  const last = to ?? today
  const first = from ?? addDays(last, 1 - defaultDays)
  if (first > last) throw invalid(to === undefined ? startsLate : endsEarly)
  if (daysBetween(first, last) >= maxDays) throw invalid({ from: [`The period must have ${maxDays} days at most.`] })
  return { from: first, to: last }
}

const startsLate = { from: ['The from field must be no date after today.'] }
const endsEarly = { to: ['The to field must be a date after or equal to from.'] }
