import { validator } from '@courier/shared/http/validator.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import { Behaviour } from '../basics/behaviour.ts'
import { MessageView } from '../messages/message.ts'
import { Outage, Script } from '../trouble/scripts.ts'
import { Inbound, InboundView } from '../webhooks/inbox.ts'
import { CallView } from '../world/calls.ts'
import type { Control } from './control.ts'
import * as schemas from './schema.ts'

const { describe, ListQuery } = schemas
const listOf = <S extends TSchema>(item: S) => Type.Object({ data: Type.Array(item) })
/** The answer of a call that has nothing to tell. */
const Done = Type.Object({ done: Type.Literal(true) })
const done = { done: true as const }

const numberIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

/** Refuses unknown fields, on every level: a misspelt one would do nothing. */
const strict = <S extends TSchema>(schema: S): S => ({
  ...schema,
  ...(schema.properties && {
    additionalProperties: false,
    properties: Object.fromEntries(Object.entries<TSchema>(schema.properties).map(([name, of]) => [name, strict(of)])),
  }),
  ...(schema.items && { items: strict(schema.items) }),
  ...(schema.anyOf && { anyOf: schema.anyOf.map(strict) }),
})

/** The calls of people and tests that look at the simulator and steer it. For loopback: nobody is asked who he is. */
export const controlRoutes: FastifyPluginAsyncTypebox<{ control: Control }> = async (app, { control }) => {
  app.setValidatorCompiler(validator)
  app.setSerializerCompiler(() => JSON.stringify)

  const look = (path: string, summary: string, item: TSchema, list: (limit?: number) => unknown[]) =>
    app.get(path, { schema: { ...describe(summary, listOf(item)), querystring: ListQuery } }, async ({ query }) => ({
      data: list(numberIn(query.limit)),
    }))
  app.get('', { schema: describe('What happened and what is set', schemas.Summary) }, async () => control.summary())
  const messages = describe('Accepted messages, newest first', listOf(MessageView))
  app.get('/messages', { schema: { ...messages, querystring: schemas.MessageQuery } }, async ({ query }) => ({
    data: control.messages({ ...query, limit: numberIn(query.limit) }),
  }))
  look('/calls', 'Calls and their answers, newest first', CallView, control.calls)
  look('/inbound', 'Inbound messages, newest first', InboundView, control.inbox)

  /** A call that changes something, and has nothing to tell unless `Response` says what. */
  const order = <Body extends TSchema>(
    method: 'PUT' | 'POST' | 'DELETE',
    path: string,
    [summary, body, Response = Done]: [summary: string, body?: Body, response?: TSchema],
    // biome-ignore lint/suspicious/noExplicitAny: each handler names the type of its body, which the schema has checked
    act: (body: any, id: string) => unknown,
  ) =>
    app.route({
      method,
      url: path,
      schema: {
        ...describe(summary, Response),
        ...(body && { body: strict(body) }),
        ...(path.includes(':id') && { params: schemas.OfNumber }),
      },
      handler: async request => act(request.body, (request.params as { id: string }).id) ?? done,
    })
  order('PUT', '/numbers/:id', ['Add or change a number', schemas.NumberChange], (body, id) =>
    control.putNumber(id, body),
  )
  order('PUT', '/tokens', ['Add, change, expire or revoke a token', schemas.TokenChange], control.putToken)
  const behave = 'Change rates, delays, the callback'
  order('PUT', '/behaviour', [behave, schemas.BehaviourChange, Behaviour], control.behave)
  order('POST', '/scripts', ['The next calls meet this trouble', Script], control.script)
  order('DELETE', '/scripts', ['Forget the scripts'], control.clearScripts)
  order('PUT', '/outage', ['Start or end an outage', Type.Object({ mode: Outage })], ({ mode }) => control.outage(mode))
  order('POST', '/inbound', ['A person writes to a number, or taps a button', Inbound, InboundView], control.inbound)
  order('POST', '/statuses', ['Tell a status of a message now', schemas.StatusOrder], control.status)
}
