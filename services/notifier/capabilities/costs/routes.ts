import { invalid } from '@courier/shared/errors/errors.ts'
import { isDate } from '@courier/shared/lists/dates.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { oneOf, orNull } from '@courier/shared/schemas.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import type pg from 'pg'
import { findSettings } from '../../core/conversations/queries.ts'
import type { Tx } from '../../core/database/tables.ts'
import { Budget, findBudget } from './budget.ts'
import { findDay } from './price.ts'
import { CostReport, costGroups, type Period, reportCosts } from './report.ts'

const Day = (description: string) =>
  Type.String({ maxLength: 10, pattern: '^2\\d{3}-\\d\\d-\\d\\d$', description, must: 'be a date such as 2026-01-31' })

const CostsQuery = Type.Object({
  from: Type.Optional(Day("The first day, by the tenant's clocks; by default the first of the month of `to`.")),
  to: Type.Optional(Day('The last day; by default today.')),
  group: Type.Optional(oneOf(costGroups, { description: 'The groups. Default: day.' })),
})

const Costs = Type.Object(
  {
    from: Type.String({ examples: ['2026-02-01'] }),
    to: Type.String({ examples: ['2026-02-19'] }),
    time_zone: Type.String({ examples: ['Asia/Colombo'] }),
    currency: orNull(Type.String(), { examples: ['USD'] }),
    ...CostReport.properties,
    budget: orNull(Budget, {
      description: "The current month's budget, as summed within the last minute; null if the tenant has none.",
    }),
  },
  { title: 'Costs' },
)

export const costRoutes: FastifyPluginAsyncTypebox<{ pool: pg.Pool }> = async (app, { pool }) => {
  const GetCosts = {
    operationId: 'getCosts',
    summary: 'Report what messages cost',
    querystring: CostsQuery,
    response: { 200: Costs },
  }
  app.get('/api/costs', { schema: GetCosts }, request =>
    inTenant(pool, request.staff.tenant, (tx: Tx) => readCosts(tx, request.staff.tenant, request.query)),
  )
}

const readCosts = async (tx: Tx, tenant: string, { group = 'day', ...query }: Static<typeof CostsQuery>) => {
  const { currency, time_zone, now } = await findSettings(tx, tenant)
  const timeZone = time_zone ?? 'UTC'
  const period = readPeriod(query, findDay(now, timeZone), timeZone)
  const report = await reportCosts(tx, tenant, period, group)
  const { from, to } = period
  return { from, to, time_zone: timeZone, currency, ...report, budget: await findBudget(tx, tenant) }
}

const maxDays = 366
const countDays = (from: string, to: string): number => (Date.parse(to) - Date.parse(from)) / 86_400_000

const readPeriod = (query: { from?: string; to?: string }, today: string, timeZone: string): Period => {
  const { to = today } = query
  const { from = `${to.slice(0, 7)}-01` } = query
  for (const [field, day] of Object.entries({ from, to }))
    if (!isDate(day)) throw invalid({ [field]: [`There is no day ${day}.`] })
  if (from > to) throw invalid({ to: ['The to field must be a date after or equal to from.'] })
  if (countDays(from, to) >= maxDays)
    throw invalid({ to: [`The period must be at most ${maxDays} days, the first and the last included.`] })
  return { from, to, timeZone }
}
