import type { FastifyPluginAsync } from 'fastify'
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

  server.post<OfAccount>('/:id/subscribed_apps', (request, reply) => {
    checkAccount(world, request, request.params.id)
    return respond(world, request, reply, () => {
      for (const number of listNumbers(request.params.id)) number.subscribed = true
      return { success: true }
    })
  })
}
