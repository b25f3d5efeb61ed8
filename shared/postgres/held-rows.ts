import type pg from 'pg'
import type { Held, Listed } from '../capabilities.ts'
import { type AnyTransaction, findTenantIds, inTenant } from './database.ts'

export const hasRows = async (tx: AnyTransaction, tenant: string, { fromSql }: Held): Promise<boolean> =>
  (await tx.rows(`select ${fromSql} limit 1`, [tenant])).length > 0

/** Finds the capabilities that are not loaded although a tenant has rows that need them, each with its first tenant. */
const findNeeded = async (pool: pg.Pool, leftOut: ReadonlyMap<string, Held>) => {
  const found = new Map<string, string>()
  if (leftOut.size === 0) return found
  for (const tenant of await findTenantIds(pool)) {
    const others = [...leftOut].filter(([name]) => !found.has(name))
    if (others.length === 0) break
    await inTenant(pool, tenant, (tx: AnyTransaction) =>
      Promise.all(
        others.map(async ([name, held]) => {
          if (await hasRows(tx, tenant, held)) found.set(name, tenant)
        }),
      ),
    )
  }
  return found
}

/**
 * Says which capabilities `setting` must not leave out, why, and what to do; undefined: it may leave out what it does.
 * Reads one row of each left-out capability and tenant, and nothing if all are loaded.
 */
export const findLeftOutProblem = async (
  pool: pg.Pool,
  setting: string,
  list: Readonly<Record<string, Listed<unknown>>>,
  loaded: ReadonlyMap<string, unknown>,
): Promise<string | undefined> => {
  const leftOut = new Map(
    Object.entries(list).flatMap(([name, { holds }]) => (holds && !loaded.has(name) ? [[name, holds] as const] : [])),
  )
  const needed = await findNeeded(pool, leftOut)
  const sentences = [...leftOut].flatMap(([name, { because, wayOut }]) => {
    const tenant = needed.get(name)
    const last = wayOut ? `before you leave it out, ${wayOut}` : 'it cannot be left out any more'
    return tenant === undefined ? [] : [`${name}, because ${because} (tenant ${tenant}); ${last}`]
  })
  return sentences.length > 0 ? `${setting} must name ${sentences.join('. It must name ')}` : undefined
}
