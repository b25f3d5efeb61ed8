import { setTimeout as delay } from 'node:timers/promises'
import type { Applied, Change } from '@courier/shared/cli/changes.ts'
import type { FieldErrors } from '@courier/shared/errors/errors.ts'
import { type Actor, audit, operator } from '@courier/shared/postgres/audit.ts'
import { inTenant, lockTenant, query } from '@courier/shared/postgres/database.ts'
import { forgottenMilliseconds } from '@courier/shared/postgres/token-holders.ts'
import { warnUnprintable } from '@courier/shared/printable.ts'
import type pg from 'pg'
import type { Passwords } from '../access/passwords.ts'
import { WaybillFormat } from '../catalogue/waybill-format.ts'
import type { Tables, Tx } from '../database/tables.ts'
import { keepFirstKey } from '../tracking/tracking-keys.ts'
import { applyMerchants, findMerchantErrors, hashPasswords } from './apply-merchants.ts'
import { findStatusErrors, findStatusRows, warnOfStatuses } from './apply-statuses.ts'
import { isWhole } from './check-file.ts'
import { type CompanyParts, coreFile, mergeErrors } from './company-part.ts'
import { toCities, toRateCards, toSettings } from './file-rows.ts'
import { sync } from './sync.ts'
import type { MerchantsFile, TenantFile } from './tenant-file.ts'

interface ApplyOptions {
  readonly companyFile?: CompanyParts
  readonly by?: Actor
  readonly reread?: (tx: Tx) => Promise<TenantFile | MerchantsFile>
  readonly passwords?: Passwords
}

/**
 * Brings a tenant to the state of a checked file, in one transaction. Deactivates states, cities and businesses that
 * the file no longer names, and deletes aliases, zones, rates, statuses and moves that it no longer has; merchants and
 * cards that it does not name stay. `dryRun` rolls the same transaction back. `reread` makes the file again once no
 * other operator can change the tenant. Resolves once no process admits a token that the changes ended.
 */
export const applyTenant = async (
  pool: pg.Pool,
  given: TenantFile | MerchantsFile,
  dryRun: boolean,
  { companyFile: parts = coreFile, by = operator(), reread = async () => given, passwords }: ApplyOptions = {},
): Promise<Applied> => {
  const hashes = await hashPasswords(pool, given, passwords)
  const result = await inTenant<Tables, Applied>(
    pool,
    given.tenant.id,
    async tx => {
      await lockTenant(tx, given.tenant.id)
      const file = await reread(tx)
      const errors = await mergeErrors([
        findMerchantErrors(tx, file),
        findOtherErrors(tx, file),
        ...parts.map(part => part.checkStored?.(tx, file)),
      ])
      if (Object.keys(errors).length > 0) return { kind: 'refused', errors }
      const afterChange = await Promise.all(parts.map(part => part.beforeChange?.(tx, file.tenant.id)))
      const changes = [
        ...(isWhole(file) ? await applyTenantItself(tx, file, parts) : []),
        ...(await applyMerchants(tx, file, parts, hashes, by)),
      ]
      if (changes.length > 0) {
        const details: string[] = []
        for (const record of afterChange) details.push(...((await record?.()) ?? []))
        await query(tx)`update tenants set version = version + 1 where tenant_id = ${file.tenant.id}`
        await audit(tx, file.tenant.id, by, 'tenant.applied', file.tenant.id, details)
      }
      return { kind: 'applied', changes, warnings: isWhole(file) ? await findWarnings(tx, file, parts) : [] }
    },
    { keeps: ({ kind }) => kind === 'applied' && !dryRun },
  )
  if (!dryRun && endsTokens(result)) await delay(forgottenMilliseconds)
  return result
}

const applyTenantItself = async (tx: Tx, file: TenantFile, parts: CompanyParts): Promise<Change[]> => {
  const { id } = file.tenant
  const zones = await tx.selectFrom('zones').selectAll().where('tenant_id', '=', id).execute()
  const statuses = await findStatusRows(tx, file)
  const changes = await sync(tx, id, [
    toSettings(file, parts),
    ...statuses,
    ...toCities(file),
    ...toRateCards(file, parts, zones),
  ])
  const isNew = changes.some(({ kind, change }) => kind === 'tenant' && change === 'added')
  await keepFirstKey(tx, id, isNew)
  return changes
}

/**
 * Lists errors of statuses or, if the file has only merchants, of a tenant and rate cards that the database lacks.
 */
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

/** Finds what is valid in a file but will block booking or print badly. */
const findWarnings = async (tx: Tx, file: TenantFile, parts: CompanyParts): Promise<string[]> => [
  ...parts.flatMap(part => part.warn?.(file) ?? []),
  ...(await warnOfMask(tx, file)),
  ...file.rate_cards.flatMap(card => warnOfCard(card, file)),
  ...warnOfLetters(file),
  ...(await warnOfStatuses(tx, file)),
]

/** Lists the names of the file that labels cannot print whole. */
const warnOfLetters = ({ tenant, states, merchants }: TenantFile): string[] =>
  [tenant, ...states, ...states.flatMap(({ cities }) => cities), ...merchants.flatMap(({ businesses }) => businesses)]
    .flatMap(({ name }) => {
      const warning = warnUnprintable(name)
      return warning ? [`${name}: ${warning}`] : []
    })
    .slice(0, maxNamed)

const fewNumbers = 10_000

const warnOfMask = async (tx: Tx, { tenant: { id, waybills } }: TenantFile): Promise<string[]> => {
  if (waybills.mode === 'manual') return []
  const [counter] = await query<{ next_number: string }>(tx)`
    select next_number from waybill_counters where tenant_id = ${id}`
  const { mask, capacity } = new WaybillFormat(waybills.format)
  const left = Math.max(0, capacity - Number(counter?.next_number ?? 1))
  return left < fewNumbers
    ? [`the waybill format ${mask} has ${left} numbers left; without numbers no order can be booked`]
    : []
}

const maxNamed = 5

/** Lists the cities of the file to which no zone of the card has a rate. */
const warnOfCard = ({ name, zones, rates }: TenantFile['rate_cards'][number], { states }: TenantFile): string[] => {
  const reached = new Set(rates.map(({ to }) => to))
  const zoneOfCity = new Map(
    Object.entries(zones).flatMap(([zone, members]) => (members === '*' ? [] : members.map(id => [id, zone] as const))),
  )
  const elsewhere = Object.keys(zones).find(zone => zones[zone] === '*')
  const missing = states.flatMap(state =>
    state.cities
      .filter(({ id }) => !reached.has(zoneOfCity.get(id) ?? elsewhere ?? ''))
      .map(city => `${city.name} in ${state.name}`),
  )
  if (missing.length === 0) return []
  const more = missing.length > maxNamed ? ` and ${missing.length - maxNamed} more` : ''
  return [
    `the rate card ${name} has no rate to ${missing.slice(0, maxNamed).join(', ')}${more}: orders there are refused`,
  ]
}
