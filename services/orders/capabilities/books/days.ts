import { invalid } from '@courier/shared/errors/errors.ts'
import { readInTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { refuseValues } from '../../core/actions/action.ts'
import { Day } from '../../core/actions/fields.ts'

type Query = Readonly<Partial<Record<'day' | 'from' | 'to' | 'month', string>>>

/** Refuses days that do not exist, those still to come in the company's time zone, and a last day before the first. */
export const checkDays = async (pool: pg.Pool, tenant: string, query: Query): Promise<void> => {
  refuseValues({ day: Day, from: Day, to: Day }, query)
  const { from = '', to = from } = query
  if (from > to) throw invalid({ to: [`Give a day from ${from} on.`] })
  const wanted = { name: 'read_today', text: todaySql, values: [tenant] }
  const [row] = await readInTenant<{ today: string }>(pool, tenant, wanted)
  for (const field of ['day', 'to', 'month'] as const) {
    const given = query[field] ?? ''
    const newest = row?.today.slice(0, given.length) ?? given
    if (given > newest) throw invalid({ [field]: [`Give ${newest} or earlier: nothing later is booked yet.`] })
  }
}

const todaySql = 'select (now() at time zone time_zone)::date::text as today from tenants where tenant_id = $1'
