import { validator } from '@courier/shared/http/validator.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import { CallView } from '../graph/calls.ts'
import { MessageView } from '../send/message.ts'
import { InboundView } from '../webhooks/inbox.ts'
import { WebhookView } from '../webhooks/views.ts'
import { accountRoutes } from './account-routes.ts'
import type { Control } from './control.ts'
import { describe } from './describe.ts'
import { AccountsView, ListQuery, MessageQuery, Summary } from './schema.ts'
import { troubleRoutes } from './trouble-routes.ts'
import { webhookRoutes } from './webhook-routes.ts'

const listOf = <S extends TSchema>(item: S) => Type.Object({ data: Type.Array(item) })

const numberIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

/** The calls of people and tests that look at the simulator and steer it. For loopback: nobody is asked who he is. */
export const controlRoutes: FastifyPluginAsyncTypebox<{ control: Control }> = async (app, { control }) => {
  app.setValidatorCompiler(validator)
  app.setSerializerCompiler(() => JSON.stringify)

  app.get('', { schema: describe('What happened and what is set', Summary) }, async () => control.summary())
  app.get(
    '/messages',
    { schema: { ...describe('Accepted messages, newest first', listOf(MessageView)), querystring: MessageQuery } },
    async ({ query }) => ({ data: control.messages({ ...query, limit: numberIn(query.limit) }) }),
  )
  app.get(
    '/calls',
    { schema: { ...describe('Calls and their answers, newest first', listOf(CallView)), querystring: ListQuery } },
    async ({ query }) => ({ data: control.calls(numberIn(query.limit)) }),
  )
  app.get(
    '/inbound',
    { schema: { ...describe('Inbound messages, newest first', listOf(InboundView)), querystring: ListQuery } },
    async ({ query }) => ({ data: control.inbox(numberIn(query.limit)) }),
  )
  app.get(
    '/webhooks',
    { schema: describe('The last posts to callbacks, newest first', listOf(WebhookView)) },
    async () => ({ data: control.webhooks() }),
  )
  app.get('/accounts', { schema: describe('Numbers, tokens and templates, without secrets', AccountsView) }, async () =>
    control.accounts(),
  )

  await app.register(accountRoutes, { control })
  await app.register(troubleRoutes, { control })
  await app.register(webhookRoutes, { control })
}
