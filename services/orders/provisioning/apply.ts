import { type Actor, audit, operator } from '@courier/shared/audit.ts'
import type { Change } from '@courier/shared/changes.ts'
import { inTenant, lockTenant } from '@courier/shared/database.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'
import { applyMerchants, findForeignBusinesses, hashPasswords } from './apply-merchants.ts'
import { applyRateCards } from './apply-rate-cards.ts'
import { applyStatuses, findStatusFaults } from './apply-statuses.ts'
import { sync } from './sync.ts'
import type { TenantFile } from './tenant-file.ts'

export type Applied = { kind: 'applied'; changes: Change[] } | { kind: 'refused'; faults: Faults }

/**
 * Makes a tenant what a checked file says, in one transaction. Places and a merchant's businesses that the file no
 * longer names are deactivated, zones and rates of its cards removed; merchants and cards that it does not name stay.
 * With `dryRun` the same is done and rolled back.
 */
export const applyTenant = async (
  pool: pg.Pool,
  file: TenantFile,
  dryRun: boolean,
  by: Actor = operator(),
): Promise<Applied> => {
  const hashes = await hashPasswords(pool, file)
  return inTenant<Tables, Applied>(
    pool,
    file.tenant.id,
    async tx => {
      await lockTenant(tx, file.tenant.id)
      const faults = { ...(await findForeignBusinesses(tx, file)), ...(await findStatusFaults(tx, file)) }
      if (Object.keys(faults).length > 0) return { kind: 'refused', faults }
      const changes = [
        ...(await applySettings(tx, file)),
        ...(await applyStatuses(tx, file)),
        ...(await applyPlaces(tx, file)),
        ...(await applyRateCards(tx, file)),
        ...(await applyMerchants(tx, file, hashes)),
      ]
      if (changes.length > 0) {
        await raiseVersion(tx, file.tenant.id)
        await audit(tx, file.tenant.id, by, 'tenant.applied', file.tenant.id)
      }
      return { kind: 'applied', changes }
    },
    ({ kind }) => kind === 'applied' && !dryRun,
  )
}

const applySettings = async (tx: Tx, { tenant }: TenantFile): Promise<Change[]> => {
  const current = await tx.selectFrom('tenants').selectAll().where('tenant_id', '=', tenant.id).execute()
  const wanted = {
    tenant_id: tenant.id,
    name: tenant.name,
    currency: tenant.currency,
    country: tenant.country,
    time_zone: tenant.time_zone,
    waybill_mode: tenant.waybills.mode,
    waybill_format: tenant.waybills.format,
    secondary_phone: tenant.secondary_phone ?? false,
  }
  const { changes } = await sync({
    tx,
    table: 'tenants',
    kind: 'tenant',
    keys: ['tenant_id'],
    current,
    wanted: [wanted],
    others: 'kept',
  })
  return changes
}

const raiseVersion = (tx: Tx, tenant: string) =>
  tx
    .updateTable('tenants')
    .set(row => ({ version: row('version', '+', '1') }))
    .where('tenant_id', '=', tenant)
    .execute()

const applyPlaces = async (tx: Tx, { tenant, states }: TenantFile): Promise<Change[]> => {
  const tenant_id = tenant.id
  const [currentStates, currentCities] = await Promise.all([
    tx.selectFrom('states').selectAll().where('tenant_id', '=', tenant_id).execute(),
    tx.selectFrom('cities').selectAll().where('tenant_id', '=', tenant_id).execute(),
  ])
  const ofStates = await sync({
    tx,
    table: 'states',
    kind: 'state',
    keys: ['tenant_id', 'state_id'],
    current: currentStates,
    wanted: states.map(({ id, name }) => ({ tenant_id, state_id: id, name, is_active: true })),
    others: 'deactivated',
  })
  const ofCities = await sync({
    tx,
    table: 'cities',
    kind: 'city',
    keys: ['tenant_id', 'city_id'],
    current: currentCities,
    wanted: states.flatMap(state =>
      state.cities.map(({ id, name, postal_code = null }) => ({
        tenant_id,
        city_id: id,
        state_id: state.id,
        name,
        postal_code,
        is_active: true,
      })),
    ),
    others: 'deactivated',
  })
  return [...ofStates.changes, ...ofCities.changes]
}
