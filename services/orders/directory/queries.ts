import type pg from 'pg'
import type { Tx } from '../database/tables.ts'
import { type City, Places, type State } from './places.ts'

export const findTenant = (tx: Tx, tenant: string) =>
  tx.selectFrom('tenants').selectAll().where('tenant_id', '=', tenant).executeTakeFirstOrThrow()

/** The version of the tenant's settings, places, prices and businesses. */
export const findVersion = async (tx: Tx, tenant: string): Promise<string> =>
  (await tx.selectFrom('tenants').select('version').where('tenant_id', '=', tenant).executeTakeFirstOrThrow()).version

/** As `findVersion`, outside of a transaction; undefined for an unknown tenant. */
export const readVersion = async (pool: pg.Pool, tenant: string): Promise<string | undefined> => {
  const text = 'select version from tenants where tenant_id = $1'
  return (await pool.query({ name: 'read_version', text, values: [tenant] })).rows[0]?.version
}

/** The active places of a tenant, in the order of their ids. */
export const findPlaces = async (tx: Tx, tenant: string): Promise<Places> => {
  const [stateRows, cityRows] = await Promise.all([
    tx
      .selectFrom('states')
      .select(['state_id', 'name'])
      .where('tenant_id', '=', tenant)
      .where('is_active', '=', true)
      .orderBy('state_id')
      .execute(),
    tx
      .selectFrom('cities')
      .select(['city_id', 'state_id', 'name', 'postal_code'])
      .where('tenant_id', '=', tenant)
      .where('is_active', '=', true)
      .orderBy('city_id')
      .execute(),
  ])
  const states = new Map<number, State>(stateRows.map(row => [row.state_id, { id: row.state_id, name: row.name }]))
  const cities = cityRows.flatMap((row): City[] => {
    const state = states.get(row.state_id)
    return state ? [{ id: row.city_id, name: row.name, postalCode: row.postal_code, state }] : []
  })
  return new Places(states.values(), cities)
}
