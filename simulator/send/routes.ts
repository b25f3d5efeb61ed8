import type { FastifyPluginAsync } from 'fastify'
import type { PhoneNumber } from '../accounts/account.ts'
import { keyOf, type Template } from '../accounts/template.ts'
import { GraphError } from '../graph/errors.ts'
import { type Message, messageId } from '../messages/message.ts'
import type { ButtonsBody, MessageBody, TextBody } from '../messages/schema.ts'
import { numberOf } from '../responses/caller.ts'
import { respond } from '../responses/respond.ts'
import { isOpen, planStatuses } from '../world/report.ts'
import type { World } from '../world/world.ts'
import { checkParameters } from './check-parameters.ts'
import { readMessage, recipientOf } from './read-message.ts'

/** The request that sends a message (docs/merchants/contract.md#send, docs/contributors/messaging-api.md#send). */
export const send: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.post<{ Params: { id: string } }>('/:id/messages', (request, reply) => {
    const sender = numberOf(world, request, request.params.id, 'whatsapp_business_messaging')
    if (!sender.registered) throw new GraphError(133010)
    const body = readMessage(request.body)
    const recipient = recipientOf(body.to)
    const template = body.type === 'template' ? sendableTemplate(world, sender, body.template) : undefined
    if (body.type === 'template' && template) checkParameters(template, body.template.components ?? [])
    if (!template && !isOpen(world, sender.phone_number_id, recipient)) throw new GraphError(131047)
    if (recipient === sender.display_phone_number.replace(/\D/g, '')) throw new GraphError(131021)
    return respond(
      world,
      request,
      reply,
      () => {
        world.limits.takeThroughput(sender.phone_number_id, world.behaviour.throughput_per_second, Date.now())
        return accept(world, { sender, recipient, template, body })
      },
      recipient,
    )
  })
}

const sendableTemplate = (world: World, sender: PhoneNumber, { name, language }: MessageBody['template']): Template => {
  const catalogue = world.accounts.templates.get(sender.waba_id)
  const template = catalogue?.get(keyOf({ name, language: language.code }))
  switch (template?.status) {
    case 'APPROVED':
      return template
    case 'PAUSED':
      throw new GraphError(132015)
    default:
      throw new GraphError(132001, {
        details: `template name (${name.slice(0, 100)}) does not exist in ${language.code.slice(0, 20)}`,
      })
  }
}

interface Sendable {
  sender: PhoneNumber
  recipient: string
  template: Template | undefined
  body: MessageBody | TextBody | ButtonsBody
}

const textOf = (body: Sendable['body']): string | undefined => {
  if (body.type === 'interactive') return body.interactive.body.text
  return body.type === 'text' ? body.text.body : undefined
}

/**
 * Stores the message and plans its statuses. Returns the success body of docs/contributors/messaging-api.md#accepted.
 */
const accept = (world: World, { sender, recipient, template, body }: Sendable) => {
  const message: Message = {
    id: messageId(recipient),
    phoneNumberId: sender.phone_number_id,
    to: recipient,
    template,
    components: body.type === 'template' ? (body.template.components ?? []) : [],
    text: textOf(body),
    replies: body.type === 'interactive' ? body.interactive.action.buttons.map(({ reply }) => reply) : [],
    callback: body.biz_opaque_callback_data,
    acceptedAt: Date.now(),
    statuses: [],
  }
  world.messages.add(message)
  planStatuses(world, message)
  return {
    messaging_product: 'whatsapp',
    contacts: [{ input: body.to, wa_id: recipient }],
    messages: [{ id: message.id, ...(template && { message_status: 'accepted' }) }],
  }
}
