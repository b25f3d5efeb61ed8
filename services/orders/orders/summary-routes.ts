import { errorResponses, httpError, invalid } from '@courier/shared/http/errors.ts'
import { dateOrTime, type Filter, id, listQuery, oneOf } from '@courier/shared/http/filters.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import { BulkheadRejectedError } from 'cockatiel'
import type pg from 'pg'
import { createBulkheads } from '../access/bulkheads.ts'
import type { Tx } from '../database/tables.ts'
import { countOrders, figuresOf, groupings, maxSummed } from './summary.ts'
import { groupOrders, maxCities } from './summary-groups.ts'

const maxDays = 366
const defaultDays = 30
const maxWaiting = 10

const count = Type.Integer({ minimum: 0 })
const money = (description: string) => Type.Integer({ description })

const figures = {
  orders: Type.Integer({ description: 'All of them: the sum of the five counts that follow.' }),
  waiting: count,
  under_way: count,
  delivered: count,
  returned: count,
  cancelled: count,
  cod_total: money('Of all orders, in whole units of the currency.'),
  cod_delivered: money('Of delivered orders.'),
  cod_outstanding: money('Of orders that wait or are under way.'),
  delivered_first_attempt: count,
  first_attempt_share: Type.Union([Type.Number(), Type.Null()], {
    description: 'Of the delivered orders, 0 to 1, four decimals; null without any.',
  }),
}
const Figures = Type.Object(figures, { title: 'OrderFigures' })
const Group = Type.Object(
  {
    key: Type.String({ description: 'The date, the key of the status or the id of the city.' }),
    name: Type.String({ description: 'The date, or the name of the status or the city.' }),
    ...figures,
  },
  { title: 'OrderGroup' },
)

const exampleFigures: Static<typeof Figures> = {
  ...{ orders: 120, waiting: 4, under_way: 10, delivered: 98, returned: 5, cancelled: 3 },
  ...{ cod_total: 540_000, cod_delivered: 441_000, cod_outstanding: 63_000 },
  ...{ delivered_first_attempt: 91, first_attempt_share: 0.9286 },
}

const Summary = Type.Object(
  {
    data: Type.Object({
      from: Type.String(),
      to: Type.String(),
      time_zone: Type.String(),
      currency: Type.String(),
      total: Figures,
      groups: Type.Array(Group, {
        description: `None without group. Every day; every status, in the order of the set; the ${maxCities} cities with the most orders.`,
      }),
      others: Type.Union([Type.Object({ groups: count, ...figures }), Type.Null()], {
        description: 'The cities that groups leaves out, summed up.',
      }),
    }),
  },
  {
    title: 'OrderSummary',
    examples: [
      {
        data: {
          ...{ from: '2026-02-19', to: '2026-02-19', time_zone: 'Asia/Colombo', currency: 'LKR' },
          ...{ total: exampleFigures, groups: [{ key: '2026-02-19', name: '2026-02-19', ...exampleFigures }] },
          others: null,
        },
      },
    ],
  },
)

const date = (description: string): Filter<string> => ({
  schema: Type.String({ maxLength: 40, description, must: 'be a date such as 2026-02-19' }),
  read: text => {
    const at = dateOrTime('').read(text)
    return at && 'date' in at ? at.date : undefined
  },
})

const filters = {
  from: date(
    `The first day, in the time zone of the courier company. Default: ${defaultDays - 1} days before the last.`,
  ),
  to: date('The last day, included. Default: today.'),
  business_id: id('The business that the orders are of.', 'merchant_business_id'),
  group: oneOf(groupings, 'What the orders are grouped by: day of creation, status or city of delivery.'),
}
const Query = listQuery({}, filters)

/** What became of the orders that a merchant created in a period. */
export const orderSummary: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const bulkheads = createBulkheads({ caller: 1, process: Math.ceil(pool.options.max / 4) }, maxWaiting)
  app.get(
    '/order/summary',
    {
      schema: {
        tags: ['orders'],
        operationId: 'summariseOrders',
        summary: 'Counts and COD of the orders of a period',
        description: `By when they were created; ${maxDays} days and ${maxSummed} orders at most.`,
        security: [{ token: [] }],
        querystring: Query.schema,
        response: { 200: Summary, ...errorResponses(400, 401, 405, 422, 429, 503) },
      },
      serializerCompiler: () => JSON.stringify,
    },
    async request => {
      const { tenant, merchantId } = request.merchant
      const wanted = { ...Query.read(request.query), merchantId }
      const caller = `${tenant} ${merchantId}`
      const data = await bulkheads({ caller, process: '' }, () =>
        inTenant(pool, tenant, (tx: Tx) => summarise(tx, tenant, wanted)),
      ).catch(error => {
        throw error instanceof BulkheadRejectedError ? httpError('unavailable', busy, { retryAfterSeconds: 2 }) : error
      })
      return { data }
    },
  )
}

const busy = 'Too many summaries are made at once. Repeat the request.'

type Wanted = ReturnType<typeof Query.read> & { readonly merchantId: string }

const summarise = async (tx: Tx, tenant: string, { merchantId, business_id, group, ...wanted }: Wanted) => {
  const { rows } = await tx.client.query(settings, [tenant])
  const { today, ...of } = rows[0]
  const period = periodOf(wanted, today)
  const query = { merchantId, businessId: business_id, group, ...period }
  const counted = await countOrders(tx, tenant, query)
  const total = figuresOf(counted)
  if (total.orders > maxSummed)
    throw invalid({ from: [`The period has more than ${maxSummed} orders. Ask for shorter ones, such as a week.`] })
  return { ...period, ...of, total, ...(await groupOrders(tx, tenant, query, counted)) }
}

const settings = `
  select time_zone, currency, (now() at time zone time_zone)::date::text as today from tenants where tenant_id = $1`

const dayMilliseconds = 86_400_000

/** Throws for one that is empty or too long. */
const periodOf = ({ from, to }: Pick<Wanted, 'from' | 'to'>, today: string) => {
  const last = to ?? today
  const first = from ?? new Date(Date.parse(last) - (defaultDays - 1) * dayMilliseconds).toISOString().slice(0, 10)
  if (first > last) throw invalid({ [to === undefined ? 'from' : 'to']: [emptyPeriod(to)] })
  if (Date.parse(last) - Date.parse(first) >= maxDays * dayMilliseconds)
    throw invalid({ from: [`The period must have ${maxDays} days at most.`] })
  return { from: first, to: last }
}

const emptyPeriod = (to: string | undefined): string =>
  to === undefined
    ? 'The from field must be no date after today.'
    : 'The to field must be a date after or equal to from.'
