import { setTimeout as delay } from 'node:timers/promises'
import type { Applied, Change } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import { forgottenMilliseconds } from '@courier/shared/postgres/token-holders.ts'
import type pg from 'pg'
import type { Tables, Tx } from '../database/tables.ts'
import { applyMerchants, findMerchantErrors, hashPasswords } from './apply-merchants.ts'
import { findStatusErrors, findStatusRows } from './apply-statuses.ts'
import { isWhole } from './check-file.ts'
import { toCities, toRateCards, toSettings } from './file-rows.ts'
import { findWarnings } from './find-warnings.ts'
import { sync } from './sync.ts'
import type { MerchantsFile, TenantFile } from './tenant-file.ts'

/**
 * Brings a tenant to the state of a checked file, in one transaction. States, cities and businesses that the file
 * no longer names are deactivated, zones and rates of its cards deleted; merchants and cards that it does not name
 * stay. `dryRun` rolls the same transaction back. Resolves once no process admits a token that this ended.
 */
export const applyTenant = async (
  pool: pg.Pool,
  file: TenantFile | MerchantsFile,
  dryRun: boolean,
  by: Actor = operator(),
): Promise<Applied> => {
  const hashes = await hashPasswords(pool, file)
  const result = await inTenant<Tables, Applied>(
    pool,
    file.tenant.id,
    async tx => {
      await lockTenant(tx, file.tenant.id)
      const errors = { ...(await findMerchantErrors(tx, file)), ...(await findOtherErrors(tx, file)) }
      if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
      const changes = [
        ...(isWhole(file) ? await applyTenantItself(tx, file) : []),
        ...(await applyMerchants(tx, file, hashes, by)),
      ]
      if (changes.length > 0) {
        await query(tx)`update tenants set version = version + 1 where tenant_id = ${file.tenant.id}`
        await audit(tx, file.tenant.id, by, 'tenant.applied', file.tenant.id)
      }
      return { kind: 'applied', changes, warnings: isWhole(file) ? await findWarnings(tx, file) : [] }
    },
    { keeps: ({ kind }) => kind === 'applied' && !dryRun },
  )
  if (!dryRun && endsTokens(result)) await delay(forgottenMilliseconds)
  return result
}

const applyTenantItself = async (tx: Tx, file: TenantFile): Promise<Change[]> => {
  const { id } = file.tenant
  const zones = await tx.selectFrom('zones').selectAll().where('tenant_id', '=', id).execute()
  const statuses = await findStatusRows(tx, file)
  return sync(tx, id, [toSettings(file), ...statuses, ...toCities(file), ...toRateCards(file, zones)])
}

/** Merchants alone rely on the tenant and the rate cards of the database. */
const findOtherErrors = async (tx: Tx, file: TenantFile | MerchantsFile): Promise<FieldErrors> => {
  if (isWhole(file)) return findStatusErrors(tx, file)
  const { id } = file.tenant
  const [tenant] = await query<{ cards: string[] }>(tx)`
    select array(select rate_card from rate_cards where tenant_id = ${id}) as cards
    from tenants where tenant_id = ${id}`
  if (!tenant) return { 'tenant.id': [`There is no tenant ${id}: a new one needs the whole file.`] }
  const { cards } = tenant
  const errors: FieldErrors = {}
  for (const [index, { rate_card }] of file.merchants.entries())
    if (rate_card && !cards.includes(rate_card))
      errors[`merchants.${index}.rate_card`] = [
        `There is no rate card ${rate_card}, only ${cards.join(', ') || 'none'}.`,
      ]
  return errors
}

const endsTokens = (result: Applied): boolean =>
  result.kind === 'applied' &&
  result.changes.some(({ kind, change }) => change === 'revoked' || (kind === 'merchant' && change === 'deactivated'))
