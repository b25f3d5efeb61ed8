import { planWithout, query } from '@courier/shared/postgres/database.ts'
import { orNull } from '@courier/shared/schemas.ts'
import { type Static, Type } from '@sinclair/typebox'
import { type RawBuilder, sql } from 'kysely'
import type { Tx } from '../../core/database/tables.ts'
import { tariffJoin } from './queries.ts'

export const costGroups = ['day', 'template', 'merchant', 'category'] as const
export type CostGroup = (typeof costGroups)[number]

/** Names days by the clocks of the tenant, such as 2026-01-31; the last day is included. */
export interface Period {
  readonly from: string
  readonly to: string
  readonly timeZone: string
}

const maxGroups = 1000
const maxUnpriced = 100

const category = Type.String({ examples: ['utility'] })
const sums = {
  messages: Type.Integer({ description: 'Delivered messages with pricing.', examples: [3] }),
  paid: Type.Integer(),
  free: Type.Integer(),
  unknown: Type.Integer({ description: 'Messages that no tariff prices: the amount leaves them out.' }),
  amount: Type.String({ description: 'An exact decimal.', examples: ['0.0165'] }),
}

export const CostReport = Type.Object({
  data: Type.Array(
    Type.Object({
      group: orNull(Type.String(), {
        description: 'Null for messages without a merchant or a template.',
        examples: ['2026-02-19'],
      }),
      ...sums,
    }),
    { description: `Days in order; other groups by their messages, most first; at most ${maxGroups}.` },
  ),
  total: Type.Object(sums, { description: 'The sums of all groups.' }),
  without_tariff: Type.Array(Type.Object({ category, country: orNull(Type.String()), messages: Type.Integer() }), {
    description: `Categories and countries that no tariff prices, most messages first; at most ${maxUnpriced}.`,
  }),
})
export type CostReport = Static<typeof CostReport>

/** Sums the costs of a period's messages. Counts them first, between changes of tariffs, and then prices them. */
export const reportCosts = async (tx: Tx, tenant: string, period: Period, group: CostGroup): Promise<CostReport> => {
  const priced = sql`
    with days as (${group === 'day' ? selectDays(period) : selectTariffPeriods(tenant, period)}),
    -- Row-level security lets only plain columns reach the index.
    slices as materialized (
      select first, first::timestamp at time zone ${period.timeZone} as starts,
        next::timestamp at time zone ${period.timeZone} as ends
      from days
    ), counted as (
      select ${tenant}::text as tenant_id, slices.first, found.*
      from slices cross join lateral (
        select ${selectKey(group)} as "group", category, country, is_free, count(*) as messages from message_prices p
        where p.tenant_id = ${tenant} and p.priced_at >= slices.starts and p.priced_at < slices.ends
        group by 1, 2, 3, 4
      ) found
    ), priced as (
      select counted.*, tariff.price from counted ${tariffJoin('counted', sql`counted.first`)}
    )`
  const sumColumns = sql`
    coalesce(sum(messages), 0)::int as messages,
    coalesce(sum(messages) filter (where price is not null), 0)::int as paid,
    coalesce(sum(messages) filter (where is_free), 0)::int as free,
    coalesce(sum(messages) filter (where price is null and not is_free), 0)::int as unknown,
    trim_scale(coalesce(sum(messages * price), 0))::text as amount`
  const order = group === 'day' ? sql`"group"` : sql`sum(messages) desc, "group"`
  // Postgres cannot know how many rows a slice has, and would rather sort a million of them than hash them.
  const rows = await planWithout(
    tx,
    ['enable_sort'],
    () => query<CostReport>(tx)`${priced}
    select
      (select to_json(total) from (select ${sumColumns} from priced) total) as total,
      (select coalesce(json_agg(g), '[]') from (
        select "group", ${sumColumns} from priced group by "group" order by ${order} limit ${maxGroups}) g) as data,
      (select coalesce(json_agg(u), '[]') from (
        select category, country, sum(messages)::int as messages from priced where price is null and not is_free
        group by 1, 2 order by 3 desc, 1, 2 limit ${maxUnpriced}) u) as without_tariff`,
  )
  return rows[0] as CostReport
}

const selectKey = (group: CostGroup): RawBuilder<unknown> => {
  if (group === 'day') return sql`slices.first::text`
  return group === 'template' ? sql`nullif(p.template, '')` : sql.ref(`p.${group}`)
}

const selectDays = ({ from, to }: Period) => sql`
  select day::date as first, day::date + 1 as next
  from generate_series(${from}::timestamp, ${to}::timestamp, interval '1 day') as day`

/** Finds periods within which no tariff changes. */
const selectTariffPeriods = (tenant: string, { from, to }: Period) => sql`
  select first, lead(first, 1, ${to}::date + 1) over (order by first) as next from (
    select ${from}::date as first
    union select valid_from from tariffs where tenant_id = ${tenant} and valid_from > ${from}::date
      and valid_from <= ${to}::date
  ) changes`
