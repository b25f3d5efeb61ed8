import { readStaffKey, type Staff } from '@courier/shared/access/staff.ts'
import { IdempotentHeaders, refusesKeys } from '@courier/shared/edge/idempotency.ts'
import { errorResponses, invalid } from '@courier/shared/errors/errors.ts'
import { badText, isBadText, selectedInvalid } from '@courier/shared/errors/field-errors.ts'
import { inTenant } from '@courier/shared/postgres/database.ts'
import { fingerprint } from '@courier/shared/postgres/idempotency.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type pg from 'pg'
import type { Person } from '../../core/conversations/conversation.ts'
import { findPhoneCountry } from '../../core/conversations/phone-number.ts'
import { findConversation, findSettings } from '../../core/conversations/queries.ts'
import { findPerson } from '../../core/conversations/routes.ts'
import { Phone } from '../../core/conversations/view.ts'
import type { Tx } from '../../core/database/tables.ts'
import { findTyped } from '../../core/messages/about-waybill.ts'
import { acceptMessages } from '../../core/messages/accept.ts'
import { listMessages } from '../../core/messages/queries.ts'
import { toBatch } from '../../core/messages/schema.ts'
import { OneAccepted, readAccepted } from '../../core/messages/send-routes.ts'
import { isUserId } from '../../core/messaging-api/user-id.ts'
import { type OrdersClient, ordersUnavailable } from '../../core/orders-client/orders-client.ts'
import { renderMessages } from '../../core/templates/queries.ts'
import { priceReply } from '../costs/queries.ts'
import { findInbound, findNames, findWrittenNumber, listConversations, markRead } from './queries.ts'
import * as view from './view.ts'

type InboxOptions = { readonly pool: pg.Pool; readonly orders: OrdersClient; readonly onQueued: () => void }

export const inboxRoutes: FastifyPluginAsyncTypebox<InboxOptions> = async (app, { pool, orders, onQueued }) => {
  const ListConversations = {
    operationId: 'listConversations',
    summary: 'List the conversations in which customers wrote, newest first',
    querystring: view.ConversationsQuery.schema,
    response: { 200: view.ConversationPage },
  }
  app.get('/api/conversations', { schema: ListConversations }, async ({ staff: { tenant }, query }) => {
    const { unread, channel } = view.ConversationsQuery.read(query)
    const { after, limit } = view.conversationCursor.read(query)
    const wanted = { channel, isUnread: unread === 'true' }
    const { data, next_cursor } = await inTenant(pool, tenant, async (tx: Tx) => {
      const rows = await listConversations(tx, tenant, wanted, after[0], limit + 1)
      const page = view.conversationCursor.toPage(rows, limit, row => [row.place])
      const names = await findNames(
        tx,
        tenant,
        page.data.map(({ recipient }) => recipient),
      )
      return { ...page, data: page.data.map(row => view.showConversation(row, names.get(row.recipient))) }
    })
    return { data, next_cursor }
  })

  const ListConversationMessages = {
    operationId: 'listConversationMessages',
    summary: 'List what both sides wrote in a conversation, newest first',
    params: Phone,
    querystring: view.ThreadQuery,
    response: { 200: view.Thread },
  }
  app.get(
    '/api/conversations/:phone/messages',
    { schema: ListConversationMessages },
    async ({ staff, params: { phone }, query }) =>
      inTenant(pool, staff.tenant, async (tx: Tx) =>
        readThread(tx, staff, await findWriter(tx, staff.tenant, phone, query.channel), view.threadCursor.read(query)),
      ),
  )

  const ReadConversation = {
    operationId: 'readConversation',
    summary: 'Mark messages of a conversation as read',
    params: Phone,
    body: view.ReadBody,
    response: { 200: view.ReadDone, ...errorResponses(409) },
  }
  app.post(
    '/api/conversations/:phone/read',
    { ...refusesKeys, schema: ReadConversation },
    async ({ staff: { tenant }, params: { phone }, body: { up_to, channel } }) =>
      inTenant(pool, tenant, async (tx: Tx) => {
        if (isBadText(up_to)) throw invalid({ up_to: [badText('up_to')] })
        const unread = await markRead(tx, await findWriter(tx, tenant, phone, channel), up_to)
        if (unread === undefined) throw invalid({ up_to: [selectedInvalid('up_to')] })
        return { data: { unread } }
      }),
  )

  const ReplyToConversation = {
    operationId: 'replyToConversation',
    summary: 'Send a text while the conversation is open',
    headers: IdempotentHeaders,
    params: Phone,
    body: view.ReplyBody,
    response: { 202: OneAccepted, ...errorResponses(409) },
  }
  // The body limit admits a text whose characters are all escaped.
  app.post(
    '/api/conversations/:phone/reply',
    { bodyLimit: 32_768, schema: ReplyToConversation },
    async (request, reply) => {
      const { tenant, actor } = request.staff
      const { text, channel, waybill_number: typed = '', asks_number: asksNumber, takes_over: takesOver } = request.body
      if (isBadText(text)) throw invalid({ text: [badText('text')] })
      const waybill_number = await findTyped(orders, tenant, typed)
      if (waybill_number === undefined) throw ordersUnavailable()
      const { recipient, phoneNumberId } = await inTenant(pool, tenant, async (tx: Tx) => {
        const person = await findWriter(tx, tenant, request.params.phone, channel)
        if (!takesOver) await checkOwner(tx, person)
        return person
      })
      const about = waybill_number || null
      // Without the plus, digits may be read as a national number.
      const to = isUserId(recipient) ? recipient : `+${recipient}`
      const template = { text, ...(asksNumber && { asksNumber }), ...(takesOver && { takesOver }) }
      const message = { to, channel: phoneNumberId, template, waybill_number: about }
      const given = readStaffKey(request, 'conversations/reply')
      const bytes = given && Buffer.concat([given.fingerprint, Buffer.from(recipient)])
      const key = bytes && { ...given, fingerprint: fingerprint(bytes) }
      const { traceparent } = request
      const accepted = await acceptMessages(pool, tenant, toBatch(message), { key, by: actor, traceparent })
      const { to: errors, ...others } = accepted.kind === 'refused' ? accepted.errors.errors : {}
      if (errors) throw invalid({ ...others, phone: errors })
      const [data] = readAccepted(accepted, reply)
      onQueued()
      request.log.info({ message_id: data?.id }, 'reply.queued')
      reply.code(202)
      return { message: 'The reply is queued.', data: data as Static<typeof OneAccepted>['data'] }
    },
  )
}

