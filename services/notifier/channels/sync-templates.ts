import type { Actor } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import { findNumber, findNumbers } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { classify, nameScope } from '../messaging-api/classify.ts'
import type { MessagingApi } from '../messaging-api/client.ts'
import { type CataloguePage, type SyncResult, syncTemplates } from '../templates/sync.ts'
import { findChannel } from './queries.ts'
import type { createTokenKeeper } from './secrets.ts'

type Tokens = ReturnType<typeof createTokenKeeper>

/** Syncs the account of a channel of the tenant, without an id of its default one. */
export const createSyncChannel =
  (pool: pg.Pool, tokens: Tokens, api: MessagingApi) =>
  async (tenant: string, wanted: string | undefined, by?: Actor): Promise<SyncResult> => {
    const found = await inTenant(pool, tenant, async (tx: Tx) => {
      const phoneNumberId = await findNumber(tx, tenant, wanted)
      if (phoneNumberId !== undefined) return findChannel(tx, tenant, phoneNumberId)
      if (wanted !== undefined) return 'The selected channel is invalid.'
      return (await findNumbers(tx, tenant, undefined)).length === 0 ? noChannel : noDefault
    })
    if (typeof found !== 'object') return { kind: 'unknown_channel', reason: found ?? noChannel }
    const { phone_number_id: phoneNumberId, waba_id: wabaId } = found
    const { next, current } = await tokens.find(tenant, phoneNumberId)
    const first = next ?? current
    if (!first) return { kind: 'unknown_channel', reason: 'The channel has no access token: store one.' }
    const second = next && current
    return syncTemplates(pool, tenant, { wabaId }, () => readAll(api, wabaId ?? '', first, second), by)
  }

const noChannel = 'There is no channel yet: add one.'
const noDefault = 'No channel is the default: give the phone_number_id of one as channel, or make one the default.'

/** A template as a message names it; without a channel for the default one. */
export interface NamedTemplate {
  readonly channel: string | null
  readonly name: string
  readonly language: string
}

/** Syncs that nobody asked for; one that fails is tried again after an hour. */
export const createCatalogueSyncs = (
  pool: pg.Pool,
  logger: Logger,
  syncChannel: ReturnType<typeof createSyncChannel>,
) => {
  const sync = async (tenant: string, channels: readonly string[]): Promise<void> => {
    for (const phone_number_id of channels) {
      const { kind } = await syncChannel(tenant, phone_number_id)
      if (kind === 'synced') continue
      logger.warn({ tenant, phone_number_id, kind }, 'templates.not_synced')
      await inTenant(pool, tenant, (tx: Tx) => retryInAnHour(tx, tenant, phone_number_id))
    }
  }
  return {
    /** Syncs accounts that are due, a few at a time. */
    syncDue: async (): Promise<void> => {
      const syncs: Promise<void>[] = []
      for (const tenant of await findTenantIds(pool)) {
        if (syncs.length === syncsAtOnce) break
        const due = await inTenant(pool, tenant, (tx: Tx) => claimDue(tx, tenant))
        if (due.length > 0) syncs.push(sync(tenant, due))
      }
      await Promise.all(syncs)
    },
    /** Syncs the accounts that lack one of these, as approved: each once in ten seconds at most. */
    syncLacking: async (tenant: string, named: readonly NamedTemplate[]): Promise<void> =>
      sync(tenant, await inTenant(pool, tenant, (tx: Tx) => claimLacking(tx, tenant, named))),
  }
}

const syncsAtOnce = 8

/** SQL: the account of the channel `c` lacks a template of the relation `named`. */
const lacks = (named: string): string => `exists (
  select from ${named}
  where coalesce(named.channel = c.phone_number_id,
      c.is_default or 1 = (select count(*) from channels o where o.tenant_id = c.tenant_id))
    and not exists (select from templates t where t.tenant_id = c.tenant_id and t.waba_id = c.waba_id
      and t.name = named.name and t.language = named.language and t.status = 'APPROVED'))`

const claiming = (isDue: string): string => `
  update channels c set catalogue_tried_at = now(), catalogue_due_at = now() + interval '1 day'
  where tenant_id = $1 and waba_id is not null and state = 'active' and (${isDue})
  returning phone_number_id, waba_id`

const retryInAnHour = (tx: Tx, tenant: string, phoneNumberId: string) =>
  tx
    .updateTable('channels')
    .set({ catalogue_due_at: sql<Date>`now() + interval '1 hour'` })
    .where('tenant_id', '=', tenant)
    .where('phone_number_id', '=', phoneNumberId)
    .execute()

/** Applies too while rules name templates that the catalogue lacks or does not call approved. */
const dueSql = claiming(
  `catalogue_due_at <= now() or catalogue_tried_at < now() - interval '15 minutes' and ${lacks(
    '(select phone_number_id as channel, template as name, language from rules where tenant_id = $1 and text is null) named',
  )}`,
)

const claimDue = (tx: Tx, tenant: string) => claim(tx, dueSql, [tenant])

/** An account that was never synced lacks nothing: its messages are not checked. */
const lackingSql = claiming(`coalesce(catalogue_tried_at < now() - interval '10 seconds', true)
  and exists (select from templates t where t.tenant_id = c.tenant_id and t.waba_id = c.waba_id)
  and ${lacks('jsonb_to_recordset($2::jsonb) as named (channel text, name text, language text)')}`)

const claimLacking = (tx: Tx, tenant: string, named: readonly NamedTemplate[]) =>
  claim(tx, lackingSql, [tenant, JSON.stringify(named)])

/** One channel of each account that is to be synced. */
const claim = async (tx: Tx, text: string, values: unknown[]): Promise<string[]> => {
  const { rows } = await tx.client.query(text, values)
  return [...new Map(rows.map(row => [row.waba_id, row.phone_number_id])).values()]
}

/** The whole catalogue as one page. When the new token is refused, the old one is used. */
const readAll = async (
  api: MessagingApi,
  wabaId: string,
  first: string,
  second: string | undefined,
): Promise<CataloguePage> => {
  let response = await api.templates({ accessToken: first }, wabaId)
  if (second && response.kind === 'refused' && classify(response).class === 'pause_channel')
    response = await api.templates({ accessToken: second }, wabaId)
  switch (response.kind) {
    case 'received':
      return {
        kind: 'page',
        templates: response.value.map(({ parameterFormat, ...template }) => ({
          ...template,
          parameter_format: parameterFormat,
        })),
      }
    case 'refused':
      return response.code === null
        ? { kind: 'failed', reason: `HTTP ${response.status}` }
        : { kind: 'refused', code: response.code, details: nameScope(classify(response), 'management') }
    default:
      return { kind: 'failed', reason: response.reason }
  }
}
