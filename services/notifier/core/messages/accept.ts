import type { ErrorList } from '@courier/shared/errors/field-errors.ts'
import { type Actor, audit } from '@courier/shared/postgres/audit.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { claimKey, type IdempotencyKey, insertKey } from '@courier/shared/postgres/idempotency.ts'
import type pg from 'pg'
import type { Conversation } from '../conversations/conversation.ts'
import { identify } from '../conversations/identities.ts'
import { rememberPhones } from '../conversations/phone-number.ts'
import { chooseChannel, findChannels, findSettings, lockConversations } from '../conversations/queries.ts'
import type { ChannelRow, Tables, Tx } from '../database/tables.ts'
import { isPlain } from '../messaging-api/message-template.ts'
import { isUserId } from '../messaging-api/user-id.ts'
import type { CatalogueTemplate } from '../templates/catalogue.ts'
import { checkTemplate } from '../templates/check-parameters.ts'
import { findTemplates } from '../templates/queries.ts'
import { type CheckedMessage, checkMessage, type SendingContext } from './check.ts'
import { wereEdited } from './edits.ts'
import { rememberAllowed } from './hours.ts'
import { findStatuses, firstStatus, insertMessages, newMessageIds } from './insert.ts'
import type { AcceptedMessage, Batch, MessageRequest } from './schema.ts'

export type Acceptance =
  | { kind: 'accepted'; messages: AcceptedMessage[]; replayed: boolean }
  | { kind: 'refused'; errors: ErrorList }
  | { kind: 'running' }
  | { kind: 'other_body' }
  /** An order could not be read, or has been edited since. */
  | { kind: 'orders_away' }

export interface Origin {
  readonly key?: IdempotencyKey | undefined
  readonly by?: Actor | undefined
  readonly traceparent?: string | undefined
  /** Says when the orders of the messages were read, by Postgres' clock. */
  readonly readAt?: Date | undefined
}

/**
 * Queues all messages, or queues none and returns the errors. Commits before it returns. The recipients' conversations
 * stay locked until the commit, so that a held message cannot miss a customer's message that arrives meanwhile.
 */
export const acceptMessages = (
  pool: pg.Pool,
  tenant: string,
  batch: Batch<MessageRequest>,
  { key, by, traceparent, readAt }: Origin = {},
): Promise<Acceptance> =>
  inTenant<Tables, Acceptance>(
    pool,
    tenant,
    async tx => {
      const earlier = key && (await claimAcceptance(tx, tenant, key))
      if (earlier) return earlier
      if (readAt && (await wereEdited(tx, tenant, listSources(batch), readAt))) return { kind: 'orders_away' }
      const { checked, context } = await checkBatch(tx, tenant, batch)
      if (batch.errors.count > 0) return { kind: 'refused', errors: batch.errors }
      const messages = checked.filter(message => message !== undefined)
      const ids = newMessageIds(messages.length, context.now)
      const named = messages.map((message, index) => ({ id: ids[index] as string, message, traceparent }))
      await insertMessages(tx, tenant, named)
      if (by) await audit(tx, tenant, by, 'message.accepted', ids)
      if (key) await insertKey(tx, tenant, key, ids)
      const accepted = named.map(({ id, message }) => ({ id, status: firstStatus(message) }))
      return { kind: 'accepted', messages: accepted, replayed: false }
    },
    { keeps: ({ kind }) => kind === 'accepted' },
  )

/** Lists the orders from which parts of valid messages come. */
const listSources = ({ messages, errors }: Batch<MessageRequest>): string[] =>
  errors.count > 0 ? [] : messages.flatMap(message => (message?.source && message.waybill_number) || [])

export const findAcceptance = (pool: pg.Pool, tenant: string, key: IdempotencyKey): Promise<Acceptance | undefined> =>
  inTenant(pool, tenant, (tx: Tx) => claimAcceptance(tx, tenant, key))

const claimAcceptance = async (tx: Tx, tenant: string, key: IdempotencyKey): Promise<Acceptance | undefined> => {
  const claim = await claimKey(tx, tenant, key)
  if (claim.kind === 'free') return undefined
  if (claim.kind !== 'finished') return claim
  return { kind: 'accepted', messages: await findStatuses(tx, tenant, claim.result), replayed: true }
}

