import { validator } from '@courier/shared/edge/validator.ts'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type TSchema, Type } from '@sinclair/typebox'
import { Behaviour } from '../basics/behaviour.ts'
import { MessageView } from '../messages/message.ts'
import { Outage, Script } from '../trouble/scripts.ts'
import { Inbound, InboundView, Preference, Press } from '../webhooks/inbox.ts'
import { GivenUp } from '../webhooks/schema.ts'
import { RequestView } from '../world/request-log.ts'
import type { Control } from './control.ts'
import * as schemas from './schema.ts'

const { describe, ListQuery } = schemas
const listOf = <S extends TSchema>(item: S) => Type.Object({ data: Type.Array(item) })
/** The response to a request that returns nothing. */
const Done = Type.Object({ done: Type.Literal(true) })
const done = { done: true as const }

const numberIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

/**
 * Refuses unknown fields on every level, since a misspelt one would have no effect. The title names the schema of the
 * responses.
 */
const strict = <S extends TSchema>({ title: _, ...schema }: S): S => ({
  ...(schema as S),
  ...(schema.properties && {
    additionalProperties: false,
    properties: Object.fromEntries(Object.entries<TSchema>(schema.properties).map(([name, of]) => [name, strict(of)])),
  }),
  ...(schema.items && { items: strict(schema.items) }),
  ...(schema.anyOf && { anyOf: schema.anyOf.map(strict) }),
})

/** Routes by which people and tests inspect and steer the simulator. They have no authentication: for loopback only. */
export const controlRoutes: FastifyPluginAsyncTypebox<{ control: Control }> = async (app, { control }) => {
  app.setValidatorCompiler(validator)
  app.setSerializerCompiler(() => JSON.stringify)

  const show = (path: string, summary: string, item: TSchema, list: (limit?: number) => unknown[]) =>
    app.get(path, { schema: { ...describe(summary, listOf(item)), querystring: ListQuery } }, async ({ query }) => ({
      data: list(numberIn(query.limit)),
    }))
  app.get('', { schema: describe('What happened and what is set', schemas.Summary) }, async () => control.summary())
  const messages = describe('Accepted messages, newest first', listOf(MessageView))
  app.get('/messages', { schema: { ...messages, querystring: schemas.MessageQuery } }, async ({ query }) => ({
    data: control.messages({ ...query, limit: numberIn(query.limit) }),
  }))
  show('/calls', 'Requests and their responses, newest first', RequestView, control.calls)
  show('/inbound', 'Inbound messages, newest first', InboundView, control.inbox)
  show('/given-up', 'Updates of webhooks that were given up, newest first', GivenUp, control.givenUp)

  /** Declares a request that changes something and returns nothing unless `Response` is given. */
  const change = <Body extends TSchema>(
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
  change('PUT', '/numbers/:id', ['Add or change a number', schemas.NumberChange], (body, id) =>
    control.putNumber(id, body),
  )
  change('PUT', '/tokens', ['Add, change, expire or revoke a token', schemas.TokenChange], control.putToken)
  const behave = 'Change rates, delays, the callback'
  change('PUT', '/behaviour', [behave, schemas.BehaviourChange, Behaviour], control.behave)
  change('POST', '/scripts', ['The next requests meet this trouble', Script], control.script)
  change('DELETE', '/scripts', ['Forget the scripts'], control.clearScripts)
  change('PUT', '/outage', ['Start or end an outage', Type.Object({ mode: Outage })], ({ mode }) =>
    control.outage(mode),
  )
  change('POST', '/inbound', ['A person writes, or shares a place', Inbound, InboundView], control.inbound)
  change('POST', '/presses', ['A person presses a button of a message', Press, InboundView], control.press)
  change('POST', '/preferences', ['A person stops or resumes marketing messages', Preference], control.prefer)
  change(
    'POST',
    '/categories',
    ["Change or announce a template's category", schemas.CategoryOrder],
    control.changeCategory,
  )
  change('POST', '/statuses', ['Send a status of a message now', schemas.StatusOrder], control.status)
}
