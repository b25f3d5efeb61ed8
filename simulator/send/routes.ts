import type { FastifyPluginAsync } from 'fastify'
import type { PhoneNumber } from '../accounts/account.ts'
import { numberOf } from '../accounts/caller.ts'
import { GraphError } from '../graph/errors.ts'
import { servedVersion } from '../graph/version.ts'
import { keyOf, type Template } from '../templates/template.ts'
import { answer } from '../trouble/meet.ts'
import type { World } from '../world.ts'
import { accept } from './accept.ts'
import { checkParameters } from './check-parameters.ts'
import { readMessage, recipientOf } from './read-message.ts'
import type { MessageBody } from './schema.ts'

/** The call that sends a template message (spec.md 4.3, messaging-api 1). */
export const send: FastifyPluginAsync<{ world: World }> = async (app, { world }) => {
  app.post<{ Params: { version: string; id: string } }>('/:id/messages', (request, reply) => {
    const sender = numberOf(world, request, request.params.id, 'whatsapp_business_messaging')
    if (!sender.registered) throw new GraphError(133010)
    const body = readMessage(request.body)
    const recipient = recipientOf(body.to)
    const template = sendableTemplate(world, sender, body.template)
    const version = servedVersion(request.params.version, world.behaviour.served_version)
    checkParameters(template, body.template.components ?? [], version)
    if (recipient === sender.display_phone_number.replace(/\D/g, '')) throw new GraphError(131021)
    return answer(
      world,
      request,
      reply,
      course => {
        takeRates(world, sender, recipient)
        return accept(world, { sender, recipient, template, body }, course)
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
    case 'DISABLED':
      throw new GraphError(132016)
    default:
      throw new GraphError(132001, {
        details: `template name (${name.slice(0, 100)}) does not exist in ${language.code.slice(0, 20)}`,
      })
  }
}

const takeRates = (world: World, { phone_number_id }: PhoneNumber, recipient: string): void => {
  const { throughput_per_second, pair_rate } = world.behaviour
  const now = world.clock.now()
  if (pair_rate) world.limits.takePair(phone_number_id, recipient, now)
  world.limits.takeThroughput(phone_number_id, throughput_per_second, now)
}
