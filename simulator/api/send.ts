import type { FastifyPluginAsync } from 'fastify'
import type { PhoneNumber } from '../accounts/account.ts'
import { catalogue } from '../accounts/demo-templates.ts'
import { type Template, toKey } from '../accounts/template.ts'
import { GraphError, parameterRequired } from '../graph/errors.ts'
import { askNumber, type MessageBody } from '../messages/bodies.ts'
import { type Message, makeMessageId } from '../messages/message.ts'
import { isUserId } from '../messages/people.ts'
import { isOpen, isUnpaid, planStatuses, reportStatus, writeWindowKey } from '../world/report.ts'
import type { World } from '../world/world.ts'
import { findNumber } from './caller.ts'
import { checkParameters } from './check-parameters.ts'
import { readMessage, readRecipient } from './read-message.ts'
import { respond } from './respond.ts'

/**
 * Serves the sends of messages, and marks received ones as read (docs/merchants/contract.md#send,
 * docs/contributors/messaging-api.md#send).
 */
export const sendRoutes: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.post<{ Params: { id: string } }>('/:id/messages', (request, reply) => {
    const sender = findNumber(world, request, request.params.id, 'whatsapp_business_messaging')
    if (!sender.registered) throw new GraphError(133010)
    const body = readMessage(request.body)
    if ('status' in body) {
      if (!isReceived(world, sender, body.message_id))
        throw new GraphError(131009, { details: 'message_id is no message that this number received' })
      return respond(world, request, reply, () => ({ success: true }))
    }
    const message = makeMessage(sender, body)
    if (message.template) checkParameters(message.template, message.components)
    else if (!isOpen(world, sender.phone_number_id, message.to)) throw new GraphError(131047)
    if (message.to === sender.display_phone_number.replace(/\D/g, '')) throw new GraphError(131021)
    if (message.isToUserId && message.template?.category === 'AUTHENTICATION') throw new GraphError(131062)
    const accept = () => {
      countMessage(world, sender.phone_number_id)
      message.acceptedAt = Date.now()
      // See docs/contributors/messaging-api.md#people: a user id in `to` is accepted and dropped.
      if (!isUserId(body.to ?? '')) {
        world.messages.add(message)
        // See docs/contributors/messaging-api.md#several-responders: a service message takes the conversation over.
        if (!message.template) world.others.delete(writeWindowKey(sender.phone_number_id, message.to))
        if (exceedsPortfolio(world, message)) reportStatus(world, message, 'failed', aboveLimit)
        else if (!isUnpaid(world, message)) planStatuses(world, message)
      }
      const user = { input: body.recipient, user_id: body.recipient }
      // See docs/contributors/messaging-api.md#accepted.
      return {
        messaging_product: 'whatsapp',
        contacts: [message.isToUserId ? user : { input: body.to, wa_id: message.to }],
        messages: [{ id: message.id, ...(message.template && { message_status: 'accepted' }) }],
      }
    }
    return respond(world, request, reply, accept, message.to)
  })
}

const isReceived = ({ inbox }: World, { phone_number_id }: PhoneNumber, id: string): boolean =>
  inbox.newestFirst().some(inbound => inbound.id === id && inbound.phone_number_id === phone_number_id)

const makeMessage = ({ phone_number_id: phoneNumberId }: PhoneNumber, body: MessageBody): Message => {
  if (body.to === undefined && body.recipient === undefined) throw parameterRequired('to')
  const isToUserId = body.to === undefined
  const to = readRecipient(body.to ?? body.recipient ?? '', isToUserId)
  const own = {
    id: makeMessageId(to),
    phoneNumberId,
    to,
    isToUserId,
    callback: body.biz_opaque_callback_data,
    acceptedAt: 0,
  }
  return {
    ...own,
    statuses: [],
    template: undefined,
    components: [],
    replies: [],
    text: undefined,
    ...readContent(body),
  }
}

const readContent = (body: MessageBody): Partial<Message> => {
  if (body.type === 'text') return { text: body.text.body }
  if (body.type === 'interactive') {
    const { action, body: content } = body.interactive
    const replies = 'buttons' in action ? action.buttons.map(({ reply }) => reply) : [askNumber]
    return { text: content.text, replies }
  }
  const { name, language, components = [] } = body.template
  return { template: findSendable(name, language.code), components }
}

const findSendable = (name: string, language: string): Template => {
  const template = catalogue.get(toKey({ name, language }))
  if (template?.status === 'APPROVED') return template
  if (template?.status === 'PAUSED') throw new GraphError(132015)
  const details = `template name (${name.slice(0, 100)}) does not exist in ${language.slice(0, 20)}`
  throw new GraphError(132001, { details })
}

/** The window is a little less than a second, so that jitter refuses no client that sends at exactly the rate. */
const windowMs = 900

/** Counts a message; throws 130429 beyond the number's rate (docs/contributors/messaging-api.md#rate-limits). */
const countMessage = ({ sentAt, behaviour }: World, phoneNumberId: string): void => {
  const perSecond = behaviour.throughput_per_second
  if (perSecond === 0) return
  const known = sentAt.get(phoneNumberId)
  const recent = known?.times.length === perSecond ? known : { times: new Array<number>(perSecond).fill(0), next: 0 }
  sentAt.set(phoneNumberId, recent)
  const now = Date.now()
  if (now - (recent.times[recent.next] ?? 0) < windowMs) throw new GraphError(130429)
  recent.times[recent.next] = now
  recent.next = (recent.next + 1) % perSecond
}

/**
 * Fails a message above the limit of the portfolio after its acceptance: which code the platform uses is not settled
 * (docs/contributors/messaging-api.md#messaging-limit).
 */
const aboveLimit = 131049
const dayMs = 86_400_000

/** Counts the person of a template outside an open window; returns true above the limit of the portfolio. */
const exceedsPortfolio = (world: World, { template, phoneNumberId, to, acceptedAt }: Message): boolean => {
  const { reached, behaviour } = world
  if (behaviour.portfolio_limit === 0 || !template || isOpen(world, phoneNumberId, to)) return false
  for (const [person, at] of reached) if (acceptedAt - at >= dayMs) reached.delete(person)
  if (!reached.has(to) && reached.size >= behaviour.portfolio_limit) return true
  reached.set(to, acceptedAt)
  return false
}
