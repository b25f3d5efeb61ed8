import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { Inbound, InboundView } from '../webhooks/inbox.ts'
import type { Control } from './control.ts'
import { Done, describe, done } from './describe.ts'
import { Answered, RawWebhook, StatusOrder, Verification } from './schema.ts'

/** What is told to callbacks on demand. */
export const webhookRoutes: FastifyPluginAsyncTypebox<{ control: Control }> = async (app, { control }) => {
  app.post(
    '/inbound',
    { schema: { ...describe('A person writes to a number, or taps a button', InboundView), body: Inbound } },
    async ({ body }) => control.inbound(body),
  )
  app.post(
    '/statuses',
    { schema: { ...describe('Tell a status of a message now', Done), body: StatusOrder } },
    async ({ body }) => {
      control.status(body)
      return done
    },
  )
  app.post(
    '/webhooks',
    { schema: { ...describe('Post any body to the callback, rightly signed or not', Answered), body: RawWebhook } },
    async ({ body }) => control.rawWebhook(body),
  )
  app.post(
    '/webhooks/verify',
    {
      schema: {
        ...describe('Ask the callback for the challenge, as when its address is entered', Verification),
        body: Type.Object({ verify_token: Type.String(), phone_number_id: Type.Optional(Type.String()) }),
      },
    },
    async ({ body }) => control.verify(body.verify_token, body.phone_number_id),
  )
  app.get(
    '/idle',
    {
      schema: {
        ...describe('Waits until no status and no webhook is to come', Type.Object({ idle: Type.Boolean() })),
        querystring: Type.Object({ timeout_seconds: Type.Optional(Type.String({ pattern: '^[0-9]{1,3}$' })) }),
      },
    },
    async ({ query }) => ({ idle: await control.idle(Number(query.timeout_seconds ?? 10) * 1000) }),
  )
}