/** Finds the person; without a channel, at the number to which the person wrote last. */
const findWriter = (tx: Tx, tenant: string, phone: string, channel: string | undefined): Promise<Person> =>
  findPerson(tx, tenant, phone, channel, findWrittenNumber)

/** Refuses a reply that would take the conversation from another responder unasked. */
const checkOwner = async (tx: Tx, { tenant, phoneNumberId, recipient }: Person): Promise<void> => {
  const conversation = (await findConversation(tx, tenant, phoneNumberId, [recipient])).get(recipient)
  if (conversation?.owner !== 'other') return
  const since = conversation.ownerAt?.toISOString()
  throw invalid({
    takes_over: [
      `Another responder has answered this conversation since ${since}: set takes_over to take it over with the reply.`,
    ],
  })
}

const readThread = async (
  tx: Tx,
  staff: Staff,
  person: Person,
  { after, limit }: ReturnType<typeof view.threadCursor.read>,
) => {
  const { tenant, phoneNumberId, recipient } = person
  let [lastSent, lastWritten] = after.map(part => part || undefined)
  const { now } = await findSettings(tx, tenant)
  const conversation = (await findConversation(tx, tenant, phoneNumberId, [recipient])).get(recipient)
  const name = (await findNames(tx, tenant, [recipient])).get(recipient)
  const page = { after: lastSent, limit: limit + 1 }
  const { rows: sent } = await listMessages(tx, tenant, { to: recipient, channel: phoneNumberId }, page)
  const written = await findInbound(tx, person, lastWritten, limit + 1)
  const rendered = await renderMessages(
    tx,
    tenant,
    sent.map(({ id }) => id),
  )
  const data: Static<typeof view.Thread>['data'] = []
  while (data.length < limit) {
    const [ours, theirs] = [sent[0], written[0]]
    if (ours && (!theirs || ours.created_at >= theirs.at)) {
      data.push(view.showOutbound(ours, rendered.get(ours.id)))
      lastSent = sent.shift()?.id
    } else if (theirs) {
      data.push(view.showInbound(theirs))
      lastWritten = written.shift()?.place
    } else break
  }
  const hasMore = sent.length + written.length > 0
  const reply = await priceReply(tx, staff, { phoneNumberId, country: findPhoneCountry(recipient), now })
  return {
    data,
    conversation: view.showWindow(recipient, name, phoneNumberId, conversation, now),
    ...(reply && { reply }),
    next_cursor: hasMore ? view.threadCursor.write([lastSent ?? '', lastWritten ?? '']) : null,
  }
}
