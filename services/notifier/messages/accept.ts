import { type Actor, audit } from '@courier/shared/audit.ts'
import { inTenant } from '@courier/shared/database.ts'
import type { Faults } from '@courier/shared/http/errors.ts'
import { claimKey, type IdempotencyKey, insertKey } from '@courier/shared/idempotency.ts'
import type pg from 'pg'
import { findSendingChannels } from '../channels/queries.ts'
import { type Conversation, findCountry, lockConversations } from '../conversations/queries.ts'
import type { Tables, Tx } from '../database/tables.ts'
import type { CatalogueTemplate } from '../templates/catalogue.ts'
import { checkTemplate } from '../templates/check-parameters.ts'
import { findTemplates } from '../templates/queries.ts'
import { type CheckedMessage, checkMessage, chooseChannel, normalisePhone, type SendingContext } from './check.ts'
import { firstStatus, insertMessages } from './insert.ts'
import { newMessageIds } from './message-id.ts'
import { findStatuses } from './queries.ts'
import type { Accepted, MessageRequest } from './schema.ts'

export type Acceptance =
  | { kind: 'accepted'; messages: Accepted[]; replayed: boolean }
  | { kind: 'refused'; faults: Faults }
  | { kind: 'running' }
  | { kind: 'other_body' }

/** Where the faults of the message at `index` are told: `messages.<index>.` in a bulk call, nowhere else. */
export type PathOf = (index: number) => string

/**
 * Queues all messages, or none and says everything that is wrong; committed when it returns. The conversations of the
 * recipients stay locked until then: a message held for an answer cannot miss the one that comes meanwhile.
 */
export const acceptMessages = (
  pool: pg.Pool,
  tenant: string,
  requests: readonly MessageRequest[],
  pathOf: PathOf,
  key?: IdempotencyKey,
  by?: Actor,
): Promise<Acceptance> =>
  inTenant<Tables, Acceptance>(
    pool,
    tenant,
    async tx => {
      const earlier = key && (await claimAnswer(tx, tenant, key))
      if (earlier) return earlier
      const context = await readContext(tx, tenant, requests)
      const { checked, faults } = checkAll(requests, context, pathOf)
      if (Object.keys(faults).length > 0) return { kind: 'refused', faults }
      const ids = newMessageIds(checked.length, new Date())
      const named = checked.map((message, index) => ({ id: ids[index] as string, message }))
      await insertMessages(tx, tenant, named)
      if (by) await audit(tx, tenant, by, 'message.accepted', ids)
      if (key) await insertKey(tx, tenant, key, ids)
      const messages = named.map(({ id, message }) => ({ id, status: firstStatus(message) }))
      return { kind: 'accepted', messages, replayed: false }
    },
    ({ kind }) => kind === 'accepted',
  )

/** What a call with this key is answered without being done; undefined when it is new. */
export const findAnswer = (pool: pg.Pool, tenant: string, key: IdempotencyKey): Promise<Acceptance | undefined> =>
  inTenant(pool, tenant, (tx: Tx) => claimAnswer(tx, tenant, key))

const claimAnswer = async (tx: Tx, tenant: string, key: IdempotencyKey): Promise<Acceptance | undefined> => {
  const claim = await claimKey(tx, tenant, key)
  if (claim.kind === 'free') return undefined
  if (claim.kind !== 'finished') return claim
  return { kind: 'accepted', messages: await findStatuses(tx, tenant, claim.result), replayed: true }
}

const checkAll = (requests: readonly MessageRequest[], context: SendingContext, pathOf: PathOf) => {
  const faults: Faults = {}
  const checked: CheckedMessage[] = []
  const now = new Date()
  for (const [index, request] of requests.entries()) {
    const result = checkMessage(request, context, now)
    if (result.kind === 'checked') checked.push(result.message)
    else for (const [path, sentences] of Object.entries(result.faults)) faults[pathOf(index) + path] = sentences
  }
  return { checked, faults }
}

/** Reads what the messages are checked against, with one query for each number that they are sent from. */
export const readContext = async (
  tx: Tx,
  tenant: string,
  requests: readonly MessageRequest[],
): Promise<SendingContext> => {
  const country = await findCountry(tx, tenant)
  const channels = await findSendingChannels(tx, tenant)
  const ofChannel = Map.groupBy(requests, ({ channel }) => chooseChannel(channel, channels))
  const conversations = new Map<string, Map<string, Conversation>>()
  const templates = new Map<string, CatalogueTemplate[] | undefined>()
  // In one order: two calls that lock the conversations of several numbers then cannot deadlock.
  const sorted = [...ofChannel].sort(([a], [b]) => ((a?.phoneNumberId ?? '') < (b?.phoneNumberId ?? '') ? -1 : 1))
  for (const [channel, messages] of sorted) {
    if (!channel) continue
    const recipients = messages.flatMap(({ to }) => normalisePhone(to, country) ?? [])
    const { phoneNumberId, wabaId } = channel
    conversations.set(phoneNumberId, await lockConversations(tx, tenant, phoneNumberId, [...new Set(recipients)]))
    const names = [...new Set(messages.map(({ template }) => template.name))]
    if (wabaId) templates.set(phoneNumberId, await findTemplates(tx, tenant, wabaId, names))
  }
  return {
    country,
    channels,
    conversation: ({ phoneNumberId }, recipient) => conversations.get(phoneNumberId)?.get(recipient),
    // An account whose catalogue was never synced cannot be checked against: the API itself then refuses.
    templateFaults: ({ phoneNumberId }, template) => {
      const known = templates.get(phoneNumberId)
      return known ? checkTemplate(known, template) : {}
    },
  }
}
