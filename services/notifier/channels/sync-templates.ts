import type { Actor } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import type pg from 'pg'
import { findNumber } from '../conversations/queries.ts'
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
  async (tenant: string, wanted: string | undefined, by: Actor): Promise<SyncResult> => {
    const channel = await inTenant(pool, tenant, async (tx: Tx) => {
      const phoneNumberId = await findNumber(tx, tenant, wanted)
      return phoneNumberId === undefined ? undefined : findChannel(tx, tenant, phoneNumberId)
    })
    if (!channel) return { kind: 'unknown_channel' }
    const { phone_number_id: phoneNumberId, waba_id: wabaId } = channel
    return syncTemplates(pool, tenant, { wabaId }, () => readAll(api, tokens, tenant, phoneNumberId, wabaId ?? ''), by)
  }

/** The whole catalogue as one page. When the new token is refused, the old one is used. */
const readAll = async (
  api: MessagingApi,
  tokens: Tokens,
  tenant: string,
  phoneNumberId: string,
  wabaId: string,
): Promise<CataloguePage> => {
  const { next, current } = await tokens.find(tenant, phoneNumberId)
  const [first, second] = next ? [next, current] : [current, undefined]
  if (!first) return { kind: 'failed', reason: 'the channel has no access token' }
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