/** Checks messages up to the limit of errors; returns undefined for messages with errors and for unchecked ones. */
export const checkBatch = async (
  tx: Tx,
  tenant: string,
  { messages, errors, toPath }: Batch<MessageRequest>,
  findConversations = lockConversations,
): Promise<{ context: SendingContext; checked: (CheckedMessage | undefined)[] }> => {
  const readable = messages.filter(request => request !== undefined)
  const context = await readContext(tx, tenant, readable, findConversations)
  const checked = messages.map((request, index) => {
    const result = request && !errors.isFull ? checkMessage(request, context) : undefined
    if (result?.kind === 'refused') errors.addAll(result.errors, toPath(index))
    return result?.kind === 'checked' ? result.message : undefined
  })
  return { context, checked }
}

/** Returns a reader of phone numbers and of user ids, which stand for the person's number once that is known. */
const rememberRecipients = async (tx: Tx, tenant: string, country: string, requests: readonly MessageRequest[]) => {
  const userIds = new Set(requests.map(({ to }) => to).filter(isUserId))
  const { find } = await identify(
    tx,
    [...userIds].map(userId => ({ tenant, userId })),
  )
  const readPhone = rememberPhones(country)
  return (to: string) => (userIds.has(to) ? find({ tenant, userId: to }) : readPhone(to))
}

/** Holds what is read of a company once, for all its messages. */
export interface Company {
  readonly settings: Awaited<ReturnType<typeof findSettings>>
  readonly channels: readonly ChannelRow[]
}

const readCompany = async (tx: Tx, tenant: string): Promise<Company> => {
  const [settings, channels] = await Promise.all([findSettings(tx, tenant), findChannels(tx, tenant)])
  return { settings, channels }
}

/**
 * Reads the data that the messages are checked against, with a constant number of queries per sending number, which
 * share a round trip.
 */
export const readContext = async (
  tx: Tx,
  tenant: string,
  requests: readonly MessageRequest[],
  findConversations = lockConversations,
  company?: Company,
): Promise<SendingContext> => {
  const { settings, channels } = company ?? (await readCompany(tx, tenant))
  const { country, opt_out_exempt, send_between, time_zone, now } = settings
  const readRecipient = await rememberRecipients(tx, tenant, country, requests)
  const ofChannel = Map.groupBy(requests, ({ channel }) => chooseChannel(channel, channels))
  const conversations = new Map<string, Map<string, Conversation>>()
  const templates = new Map<string, CatalogueTemplate[] | undefined>()
  // Sorts the numbers, so that two requests that lock the conversations of several numbers cannot deadlock.
  const sorted = [...ofChannel].sort(([a], [b]) => ((a?.phone_number_id ?? '') < (b?.phone_number_id ?? '') ? -1 : 1))
  const reads = sorted.flatMap(([channel, messages]) => {
    if (!channel) return []
    const recipients = new Set(messages.flatMap(({ to }) => readRecipient(to) ?? []))
    const { phone_number_id: number, waba_id } = channel
    const names = new Set(messages.flatMap(({ template }) => (isPlain(template) ? [] : template.name)))
    return [
      findConversations(tx, tenant, number, [...recipients]).then(found => conversations.set(number, found)),
      ...(waba_id ? [findTemplates(tx, tenant, waba_id, [...names]).then(found => templates.set(number, found))] : []),
    ]
  })
  await Promise.all(reads)
  return {
    now,
    hours: send_between ? { between: send_between, timeZone: time_zone ?? 'UTC' } : undefined,
    nextAllowed: rememberAllowed(),
    readRecipient,
    channels,
    conversation: ({ phone_number_id }, recipient) => conversations.get(phone_number_id)?.get(recipient),
    catalogued: ({ phone_number_id }, { name, language }) =>
      templates.get(phone_number_id)?.find(known => known.name === name && known.language === language.code),
    exemptsParcels: opt_out_exempt === 'parcel_under_way',
    // Without a synced catalogue nothing is checked: the API itself refuses wrong templates.
    templateErrors: ({ phone_number_id }, template) => {
      const known = templates.get(phone_number_id)
      return known ? checkTemplate(known, template) : {}
    },
  }
}
