import type { Actor } from '@courier/shared/postgres/audit.ts'
import { findTenantIds, inTenant } from '@courier/shared/postgres/database.ts'
import { sql } from 'kysely'
import type pg from 'pg'
import type { Logger } from 'pino'
import { chooseChannel, findChannels } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { classify } from '../messaging-api/classify.ts'
import type { MessagingApi } from '../messaging-api/client.ts'
import { type SyncResult, syncTemplates } from '../templates/sync.ts'
import { updateChannel } from './queries.ts'
import type { TokenKeeper } from './secrets.ts'
import { noToken } from './view.ts'

/** Creates the function that syncs the account of the channel with an id or, without an id, of the default channel. */
export const createSyncChannel =
  (pool: pg.Pool, tokens: TokenKeeper, api: MessagingApi) =>
  async (tenant: string, wanted: string | undefined, by?: Actor): Promise<SyncResult> => {
    const channels = await inTenant(pool, tenant, (tx: Tx) => findChannels(tx, tenant))
    const channel = chooseChannel(wanted, channels)
    const whyNone = wanted ? 'The selected channel is invalid.' : channels.length === 0 ? noChannel : noDefault
    if (!channel) return { kind: 'refused', reason: whyNone }
    const { phone_number_id: phoneNumberId, waba_id: wabaId } = channel
    const { next, current } = await tokens.find(tenant, phoneNumberId)
    const [first, second] = [next ?? current, next && current]
    if (!first) return { kind: 'refused', reason: noToken }
    if (wabaId === null) return { kind: 'refused', reason: noAccount }
    const list = async () => {
      const response = await api.templates({ accessToken: first }, wabaId)
      const isDenied = response.kind === 'refused' && classify(response).class === 'pause_channel'
      return isDenied && second ? api.templates({ accessToken: second }, wabaId) : response
    }
    return syncTemplates(pool, tenant, wabaId, list, by)
  }

const noChannel = 'There is no channel yet: add one.'
const noDefault = 'No channel is the default: give the phone_number_id of one as channel, or make one the default.'
const noAccount = 'The channel has no waba_id: set it to the account that owns the templates.'

/** Names a template as a message does; no channel means the default one. */
export interface NamedTemplate {
  readonly channel: string | null
  readonly name: string
  readonly language: string
}

/** Creates the syncs that staff do not request; a failed sync is due again within an hour. */
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
      const inAnHour = { catalogue_due_at: sql<Date>`now() + interval '1 hour'` }
      await inTenant(pool, tenant, (tx: Tx) => updateChannel(tx, tenant, phone_number_id, inAnHour))
    }
  }
  return {
    syncDue: async (): Promise<void> => {
      const syncs: Promise<void>[] = []
      for (const tenant of await findTenantIds(pool)) {
        if (syncs.length === syncsAtOnce) break
        const due = await inTenant(pool, tenant, (tx: Tx) => claim(tx, dueSql, [tenant]))
        if (due.length > 0) syncs.push(sync(tenant, due))
      }
      await Promise.all(syncs)
    },
    /** Syncs accounts whose catalogue does not show a named template as approved, each at most once in ten seconds. */
    syncLacking: async (tenant: string, named: readonly NamedTemplate[]): Promise<void> => {
      const values = [tenant, JSON.stringify(named)]
      await sync(tenant, await inTenant(pool, tenant, (tx: Tx) => claim(tx, lackingSql, values)))
    },
  }
}

const syncsAtOnce = 8

/** Returns the SQL condition that the account of the channel `c` lacks a template of the relation `named`. */
const lackSql = (named: string): string => `exists (
  select from ${named}
  where coalesce(named.channel = c.phone_number_id,
      c.is_default or 1 = (select count(*) from channels o where o.tenant_id = c.tenant_id))
    and not exists (select from templates t where t.tenant_id = c.tenant_id and t.waba_id = c.waba_id
      and t.name = named.name and t.language = named.language and t.status = 'APPROVED'))`

const claimSql = (condition: string): string => `
  update channels c set catalogue_tried_at = now(), catalogue_due_at = now() + interval '1 day'
  where tenant_id = $1 and waba_id is not null and state = 'active' and (${condition})
  returning phone_number_id, waba_id`

/** While the catalogue lacks an approved template that rules name, its account is due every 15 minutes. */
const dueSql = claimSql(
  `catalogue_due_at <= now() or catalogue_tried_at < now() - interval '15 minutes' and ${lackSql(
    '(select phone_number_id as channel, template as name, language from rules where tenant_id = $1 and text is null) named',
  )}`,
)

/** An account that was never synced lacks nothing: its messages are not checked. */
const lackingSql = claimSql(`coalesce(catalogue_tried_at < now() - interval '10 seconds', true)
  and exists (select from templates t where t.tenant_id = c.tenant_id and t.waba_id = c.waba_id)
  and ${lackSql('jsonb_to_recordset($2::jsonb) as named (channel text, name text, language text)')}`)

const claim = async (tx: Tx, text: string, values: unknown[]): Promise<string[]> => {
  const { rows } = await tx.client.query(text, values)
  return [...new Map(rows.map(row => [row.waba_id, row.phone_number_id])).values()]
}
