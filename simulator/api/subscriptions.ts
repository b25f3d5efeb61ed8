import { bearerToken } from '@courier/shared/access/authenticate.ts'
import type { FastifyPluginAsync } from 'fastify'
import { GraphError } from '../graph/errors.ts'
import type { World } from '../world/world.ts'
import { checkAccount } from './caller.ts'
import { demoAppId } from './numbers.ts'
import { respond } from './respond.ts'

interface OfAccount {
  Params: { id: string }
}

const app = { id: demoAppId, name: 'Courier', link: 'https://courier.example' }

/** Serves the apps that an account sends webhooks to (docs/contributors/messaging-api.md#webhooks): only the demo's. */
export const subscriptionRoutes: FastifyPluginAsync<{ world: World }> = async (server, { world }) => {
  const listNumbers = (wabaId: string) =>
    [...world.accounts.numbers.values()].filter(({ waba_id }) => waba_id === wabaId)
  server.get<OfAccount>('/:id/subscribed_apps', (request, reply) => {
    checkAccount(world, request, request.params.id)
    const isSubscribed = listNumbers(request.params.id).some(({ subscribed }) => subscribed)
    return respond(world, request, reply, () => ({ data: isSubscribed ? [{ whatsapp_business_api_data: app }] : [] }))
  })

  server.get<OfAccount>('/:id/subscriptions', (request, reply) => {
    const { id } = request.params
    const secrets = [...world.accounts.numbers.values()].map(({ app_secret }) => `${id}|${app_secret}`)
    // Only the app itself may ask, with its id and secret as token.
    if (id !== demoAppId || !secrets.includes(bearerToken(request.headers.authorization) ?? ''))
      throw new GraphError(190)
    const fields = world.behaviour.webhook_fields.map(name => ({ name, version: 'v27.0' }))
    return respond(world, request, reply, () => ({
      data: [{ object: 'whatsapp_business_account', callback_url: world.behaviour.webhook_url, fields, active: true }],
    }))
  })

  server.post<OfAccount>('/:id/subscribed_apps', (request, reply) => {
    checkAccount(world, request, request.params.id)
    return respond(world, request, reply, () => {
      for (const number of listNumbers(request.params.id)) number.subscribed = true
      return { success: true }
    })
  })
}
