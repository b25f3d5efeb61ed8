import { type Actor, audit, operator } from '@courier/shared/audit.ts'
import type { Change } from '@courier/shared/changes.ts'
import { inTenant, lockTenant } from '@courier/shared/database.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import type pg from 'pg'
import { findForeignNumbers, storeChannel } from '../channels/store.ts'
import type { Keyring } from '../channels/vault.ts'
import type { Tx } from '../database/tables.ts'
import { applyRules } from './apply-rules.ts'
import type { TenantWish } from './check-file.ts'

export type Applied = { kind: 'applied'; changes: Change[] } | { kind: 'refused'; faults: Faults }

/**
 * Makes a tenant's messaging what a checked file says, in one transaction. Channels that the file does not name stay; its
 * rules become all rules of the tenant.
 * With `dryRun` the same is done and rolled back.
 */
export const applyFile = async (
  pool: pg.Pool,
  keyring: Keyring,
  file: TenantWish,
  dryRun: boolean,
  by: Actor = operator(),
): Promise<Applied> => {
  const { tenant, channels } = file
  const ids = channels.map(channel => channel.phoneNumberId)
  const foreign = await findForeignNumbers(pool, tenant.id, ids)
  if (foreign.length > 0) return { kind: 'refused', faults: foreignFaults(ids, foreign) }
  return inTenant(
    pool,
    tenant.id,
    async (tx: Tx): Promise<Applied> => {
      await lockTenant(tx, tenant.id)
      const found = await applySettings(tx, tenant)
      for (const channel of channels) found.push(...(await storeChannel(tx, keyring, tenant.id, channel)))
      const rules = await applyRules(tx, tenant.id, file.rules)
      if (rules.kind === 'refused') return rules
      const changes = once([...found, ...rules.changes])
      if (changes.length > 0) await audit(tx, tenant.id, by, 'tenant.applied', tenant.id)
      return { kind: 'applied', changes }
    },
    ({ kind }) => kind === 'applied' && !dryRun,
  )
}

const foreignFaults = (ids: readonly string[], foreign: readonly string[]): Faults =>
  Object.fromEntries(
    ids.flatMap((id, index) =>
      foreign.includes(id)
        ? [[`channels.${index}.phone_number_id`, [`The number ${id} is a channel of another tenant.`]]]
        : [],
    ),
  )

/** A channel that ceased to be the default and changed otherwise too is told once. */
const once = (changes: Change[]): Change[] => [
  ...new Map(changes.map(change => [JSON.stringify([change.kind, change.id]), change])).values(),
]

const applySettings = async (tx: Tx, tenant: TenantWish['tenant']): Promise<Change[]> => {
  const wanted = {
    country: tenant.country,
    stop_words: tenant.stop_words ?? ['STOP'],
    start_words: tenant.start_words ?? ['START'],
    resends_unknown: tenant.resend_unknown ?? false,
  }
  const current = await tx.selectFrom('tenants').selectAll().where('tenant_id', '=', tenant.id).executeTakeFirst()
  const isSame = current && JSON.stringify(pick(current)) === JSON.stringify(pick(wanted))
  if (isSame) return []
  await tx
    .insertInto('tenants')
    .values({ tenant_id: tenant.id, ...wanted })
    .onConflict(conflict => conflict.column('tenant_id').doUpdateSet(wanted))
    .execute()
  return [{ kind: 'tenant', id: tenant.id, change: current ? 'changed' : 'added' }]
}

type Settings = { country: string; stop_words: string[]; start_words: string[]; resends_unknown: boolean }

const pick = ({ country, stop_words, start_words, resends_unknown }: Settings) => [
  country,
  stop_words,
  start_words,
  resends_unknown,
]
