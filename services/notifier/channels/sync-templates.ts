import type { Actor } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import type pg from 'pg'
import { findNumber } from '../conversations/queries.ts'
import type { Tx } from '../database/tables.ts'
import { classify } from '../messaging-api/classify.ts'
import type { MessagingApi } from '../messaging-api/client.ts'
import { type CataloguePage, type SyncAnswer, syncTemplates } from '../templates/sync.ts'
import { findChannel } from './queries.ts'
import type { createTokenKeeper } from './secrets.ts'

type Tokens = ReturnType<typeof createTokenKeeper>

/** Syncs the account of a channel of the tenant, without an id of its default one. */
export const createSyncChannel =
  (pool: pg.Pool, tokens: Tokens, api: MessagingApi) =>
  async (tenant: string, wanted: string | undefined, by: Actor): Promise<SyncAnswer> => {
    const channel = await inTenant(pool, tenant, async (tx: Tx) => {
      const phoneNumberId = await findNumber(tx, tenant, wanted)
      return phoneNumberId === undefined ? undefined : findChannel(tx, tenant, phoneNumberId)
    })
    if (!channel) return { kind: 'unknown_channel' }
    const { phone_number_id: phoneNumberId, waba_id: wabaId } = channel
    return syncTemplates(pool, tenant, { wabaId }, () => readAll(api, tokens, tenant, phoneNumberId, wabaId ?? ''), by)
  }

/** The whole catalogue as one page. A new token that is refused leaves it to the old one. */
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
  let answer = await api.templates({ accessToken: first }, wabaId)
  if (second && answer.kind === 'refused' && classify(answer).class === 'pause_channel')
    answer = await api.templates({ accessToken: second }, wabaId)
  switch (answer.kind) {
    case 'answered':
      return {
        kind: 'page',
        templates: answer.value.map(({ parameterFormat, ...template }) => ({
          ...template,
          parameter_format: parameterFormat,
        })),
      }
    case 'refused':
      return answer.code === null
        ? { kind: 'failed', reason: `HTTP ${answer.status}` }
        : { kind: 'refused', code: answer.code, details: classify(answer).meaning }
    default:
      return { kind: 'failed', reason: answer.reason }
  }
}
